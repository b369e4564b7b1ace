package org.memferry.examples.gpucheck;

import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateYardsticks;

import java.util.List;

/** Parameters, gradients and Adam's moments of a network in host memory, and a step that moves Adam's bytes. */
final class HostMemory implements AutoCloseable {

    private static final int MOMENTS = 2;

    private final Region parameters;
    private final Region gradients;
    private final Region state;
    private final UpdateEngine engine;

    HostMemory(Device device, NetworkDescription network, UpdateEngine engine) {
        this.engine = engine;
        this.parameters = device.allocateHost(network.parameterBytes(), "parameters");
        this.gradients = device.allocateHost(network.parameterBytes(), "gradients");
        this.state = device.allocateHost(MOMENTS * network.parameterBytes(), "updater state");
    }

    /** Gives the parameters values, as training would. */
    void fill(Runtime runtime) {
        runtime.fill(parameters.address(), parameters.bytes());
    }

    Region parameters() {
        return parameters;
    }

    Region gradients() {
        return gradients;
    }

    /** Moves what a step of Adam moves of a layer: as fast as this machine's memory allows, so no optimizer is faster. */
    void step(LayerDescription layer) {
        long offset = layer.offset() * Float.BYTES;
        UpdateYardsticks.stream(engine, UpdateRule.ADAM, ElementType.FLOAT, layer.parameterCount(), parameters.address() + offset,
                gradients.address() + offset, state.address() + MOMENTS * offset);
    }

    @Override
    public void close() {
        List.of(state, gradients, parameters).forEach(Region::close);
    }
}
