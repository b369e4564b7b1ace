package org.memferry.network;

import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.IndexedTail;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Stands where DL4J's optimizer looks for a gradients accumulator: its first call in an iteration opens it, its last one closes it,
 * after the step. Nothing is accumulated.
 */
final class FerryAccumulator implements GradientsAccumulator {

    private static final long serialVersionUID = 1L;

    private final transient Ferry ferry;

    FerryAccumulator(Ferry ferry) {
        this.ferry = ferry;
    }

    @Override
    public boolean hasAnything() {
        ferry.beginIteration();
        return false;
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, boolean isFinalStep) {
        if (!ferry.stepWasTaken()) {
            function.step(ferry.stepTarget(params), updates);
        }
        ferry.closeIteration();
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, double alpha) {
        if (!ferry.stepWasTaken()) {
            function.step(ferry.stepTarget(params), updates, alpha);
        }
        ferry.closeIteration();
    }

    @Override
    public void storeUpdate(INDArray array, int iterationNumber, int epochNumber) {
        // The step was taken, or its update is in the host gradients, where applyUpdate gets it from.
    }

    @Override
    public void setExternalSource(IndexedTail source) {
        throw new UnsupportedOperationException("an attached network does not share gradients with other workers; "
                + "close the ferry before handing it to a gradient-sharing trainer");
    }

    @Override
    public IndexedTail getExternalSource() {
        return null;
    }

    @Override
    public void receiveUpdate(INDArray array) {
        throw new UnsupportedOperationException("an attached network does not receive gradients of other workers; "
                + "close the ferry before handing it to a gradient-sharing trainer");
    }

    @Override
    public void markExternalUpdates(boolean updatesAvailable) {
        // There are none, and SGD says so before every iteration.
    }

    @Override
    public void reset() {
        // Holds nothing.
    }

    @Override
    public void touch() {
        // Holds nothing per thread.
    }
}
