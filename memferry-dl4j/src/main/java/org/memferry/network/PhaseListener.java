package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.List;
import java.util.Map;

/** Tells the ferry where forward ends and backward ends. A clone of a graph shares its listeners: other models are ignored. */
final class PhaseListener extends BaseTrainingListener {

    private final Ferry ferry;

    PhaseListener(Ferry ferry) {
        this.ferry = ferry;
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        ferry.forwardEnded(model);
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        ferry.forwardEnded(model);
    }

    @Override
    public void onBackwardPass(Model model) {
        ferry.backwardEnded(model);
    }

    /** What the attachment holds where, as DL4J shows its listeners in {@code memoryInfo} and crash dumps. */
    @Override
    public String toString() {
        return "MemFerry" + (ferry.isOpen() ? "\n" + ferry.memoryInfo() : " (closed)");
    }
}
