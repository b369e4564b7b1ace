package org.memferry.update;

import org.memferry.base.RefusedException;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;

/**
 * A rule with the numbers of one iteration: schedules evaluated, powers of the betas taken, everything rounded as ND4J rounds it
 * before its loop begins. Kernels get these numbers as arguments and keep none.
 */
public final class RuleStep {

    /** Most numbers that a rule needs; the native kernel's RULE_SCALARS. */
    static final int SCALARS = 8;

    private final UpdateRule rule;
    private final ElementType type;
    private final double learningRate;
    private final double[] scalars = new double[SCALARS];

    private final int iteration;
    private final int epoch;

    private RuleStep(UpdateRule rule, ElementType type, double learningRate, int iteration, int epoch) {
        this.rule = rule;
        this.type = type;
        this.learningRate = learningRate;
        this.iteration = iteration;
        this.epoch = epoch;
    }

    /**
     * The numbers of one iteration.
     *
     * @param updater   one of DL4J's rules
     * @param type      type of the parameters
     * @param iteration DL4J's iteration counter, from 0
     * @param epoch     DL4J's epoch counter, for schedules
     * @throws RefusedException for an updater that {@link UpdateRule#of} does not know
     */
    public static RuleStep of(IUpdater updater, ElementType type, int iteration, int epoch) {
        UpdateRule rule = UpdateRule.of(updater).orElseThrow(() -> new RefusedException("updater " + updater.getClass().getName()
                + " is not one of DL4J's own rules; use its GradientUpdater"));
        // As DL4J passes it to the weight decay: 1 where the rule has no learning rate.
        double learningRate = updater.hasLearningRate() ? updater.getLearningRate(iteration, epoch) : 1.0;
        RuleStep step = new RuleStep(rule, type, learningRate, iteration, epoch);
        step.fill(updater);
        return step;
    }

    private void fill(IUpdater updater) {
        switch (rule) {
            case ADAM: {
                Adam u = (Adam) updater;
                moments(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                scalars[4] = biasCorrectedRate(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                break;
            }
            case AMSGRAD: {
                AMSGrad u = (AMSGrad) updater;
                moments(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                scalars[4] = biasCorrectedRate(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                break;
            }
            case ADABELIEF: {
                AdaBelief u = (AdaBelief) updater;
                moments(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                scalars[4] = biasCorrectedRate(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                break;
            }
            case ADAMAX: {
                AdaMax u = (AdaMax) updater;
                moments(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                double rate = type.round(type.round(learningRate) / (1.0 - power(u.getBeta1())));
                scalars[4] = usable(rate) ? rate : type.round(u.getEpsilon());
                break;
            }
            case NADAM: {
                Nadam u = (Nadam) updater;
                moments(u.getBeta1(), u.getBeta2(), u.getEpsilon());
                scalars[4] = type.round(learningRate);
                scalars[6] = type.round(1.0 - power(u.getBeta1()));
                break;
            }
            case NESTEROVS: {
                double momentum = type.round(((Nesterovs) updater).currentMomentum(iteration, epoch));
                set(momentum, type.round(-momentum - 1), type.round(learningRate));
                break;
            }
            case RMSPROP: {
                RmsProp u = (RmsProp) updater;
                double decay = type.round(u.getRmsDecay());
                set(type.round(learningRate), decay, type.round(1 - decay), type.round(u.getEpsilon()));
                break;
            }
            case ADAGRAD:
                set(type.round(learningRate), type.round(((AdaGrad) updater).getEpsilon()));
                break;
            case ADADELTA: {
                AdaDelta u = (AdaDelta) updater;
                double rho = type.round(u.getRho());
                set(rho, type.round(1 - rho), type.round(u.getEpsilon()));
                break;
            }
            case SGD:
                set(type.round(learningRate));
                break;
            default:
                break;
        }
    }

    private void set(double... values) {
        System.arraycopy(values, 0, scalars, 0, values.length);
    }

    private void moments(double beta1, double beta2, double epsilon) {
        double b1 = type.round(beta1);
        double b2 = type.round(beta2);
        set(b1, type.round(1 - b1), b2, type.round(1 - b2), 0, type.round(epsilon));
    }

    /** Adam's alpha. ND4J mixes: the square root and its product with the learning rate in the type, the division in double. */
    private double biasCorrectedRate(double beta1, double beta2, double epsilon) {
        double root = type.round(Math.sqrt(type.round(1.0 - power(beta2))));
        double rate = type.round(type.round(type.round(learningRate) * root) / (1.0 - power(beta1)));
        return usable(rate) ? rate : type.round(epsilon);
    }

    private static boolean usable(double rate) {
        return rate != 0 && !Double.isNaN(rate) && !Double.isInfinite(rate);
    }

    private double power(double beta) {
        return type == ElementType.FLOAT
                ? Powers.pow((float) beta, (float) iteration + 1f)
                : Powers.pow(beta, (double) iteration + 1);
    }

    /** The rule. */
    public UpdateRule rule() {
        return rule;
    }

    /** Type that the numbers are rounded to. */
    public ElementType type() {
        return type;
    }

    /** This iteration's learning rate; 1 for rules without one, as DL4J's weight decay sees it. */
    public double learningRate() {
        return learningRate;
    }

    /** DL4J's iteration counter. */
    /** DL4J\'s iteration counter that the step is for. */
    public int iteration() {
        return iteration;
    }

    /** DL4J's epoch counter. */
    int epoch() {
        return epoch;
    }

    /** Copies the rule's numbers, in the order of the native kernel's comments. */
    void copyTo(double[] target) {
        System.arraycopy(scalars, 0, target, 0, SCALARS);
    }
}
