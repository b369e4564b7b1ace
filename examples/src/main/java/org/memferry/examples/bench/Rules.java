package org.memferry.examples.bench;

import org.memferry.update.UpdateRule;
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

/** DL4J's rules with its defaults. */
final class Rules {

    private Rules() {
    }

    static IUpdater defaults(UpdateRule rule) {
        switch (rule) {
            case ADAM:
                return new Adam();
            case AMSGRAD:
                return new AMSGrad();
            case ADAMAX:
                return new AdaMax();
            case NADAM:
                return new Nadam();
            case NESTEROVS:
                return new Nesterovs();
            case RMSPROP:
                return new RmsProp();
            case ADAGRAD:
                return new AdaGrad();
            case ADADELTA:
                return new AdaDelta();
            case ADABELIEF:
                return new AdaBelief();
            case SGD:
                return new Sgd();
            case NOOP:
                return new NoOp();
            default:
                throw new IllegalArgumentException("rule: " + rule + " (expected: one of DL4J's)");
        }
    }
}
