package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.memferry.base.RefusedException;
import org.memferry.network.Ferry;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * Attaches the network it listens to, and says after each epoch where the time went: {@code net.addListeners(new MemFerryListener(config))} is
 * all. With {@code fit(iterator)} the network is attached before its first iteration; with {@code fit(DataSet)} DL4J tells a listener too late
 * for that, so iteration 1 runs plain and the network is attached after it. A network that the program has attached stays as it is. Models
 * that were cloned from the attached one are left alone. The place among other listeners does not matter.
 *
 * <pre>{@code
 * net.setListeners(new ScoreIterationListener(10), MemFerryListener.builder().config(config).iterationFrequency(100).build());
 * }</pre>
 */
public final class MemFerryListener extends BaseTrainingListener implements Serializable {

    private static final long serialVersionUID = 2L;
    private static final Logger LOG = LoggerFactory.getLogger(MemFerryListener.class);

    private final MemFerryConfig config;
    private final int epochFrequency;
    private final int iterationFrequency;
    private transient Ferry ferry;
    private transient EpochLine epochTimes;
    private transient EpochLine iterationTimes;

    /** Attaches with the default configuration. */
    public MemFerryListener() {
        this(MemFerryConfig.defaults());
    }

    /** @param config how to attach */
    public MemFerryListener(MemFerryConfig config) {
        this(builder().config(config));
    }

    private MemFerryListener(Builder b) {
        config = b.config;
        epochFrequency = b.epochFrequency;
        iterationFrequency = b.iterationFrequency;
    }

    /** Starts a listener. */
    public static Builder builder() {
        return new Builder();
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
        } else if (isOf(model) && iterationFrequency > 0 && (iteration + 1) % iterationFrequency == 0) {
            LOG.info("iteration {}: {}", iteration, iterationTimes.next());
        }
    }

    @Override
    public void onEpochEnd(Model model) {
        if (ferry == null || !isOf(model)) {
            return;
        }
        int epoch = model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getEpochCount()
                : ((ComputationGraph) model).getConfiguration().getEpochCount();
        if (epochFrequency > 0 && (epoch + 1) % epochFrequency == 0) {
            LOG.info("epoch {}: {}", epoch, epochTimes.next());
        }
    }

    private boolean isOf(Model model) {
        return ferry.network() == model && ferry.isOpen();
    }

    private void attach(Model model) {
        Ferry existing = Ferry.of(model);
        ferry = existing != null && !existing.isUnattended() ? existing : Ferry.attach(model, config.request(f -> this));
        epochTimes = new EpochLine(ferry);
        iterationTimes = new EpochLine(ferry);
    }

    /** What the attachment holds where, as DL4J shows its listeners in {@code memoryInfo} and crash dumps. */
    @Override
    public String toString() {
        return "MemFerryListener" + (ferry == null || !ferry.isOpen() ? " (not attached)" : "\n" + ferry.memoryInfo());
    }

    /** Collects a listener. */
    public static final class Builder {

        private MemFerryConfig config = MemFerryConfig.defaults();
        private int epochFrequency = 1;
        private int iterationFrequency;

        private Builder() {
        }

        /** How to attach; the default configuration if not set. */
        public Builder config(MemFerryConfig value) {
            if (value == null) {
                throw new RefusedException("config: null (expected: a configuration, such as MemFerryConfig.defaults())");
            }
            config = value;
            return this;
        }

        /**
         * One line after every so many epochs: time computed, waited for copies, spent in optimizer steps and waited for them, bytes and GB/s
         * each way, memory held, deviations from the plan, since the last such line. 1 if not set.
         *
         * @param epochs 0 for no such line
         */
        public Builder epochFrequency(int epochs) {
            epochFrequency = frequency(epochs, "epochFrequency");
            return this;
        }

        /**
         * The same line after every so many iterations, since the last one of these, for loops over {@code fit(DataSet)}, which have no
         * epochs. 0 if not set.
         *
         * @param iterations 0 for no such line
         */
        public Builder iterationFrequency(int iterations) {
            iterationFrequency = frequency(iterations, "iterationFrequency");
            return this;
        }

        private static int frequency(int value, String name) {
            if (value < 0) {
                throw new RefusedException(name + ": " + value + " (expected: at least 1, or 0 for no lines per epoch)");
            }
            return value;
        }

        /** The listener. */
        public MemFerryListener build() {
            return new MemFerryListener(this);
        }
    }
}
