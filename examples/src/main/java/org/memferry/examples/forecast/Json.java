package org.memferry.examples.forecast;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Plan;
import org.memferry.plan.Simulation;
import org.memferry.planner.Estimate;
import org.memferry.planner.Forecast;

/** A forecast or an estimate for a program to read: what the tables show, in bytes and nanoseconds. */
final class Json {

    private Json() {
    }

    /** Strategy, totals, and with layers the plan. */
    static ObjectNode add(ObjectNode node, Forecast forecast, boolean layers) {
        Simulation simulation = forecast.simulation();
        node.put("strategy", forecast.strategy().name()).put("fits", true).put("simulated", true)
                .put("stepNanos", simulation.stepNanos()).put("devicePeakBytes", simulation.devicePeakBytes())
                .put("bytesToDevice", simulation.bytesToDevice()).put("bytesToHost", simulation.bytesToHost())
                .put("directBytes", simulation.directBytes()).put("copyWaitNanos", simulation.copyWaitNanos())
                .put("updateWaitNanos", simulation.updateWaitNanos());
        if (layers) {
            forecast.plan().ifPresent(plan -> addLayers(node.putArray("layers"), plan, forecast));
        }
        return node;
    }

    /** What {@link Estimate#table()} says, in bytes. */
    static void add(ObjectNode node, Estimate estimate) {
        IterationMemory memory = estimate.memory();
        node.put("workload", estimate.key()).put("parameters", estimate.parameterCount()).put("batch", estimate.batch())
                .put("deviceMemoryBytes", estimate.deviceBytes()).put("parameterBytes", estimate.parameterBytes())
                .put("gradientBytes", estimate.gradientBytes()).put("updaterStateBytes", estimate.updaterStateBytes())
                .put("activationBytes", memory.activationBytes()).put("activationGradientBytes", memory.gradientBytes())
                .put("workingBytes", memory.workingBytes()).put("dataBytes", memory.dataBytes())
                .put("activationsDominate", estimate.activationsDominate()).put("verdict", estimate.verdict());
        ArrayNode needs = node.putArray("strategies");
        for (Estimate.Need need : estimate.needs()) {
            needs.addObject().put("strategy", need.strategy().name()).put("parameterBytes", need.parameterBytes())
                    .put("deviceBytes", need.deviceBytes()).put("hostBytes", need.hostBytes()).put("fits", need.fits())
                    .put("largestBatch", need.largestBatch());
        }
    }

    private static void addLayers(ArrayNode array, Plan plan, Forecast forecast) {
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            LayerProfile times = forecast.profile().layers().get(i);
            array.addObject().put("name", layer.name()).put("type", layer.type()).put("parameters", layer.parameterCount())
                    .put("bytes", layer.parameterBytes()).put("forward", decision.forward().name())
                    .put("backward", decision.backward().name()).put("gradient", decision.gradientHome().name())
                    .put("forwardNanos", times.forwardNanos()).put("backwardNanos", times.backwardNanos()).put("why", decision.reason());
        }
    }
}
