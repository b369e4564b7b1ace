package org.memferry.planner;

import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.UpdateTiming;

import java.util.ArrayList;
import java.util.List;

/**
 * Plans that a network is measured on, made of one that it can be trained on: they show what reads and writes in place take, layer by layer.
 * What the user fixed stays as it is, and so does every slot that is still used.
 */
public final class MeasuringPlans {

    private MeasuringPlans() {
    }

    /**
     * All parameters are read in place; gradients are written where they were. Nothing is copied to the device.
     *
     * @param plan  the plan to vary
     * @param rules what the user fixed
     */
    public static Plan parametersInPlace(Plan plan, PlacementRules rules) {
        List<LayerPlan> layers = new ArrayList<>();
        boolean copies = false;
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerPlan layer = plan.layers().get(i);
            if (rules.forward(plan.network().layers().get(i)) == null) {
                layer = new LayerPlan(Placement.DIRECT, Placement.DIRECT, layer.gradientHome(), "measured: read in place");
            }
            copies |= layer.forward() == Placement.PREFETCH || layer.backward() == Placement.PREFETCH;
            layers.add(layer);
        }
        return vary(plan, layers, copies, true);
    }

    /**
     * All gradients are written in place; parameters are read from where they were.
     *
     * @param plan  the plan to vary
     * @param rules what the user fixed
     */
    public static Plan gradientsInPlace(Plan plan, PlacementRules rules) {
        List<LayerPlan> layers = new ArrayList<>();
        boolean slots = false;
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerPlan layer = plan.layers().get(i);
            LayerDescription description = plan.network().layers().get(i);
            if (layer.gradientHome() == GradientHome.SLOT && rules.gradientHome(description) == null) {
                layer = new LayerPlan(layer.forward(), layer.backward(), GradientHome.DIRECT, "measured: gradient written in place");
            }
            slots |= layer.gradientHome() == GradientHome.SLOT;
            layers.add(layer);
        }
        return vary(plan, layers, true, slots);
    }

    private static Plan vary(Plan plan, List<LayerPlan> layers, boolean parameterSlots, boolean gradientSlots) {
        return Plan.builder(plan.network(), layers, plan.budget()).strategy(plan.strategy()).updateTiming(UpdateTiming.IN_CHUNKS)
                .parameterSlots(parameterSlots ? plan.parameterSlots() : new long[0])
                .gradientSlots(gradientSlots ? plan.gradientSlots() : new long[0]).build();
    }
}
