package org.memferry.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.report.PlanTable;

/** Random networks with random plans. Equal seeds give equal plans. */
final class Scenario {

    private static final int ELEMENT_BYTES = 4;
    private static final Budget BUDGET = new Budget(1 << 30, 0, true, 0, true);

    private Scenario() {
    }

    /** A plan of 1 to 12 layers: any placement per pass, any gradient home, frozen layers, any order of execution, 2 to 4 slots. */
    static Plan random(long seed) {
        Random random = new Random(seed);
        int count = 1 + random.nextInt(12);
        List<LayerDescription> layers = new ArrayList<>();
        List<LayerPlan> decisions = new ArrayList<>();
        long offset = 0;
        for (int i = 0; i < count; i++) {
            LayerDescription layer = layer(i, offset, random);
            layers.add(layer);
            decisions.add(decision(layer, random));
            offset += layer.parameterCount();
        }
        List<Integer> forward = order(count, random);
        List<Integer> backward = new ArrayList<>(forward);
        Collections.reverse(backward);
        // The backward pass never reaches frozen layers at the bottom.
        while (!backward.isEmpty() && !layers.get(backward.get(backward.size() - 1)).gradientWritten() && random.nextBoolean()) {
            backward.remove(backward.size() - 1);
        }
        List<Integer> inference = new ArrayList<>(forward);
        if (count > 1 && random.nextInt(3) == 0) {
            inference.remove(random.nextInt(count));
        }
        NetworkDescription network = new NetworkDescription(layers, ints(forward), ints(backward), ints(inference), offset, 2 * offset,
                ELEMENT_BYTES);
        return plan(network, decisions, 2 + random.nextInt(3), 1 + random.nextInt(3));
    }

    private static LayerDescription layer(int index, long offset, Random random) {
        long count = random.nextInt(4) == 0 ? 1 + random.nextInt(8) : 1 + random.nextInt(600);
        boolean frozen = random.nextInt(5) == 0;
        return LayerDescription.builder("layer" + index, "Random").parameters(offset, count).elementBytes(ELEMENT_BYTES)
                .gradientWritten(!frozen)
                .gradientCount(frozen ? 0 : random.nextInt(4) == 0 ? random.nextInt((int) count + 1) : count)
                .fixedSlot(random.nextInt(6) == 0)
                .writtenAfterUpdate(random.nextInt(5) == 0)
                .touches(1, 1 + random.nextInt(3))
                .build();
    }

    private static LayerPlan decision(LayerDescription layer, Random random) {
        Placement forward = Placement.values()[random.nextInt(3)];
        Placement backward = forward;
        if (forward != Placement.RESIDENT && !layer.fixedSlot()) {
            backward = random.nextBoolean() ? Placement.PREFETCH : Placement.DIRECT;
        }
        GradientHome home = !layer.gradientWritten() ? GradientHome.NONE : random.nextInt(3) == 0 ? GradientHome.DIRECT : GradientHome.SLOT;
        return new LayerPlan(forward, backward, home, "random");
    }

    /** A plan with slots just large enough. */
    static Plan plan(NetworkDescription network, List<LayerPlan> decisions, int parameterSlots, int gradientSlots) {
        long parameterSlot = 0;
        long gradientSlot = 0;
        for (int i = 0; i < decisions.size(); i++) {
            long bytes = network.layers().get(i).parameterBytes();
            LayerPlan decision = decisions.get(i);
            if (decision.forward() == Placement.PREFETCH || decision.backward() == Placement.PREFETCH) {
                parameterSlot = Math.max(parameterSlot, bytes);
            }
            if (decision.gradientHome() == GradientHome.SLOT) {
                gradientSlot = Math.max(gradientSlot, bytes);
            }
        }
        return Plan.builder(network, decisions, BUDGET)
                .parameterSlots(slots(parameterSlots, parameterSlot)).gradientSlots(slots(gradientSlots, gradientSlot)).build();
    }

    private static long[] slots(int count, long bytes) {
        long[] slots = new long[bytes > 0 ? count : 0];
        Arrays.fill(slots, bytes);
        return slots;
    }

    /** A chain of equal layers, all placed alike. */
    static Plan chain(int layers, long parameters, Placement placement, GradientHome home, int parameterSlots) {
        List<LayerDescription> descriptions = new ArrayList<>();
        List<LayerPlan> decisions = new ArrayList<>();
        List<Integer> forward = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            descriptions.add(LayerDescription.builder("layer" + i, "Chain").parameters(i * parameters, parameters).build());
            decisions.add(new LayerPlan(placement, placement, home, "chain"));
            forward.add(i);
        }
        List<Integer> backward = new ArrayList<>(forward);
        Collections.reverse(backward);
        NetworkDescription network = new NetworkDescription(descriptions, ints(forward), ints(backward), ints(forward),
                layers * parameters, 0, ELEMENT_BYTES);
        return plan(network, decisions, parameterSlots, 2);
    }

    private static List<Integer> order(int count, Random random) {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            order.add(i);
        }
        if (random.nextInt(3) == 0) {
            Collections.shuffle(order, random);
        }
        return order;
    }

    private static int[] ints(List<Integer> list) {
        return list.stream().mapToInt(Integer::intValue).toArray();
    }

    /** The plan and its passes, for the message of a failed test. */
    static String describe(Program program) {
        StringBuilder text = new StringBuilder(PlanTable.render(program.plan()));
        for (Pass pass : new Pass[] {program.training(), program.inference()}) {
            text.append("pass:");
            for (Visit v : pass.visits) {
                text.append(' ').append(v.layer).append(v.backward ? "b" : "f").append('@').append(v.slot).append(v.lastUse ? "." : "");
            }
            text.append("\ncopies:");
            for (Copy c : pass.copies) {
                text.append(' ').append(c.layer).append("->").append(c.slot).append(" for ").append(c.visit).append(" after ")
                        .append(c.afterVisit).append(';');
            }
            text.append('\n');
        }
        return text.toString();
    }
}
