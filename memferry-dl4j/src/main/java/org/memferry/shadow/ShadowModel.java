package org.memferry.shadow;

import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.engine.GradientListener;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.Program;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.ArrayList;
import java.util.List;

/**
 * All layers of a network as their readers see them, and the engine that serves them. Before a plan is final there is no engine and
 * every read is answered from the host master.
 */
public final class ShadowModel {

    private final Region master;
    private final DataType type;
    private final List<ShadowLayer> layers = new ArrayList<>();
    private IterationEngine engine;

    /**
     * @param master host parameters
     * @param type   FLOAT or DOUBLE
     */
    public ShadowModel(Region master, DataType type) {
        this.master = master;
        this.type = type;
    }

    /**
     * Adds the next layer, in the order of the flat vector.
     *
     * @param name   its name
     * @param offset index of its first element in the flat vector
     * @param slices its parameters
     * @param onUse  told before every use of an array of {@link #forUser}; says {@link #written(int)} itself
     */
    public ShadowLayer add(String name, long offset, List<ParameterSlice> slices, Runnable onUse) {
        ShadowLayer layer = new ShadowLayer(layers.size(), name, offset, type, slices, master, onUse);
        layers.add(layer);
        return layer;
    }

    /** The layers, in the order of the flat vector. */
    public List<ShadowLayer> layers() {
        return layers;
    }

    /** The engine; null before {@link #start}. */
    public IterationEngine engine() {
        return engine;
    }

    /**
     * Makes the plan final: from now on passes are served by the program.
     *
     * @param slab    the device memory of the program's slots; null if it has none
     * @param scratch the host side of arrays there; null if the backend needs none
     * @param steps   told when a layer's gradient is on its way
     */
    public void start(Program program, Device device, Region gradients, Region slab, Region scratch, GradientListener steps) {
        for (ShadowLayer layer : layers) {
            layer.stage(program, slab, scratch);
        }
        engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> layers.get(layer).left(slot), steps);
    }

    /** Every read is answered from the host master again, until the next {@link #start}. */
    public void stop() {
        for (ShadowLayer layer : layers) {
            layer.releaseAll();
        }
        engine = null;
    }

    /**
     * The computation of the present pass reads a layer: it is entered, its parameters are waited for, and leased until it is left.
     *
     * @throws IllegalStateException before {@link #start} or outside a pass
     */
    public Lease read(ShadowLayer layer) {
        return layer.lease(engine);
    }

    /** The iteration is over: the engine closes it and no lease outlives it. */
    public void closeTraining() {
        for (ShadowLayer layer : layers) {
            layer.releaseAll();
        }
        engine.closeTraining();
    }

    /** A parameter whose array no longer shows the memory it was made over, for example {@code parameter W of layer 0}; null if all do. */
    public String movedArray() {
        for (ShadowLayer layer : layers) {
            String moved = layer.movedParameter();
            if (moved != null) {
                return "parameter " + moved + " of layer " + layer.name();
            }
        }
        return null;
    }

    /** The parameter array of a user: the host master, every use of which makes device copies of the layer stale. */
    public INDArray forUser(ShadowLayer layer, int parameter) {
        return layer.tracked(parameter);
    }

    /** A layer's parameters are being written on the host. */
    public void written(int layer) {
        IterationEngine e = engine;
        if (e != null) {
            e.masterWritten(layer);
        }
    }

    /** Any parameter may be being written on the host. */
    public void written() {
        IterationEngine e = engine;
        if (e != null) {
            e.masterWritten();
        }
    }
}
