package org.memferry.update;

import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;

import java.util.Optional;

/**
 * DL4J's update rules, as ND4J computes them. In the formulas {@code g} is the gradient after division and regularisation,
 * {@code u} the update that is subtracted from the parameter, {@code t} the iteration + 1, {@code lr} the learning rate; every
 * operation rounds to the element type unless it says otherwise. Products marked {@code [..]} are the ones that ND4J's avx2 build
 * fuses with the addition that follows.
 *
 * <p>The order of the constants is that of the native kernel.
 */
public enum UpdateRule {

    /**
     * {@code m = [b1*m] + g*(1-b1); v = [b2*v] + (g*g)*(1-b2); u = (m*alpha) / (sqrt(v) + eps)} with
     * {@code alpha = lr * sqrt(1 - b2^t) / (1 - b1^t)}, the last division in double precision; {@code eps} replaces an alpha that is
     * zero, infinite or not a number. State {@code [m | v]}.
     */
    ADAM(Adam.class, 2),

    /** As Adam, then {@code h = h > v ? h : v} and {@code u = (alpha*m) / (sqrt(h) + eps)}. State {@code [m | v | h]}. */
    AMSGRAD(AMSGrad.class, 3),

    /**
     * {@code m = [b1*m] + g*(1-b1); v = max(b2*v, |g|) + 1e-32}, the addition in double precision; {@code u = (m*alpha) / v} with
     * {@code alpha = lr / (1 - b1^t)}, treated as Adam's. State {@code [m | v]}.
     */
    ADAMAX(AdaMax.class, 2),

    /**
     * {@code m = b1*m + [g*(1-b1)]; v = [b2*v] + (g*g)*(1-b2);
     * u = (lr * ((m*b1 + [g*(1-b1)]) / (1 - b1^t))) / (sqrt(v) + eps)}. State {@code [m | v]}.
     */
    NADAM(Nadam.class, 2),

    /** {@code v' = [mu*v] - lr*g; u = [mu*v] + (-mu-1)*v'} with momentum {@code mu}. State {@code [v]}. */
    NESTEROVS(Nesterovs.class, 1),

    /** {@code s = [s*decay] + (g*g)*(1-decay); u = (lr*g) / (sqrt(s) + eps)}. State {@code [s]}, which begins at eps. */
    RMSPROP(RmsProp.class, 1),

    /** {@code h = h + [g*g]; u = (lr*g) / (sqrt(h) + eps)}. State {@code [h]}, which begins at 1e-6. */
    ADAGRAD(AdaGrad.class, 1),

    /**
     * {@code s = [rho*s] + (g*g)*(1-rho); u = g * (sqrt(d + eps) / sqrt(s + eps)); d = [rho*d] + (u*u)*(1-rho)}.
     * State {@code [s | d]}.
     */
    ADADELTA(AdaDelta.class, 2),

    /**
     * {@code m = [b1*m] + g*(1-b1); s = ([b2*s] + ((g-m)*(g-m))*(1-b2)) + eps; u = (m*alpha) / (sqrt(s) + eps)} with Adam's alpha.
     * State {@code [m | s]}.
     */
    ADABELIEF(AdaBelief.class, 2),

    /** {@code u = g*lr}. No state. */
    SGD(Sgd.class, 0),

    /** {@code u = g}. No state. */
    NOOP(NoOp.class, 0);

    private static final UpdateRule[] RULES = values();

    private final Class<? extends IUpdater> configuration;
    private final int stateComponents;

    UpdateRule(Class<? extends IUpdater> configuration, int stateComponents) {
        this.configuration = configuration;
        this.stateComponents = stateComponents;
    }

    /** The rule of a configuration; empty for a user's own class, subclasses of DL4J's included: its code may do anything. */
    public static Optional<UpdateRule> of(IUpdater updater) {
        for (UpdateRule rule : RULES) {
            if (rule.configuration == updater.getClass()) {
                return Optional.of(rule);
            }
        }
        return Optional.empty();
    }

    /** Whether a component of the state, a sum of squares or a maximum of magnitudes, is never negative; momentum may be. */
    public boolean neverNegative(int component) {
        switch (this) {
            case RMSPROP:
            case ADAGRAD:
            case ADADELTA:
                return true;
            default:
                return component > 0;
        }
    }

    /** State elements per parameter. DL4J keeps a block's state component after component, not parameter after parameter. */
    public int stateComponents() {
        return stateComponents;
    }
}
