package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.memferry.network.Ferry;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * Attaches the network it listens to: {@code net.addListeners(new MemFerryListener(config))} is all. With {@code fit(iterator)} the
 * network is attached before its first iteration; with {@code fit(DataSet)} DL4J tells a listener too late for that, so iteration 1 runs
 * plain and the network is attached after it. Models that were cloned from the attached one are left alone.
 */
public final class MemFerryListener extends BaseTrainingListener implements Serializable {

    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(MemFerryListener.class);

    private final MemFerryConfig config;
    private transient Ferry ferry;

    /** Attaches with the default configuration. */
    public MemFerryListener() {
        this(MemFerryConfig.defaults());
    }

    /** @param config how to attach */
    public MemFerryListener(MemFerryConfig config) {
        this.config = config;
    }

    /** The attachment, or null before the network was attached. */
    public MemFerry ferry() {
        return ferry == null ? null : MemFerry.of(ferry.network());
    }

    @Override
    public void onEpochStart(Model model) {
        if (ferry == null) {
            attach(model);
        }
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        forwardEnded(model);
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        forwardEnded(model);
    }

    private void forwardEnded(Model model) {
        if (ferry != null) {
            ferry.forwardEnded(model);
        }
    }

    @Override
    public void onBackwardPass(Model model) {
        if (ferry != null) {
            ferry.backwardEnded(model);
        }
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        if (ferry == null) {
            attach(model);
            LOG.info("iteration {} ran without MemFerry: fit(DataSet) tells a listener too late. From now on it is attached; "
                    + "fit(iterator) or MemFerry.attach avoid this.", iteration + 1);
        }
    }

    private void attach(Model model) {
        Ferry existing = Ferry.of(model);
        ferry = existing != null ? existing : Ferry.attach(model, config.request(f -> this));
    }
}
