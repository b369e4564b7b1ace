package org.memferry.network;

import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.memferry.base.RefusedException;
import org.memferry.update.UpdateRule;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Update rules and updater states that would end in NaN or in the middle of attaching, found before the network is touched: DL4J itself
 * interprets whatever state has the right length.
 */
final class RuleCheck {

    private final List<NetworkUnit> units;

    RuleCheck(List<NetworkUnit> units) {
        this.units = units;
    }

    /**
     * Checks the rule of every parameter.
     *
     * @param type type of the updater state
     * @throws RefusedException for a learning rate that is not a number, and for a rule that this DL4J cannot train with
     */
    void checkRules(DataType type) {
        Set<Class<?>> made = new HashSet<>();
        for (NetworkUnit unit : units) {
            for (String parameter : unit.trainable.paramTable(false).keySet()) {
                IUpdater rule = unit.trainable.getConfig().getUpdaterByParam(parameter);
                if (rule.hasLearningRate() && Double.isNaN(rule.getLearningRate(0, 0))) {
                    throw new RefusedException(name(unit, parameter) + ": the learning rate of " + rule + " is NaN (expected: a number,"
                            + " or a schedule that begins with one). Set it in the configuration.");
                }
                if (UpdateRule.of(rule).isPresent() && made.add(rule.getClass())) {
                    make(rule, type, name(unit, parameter));
                }
            }
        }
    }

    /** Lets DL4J make the rule from a state as it will when the updater is made: AdaBelief of 1.0.0-M2.1 cannot. */
    private static void make(IUpdater rule, DataType type, String where) {
        long length = rule.stateSize(2);
        try {
            rule.instantiate(length == 0 ? null : Nd4j.zeros(type, Support.rank2() ? new long[] {1, length} : new long[] {length}), true);
        } catch (RuntimeException e) {
            throw new RefusedException(where + ": the loaded DL4J cannot make its own rule " + rule.getClass().getSimpleName() + " from an"
                    + " updater state (" + e + "), so that plain DL4J cannot train this network either. Use another rule.");
        }
    }

    /**
     * Whether a network's updater was made for other rules than the configuration has now.
     *
     * @param updater the network's present updater, or null
     * @return what differs, or empty
     */
    Optional<String> otherRules(BaseMultiLayerUpdater<?> updater) {
        if (updater != null) {
            for (UpdaterBlock block : updater.getUpdaterBlocks()) {
                Class<?> was = block.getGradientUpdater().getConfig().getClass();
                for (ParamState p : block.getLayersAndVariablesInBlock()) {
                    Class<?> now = p.getLayer().getConfig().getUpdaterByParam(p.getParamName()).getClass();
                    if (was != now) {
                        return Optional.of(name(p) + ": " + was.getSimpleName() + ", now " + now.getSimpleName());
                    }
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Checks a state before it is used: what sums squares or maxima is not negative.
     *
     * @param blocks the blocks that the state is laid out for
     * @throws RefusedException naming the parameter
     */
    void checkState(List<UpdaterBlock> blocks) {
        for (UpdaterBlock block : blocks) {
            Optional<UpdateRule> rule = UpdateRule.of(block.getGradientUpdater().getConfig());
            if (rule.isEmpty() || block.getUpdaterView() == null) {
                continue;
            }
            INDArray state = block.getUpdaterView();
            long length = state.length() / rule.get().stateComponents();
            for (int c = 0; c < rule.get().stateComponents(); c++) {
                INDArray component = MultiLayerAdapter.view(state, c * length, length);
                if (rule.get().neverNegative(c) && component.minNumber().doubleValue() < 0) {
                    throw negative(block, component, rule.get());
                }
            }
        }
    }

    private RefusedException negative(UpdaterBlock block, INDArray component, UpdateRule rule) {
        long from = 0;
        String where = "";
        for (ParamState p : block.getLayersAndVariablesInBlock()) {
            long length = p.getParamView().length();
            if (where.isEmpty() && MultiLayerAdapter.view(component, from, length).minNumber().doubleValue() < 0) {
                where = name(p);
            }
            from += length;
        }
        return new RefusedException("updater state of " + where + ": " + rule + " has a second moment of " + component.minNumber()
                + " (expected: at least 0). It is the state of another rule, or damaged, and would give NaN. Use the state that belongs"
                + " to this configuration, or none: restore without the updater, or call setUpdater(null) before attaching.");
    }

    private String name(ParamState p) {
        for (NetworkUnit unit : units) {
            if (unit.trainable == p.getLayer()) {
                return name(unit, p.getParamName());
            }
        }
        return "parameter " + p.getParamName();
    }

    private static String name(NetworkUnit unit, String parameter) {
        return "layer " + unit.name + " (" + unit.type() + "), parameter " + parameter;
    }
}
