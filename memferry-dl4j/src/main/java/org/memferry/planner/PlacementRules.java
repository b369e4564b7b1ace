package org.memferry.planner;

import org.memferry.base.RefusedException;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/** Placements that a user fixed by layer name; the last rule that matches a layer wins. Immutable. */
public final class PlacementRules implements Serializable {

    private static final long serialVersionUID = 1L;

    private static final PlacementRules NONE = new PlacementRules(List.of());

    private final List<Rule> rules;

    private PlacementRules(List<Rule> rules) {
        this.rules = rules;
    }

    /** No rules: the planner decides everything. */
    public static PlacementRules none() {
        return NONE;
    }

    /**
     * These rules and one more.
     *
     * @param layers   layer name, {@code *} for any run of characters and {@code ?} for one
     * @param forward  placement in forward and inference
     * @param backward placement in backward
     */
    public PlacementRules place(String layers, Placement forward, Placement backward) {
        Objects.requireNonNull(forward, "forward");
        Objects.requireNonNull(backward, "backward");
        if ((forward == Placement.RESIDENT) != (backward == Placement.RESIDENT)) {
            throw new RefusedException("place('" + layers + "', " + forward + ", " + backward
                    + ") (expected: RESIDENT twice or not at all, since a RESIDENT layer is resident in both passes)");
        }
        return with(new Rule(layers, forward, backward, null));
    }

    /**
     * These rules and one more.
     *
     * @param layers layer name with wildcards, as in {@link #place}
     * @param home   SLOT or DIRECT
     */
    public PlacementRules placeGradient(String layers, GradientHome home) {
        if (home != GradientHome.SLOT && home != GradientHome.DIRECT) {
            throw new RefusedException("placeGradient('" + layers + "', " + home + ") (expected: SLOT or DIRECT; which layers have no "
                    + "gradient follows from the network)");
        }
        return with(new Rule(layers, null, null, home));
    }

    private PlacementRules with(Rule rule) {
        List<Rule> all = new ArrayList<>(rules);
        all.add(rule);
        return new PlacementRules(List.copyOf(all));
    }

    /** The fixed forward placement of a layer, or null. */
    Placement forward(LayerDescription layer) {
        Rule rule = last(layer, false);
        return rule == null ? null : rule.forward;
    }

    /** The fixed backward placement of a layer, or null. */
    Placement backward(LayerDescription layer) {
        Rule rule = last(layer, false);
        return rule == null ? null : rule.backward;
    }

    /** The fixed gradient home of a layer, or null. */
    GradientHome gradientHome(LayerDescription layer) {
        Rule rule = last(layer, true);
        return rule == null ? null : rule.home;
    }

    /** Refuses rules that match no layer: most likely a misspelt name. */
    void checkAgainst(NetworkDescription network) {
        for (Rule rule : rules) {
            if (network.layers().stream().noneMatch(l -> rule.pattern.matcher(l.name()).matches())) {
                StringBuilder names = new StringBuilder();
                network.layers().forEach(l -> names.append(names.length() == 0 ? "" : ", ").append(l.name()));
                throw new RefusedException("placement rule '" + rule.text + "' matches no layer with parameters (expected: one of "
                        + names + ", or a pattern with * and ?)");
            }
        }
    }

    private Rule last(LayerDescription layer, boolean gradient) {
        for (int i = rules.size() - 1; i >= 0; i--) {
            Rule rule = rules.get(i);
            if ((rule.home != null) == gradient && rule.pattern.matcher(layer.name()).matches()) {
                return rule;
            }
        }
        return null;
    }

    private static final class Rule implements Serializable {

        private static final long serialVersionUID = 1L;

        final String text;
        final Pattern pattern;
        final Placement forward;
        final Placement backward;
        final GradientHome home;

        Rule(String text, Placement forward, Placement backward, GradientHome home) {
            this.text = Objects.requireNonNull(text, "layers");
            this.pattern = Pattern.compile("\\Q" + text.replace("*", "\\E.*\\Q").replace("?", "\\E.\\Q") + "\\E", Pattern.DOTALL);
            this.forward = forward;
            this.backward = backward;
            this.home = home;
        }
    }
}
