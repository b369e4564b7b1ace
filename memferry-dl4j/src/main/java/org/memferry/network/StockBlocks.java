package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.deeplearning4j.nn.updater.UpdaterUtils;
import org.memferry.update.ElementType;
import org.memferry.update.FusedUpdate;
import org.memferry.update.UpdateRange;
import org.memferry.update.UpdateRule;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which parameters take their step by DL4J's own code on host views, and why: a user's rule or regularisation may do anything, and a
 * rule whose rounding on the loaded ND4J build is not known would not give stock's bits. One such parameter takes its whole updater
 * block along, since the block has one rule object and one state.
 */
final class StockBlocks {

    private StockBlocks() {
    }

    /** A parameter's regularisation, never null. */
    static List<Regularization> regularisation(ParamState p) {
        return regularisation(p.getLayer(), p.getParamName());
    }

    private static List<Regularization> regularisation(Trainable layer, String parameter) {
        List<Regularization> terms = layer.getConfig().getRegularizationByParam(parameter);
        return terms == null ? List.of() : terms;
    }

    /** Why a block goes DL4J's way, in a phrase; null if it is fused. */
    static String reason(List<ParamState> block, ElementType type) {
        for (ParamState p : block) {
            String reason = reason(p.getLayer(), p.getParamName(), type);
            if (reason != null) {
                return reason;
            }
        }
        return null;
    }

    private static String reason(Trainable layer, String parameter, ElementType type) {
        IUpdater updater = layer.getConfig().getUpdaterByParam(parameter);
        Optional<UpdateRule> rule = UpdateRule.of(updater);
        if (rule.isEmpty()) {
            return "your rule " + updater.getClass().getName();
        }
        if (!FusedUpdate.isExact(rule.get(), type)) {
            return "the unknown rounding of " + rule.get() + " in this ND4J build";
        }
        List<Regularization> terms = regularisation(layer, parameter);
        for (Regularization term : terms) {
            if (!UpdateRange.knows(List.of(term))) {
                return "your regularisation " + term.getClass().getName();
            }
        }
        return UpdateRange.knows(terms) ? null : "its " + terms.size() + " regularisation terms";
    }

    /**
     * What the reader of a plan is told of each unit: an empty text where the whole step is fused.
     *
     * @param units in the order of the flat vector
     */
    static List<String> notes(List<NetworkUnit> units, ElementType type) {
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < units.size(); i++) {
            for (String parameter : units.get(i).trainable.paramTable(false).keySet()) {
                members.add(new Member(i, units.get(i).trainable, parameter));
            }
        }
        List<Map<String, String>> notes = new ArrayList<>();
        units.forEach(u -> notes.add(new LinkedHashMap<>()));
        int from = 0;
        for (int to = 1; to <= members.size(); to++) {
            if (to == members.size() || !members.get(to).sameBlock(members.get(to - 1))) {
                note(members.subList(from, to), type, notes);
                from = to;
            }
        }
        List<String> texts = new ArrayList<>();
        notes.forEach(n -> texts.add(text(n)));
        return texts;
    }

    private static void note(List<Member> block, ElementType type, List<Map<String, String>> notes) {
        String reason = null;
        for (int i = 0; i < block.size() && reason == null; i++) {
            reason = reason(block.get(i).layer, block.get(i).parameter, type);
        }
        if (reason != null) {
            for (Member member : block) {
                notes.get(member.unit).merge(reason, member.parameter, (a, b) -> a + ", " + b);
            }
        }
    }

    private static String text(Map<String, String> parametersByReason) {
        List<String> parts = new ArrayList<>();
        parametersByReason.forEach((reason, parameters) -> parts.add("update of " + parameters + " by DL4J's own code for " + reason));
        return String.join("; ", parts);
    }

    /** One parameter of one unit. */
    private static final class Member {

        private final int unit;
        private final Trainable layer;
        private final String parameter;

        Member(int unit, Trainable layer, String parameter) {
            this.unit = unit;
            this.layer = layer;
            this.parameter = parameter;
        }

        boolean sameBlock(Member other) {
            return UpdaterUtils.updaterConfigurationsEquals(other.layer, other.parameter, layer, parameter);
        }
    }
}
