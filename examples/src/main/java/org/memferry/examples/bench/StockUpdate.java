package org.memferry.examples.bench;

import org.memferry.update.UpdateRule;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Environment;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * The update as plain DL4J does it, three operations of ND4J: divide the gradients by the minibatch, turn them into the update by the
 * rule, subtract that from the parameters.
 */
final class StockUpdate {

    private final INDArray parameters;
    private final INDArray gradients;
    private final GradientUpdater<?> updater;

    /**
     * Brings the state to what training begins with.
     *
     * @param rule one that {@link #runs}
     */
    StockUpdate(IUpdater rule, INDArray parameters, INDArray gradients, INDArray state) {
        this.parameters = parameters;
        this.gradients = gradients;
        this.updater = rule.instantiate(state, true);
    }

    /** Whether plain DL4J trains with a rule: M2.1's AdaBelief fails as soon as it gets its state. */
    static boolean runs(UpdateRule rule) {
        return rule != UpdateRule.ADABELIEF;
    }

    /** One step; the gradients are the update afterwards. */
    void step(int minibatch, int iteration) {
        gradients.divi(minibatch);
        updater.applyUpdater(gradients, iteration, 0);
        parameters.subi(gradients);
    }

    /**
     * Sets how many threads ND4J's own operations use.
     *
     * @return gives them back as they were
     */
    static Runnable useThreads(int threads) {
        Environment environment = Nd4j.getEnvironment();
        int all = environment.maxThreads();
        int perOperation = environment.maxMasterThreads();
        set(environment, threads, threads);
        return () -> set(environment, all, perOperation);
    }

    /** The threads of an operation are at most all threads, before and after. */
    private static void set(Environment environment, int all, int perOperation) {
        environment.setMaxMasterThreads(1);
        environment.setMaxThreads(all);
        environment.setMaxMasterThreads(perOperation);
    }
}
