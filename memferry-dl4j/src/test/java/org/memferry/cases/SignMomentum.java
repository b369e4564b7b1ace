package org.memferry.cases;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.ops.transforms.Transforms;
import org.nd4j.linalg.schedule.ISchedule;

import java.util.Map;

/** A rule that DL4J does not have, as a user writes one: the sign of a mix of gradient and momentum, times the learning rate. */
public final class SignMomentum implements IUpdater {

    private static final long serialVersionUID = 1L;
    private static final String STATE = "M";

    private double learningRate;
    private double mix;

    /** For JSON. */
    private SignMomentum() {
    }

    /** @param mix how much of the momentum is kept */
    public SignMomentum(double learningRate, double mix) {
        this.learningRate = learningRate;
        this.mix = mix;
    }

    @Override
    public long stateSize(long numParams) {
        return numParams;
    }

    @Override
    public GradientUpdater<?> instantiate(INDArray viewArray, boolean initializeViewArray) {
        Rule rule = new Rule(this);
        rule.setStateViewArray(viewArray, null, 'c', initializeViewArray);
        return rule;
    }

    @Override
    public GradientUpdater<?> instantiate(Map<String, INDArray> updaterState, boolean initializeStateArrays) {
        Rule rule = new Rule(this);
        rule.setState(updaterState, initializeStateArrays);
        return rule;
    }

    @Override
    public SignMomentum clone() {
        return new SignMomentum(learningRate, mix);
    }

    @Override
    public double getLearningRate(int iteration, int epoch) {
        return learningRate;
    }

    @Override
    public boolean hasLearningRate() {
        return true;
    }

    @Override
    public void setLrAndSchedule(double lr, ISchedule lrSchedule) {
        learningRate = lr;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SignMomentum && ((SignMomentum) other).learningRate == learningRate && ((SignMomentum) other).mix == mix;
    }

    @Override
    public int hashCode() {
        return Double.hashCode(learningRate) + Double.hashCode(mix);
    }

    private static final class Rule implements GradientUpdater<SignMomentum> {

        private final SignMomentum config;
        private INDArray momentum;

        Rule(SignMomentum config) {
            this.config = config;
        }

        @Override
        public SignMomentum getConfig() {
            return config;
        }

        @Override
        public void setState(Map<String, INDArray> stateMap, boolean initialize) {
            momentum = stateMap.get(STATE);
            if (initialize) {
                momentum.assign(0);
            }
        }

        @Override
        public Map<String, INDArray> getState() {
            return Map.of(STATE, momentum);
        }

        @Override
        public void setStateViewArray(INDArray viewArray, long[] gradientShape, char gradientOrder, boolean initialize) {
            setState(Map.of(STATE, viewArray), initialize);
        }

        @Override
        public void applyUpdater(INDArray gradient, int iteration, int epoch) {
            INDArray m = momentum.reshape(gradient.shape());
            INDArray mixed = m.mul(config.mix).addi(gradient.mul(1 - config.mix));
            m.assign(mixed);
            gradient.assign(Transforms.sign(mixed).muli(config.learningRate));
        }
    }
}
