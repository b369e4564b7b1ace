package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.memferry.nd4j.RegionArrays;
import org.memferry.shadow.ShadowLayer;
import org.memferry.shadow.ShadowModel;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/** Exchanges the arrays that a network's layers hold: its own for views of host memory, and, when it is given back, the other way round. */
final class Handover {

    private final NetworkAdapter adapter;
    private final FerryMemory memory;
    private final ShadowModel shadow;
    private final List<NetworkUnit> units;
    private final List<UnitBinding> bindings;
    private final GradientHomes homes;
    private final ParameterReads reads;
    private final Map<Trainable, Trainable> onHost = new IdentityHashMap<>();

    /**
     * @param adapter  the network
     * @param memory   what it is given
     * @param shadow   its layers, in the order of the units
     * @param units    the same as DL4J has them
     * @param bindings their layer objects
     * @param homes    where gradients go
     * @param reads    answers reads of parameters
     */
    Handover(NetworkAdapter adapter, FerryMemory memory, ShadowModel shadow, List<NetworkUnit> units, List<UnitBinding> bindings,
            GradientHomes homes, ParameterReads reads) {
        this.adapter = adapter;
        this.memory = memory;
        this.shadow = shadow;
        this.units = units;
        this.bindings = bindings;
        this.homes = homes;
        this.reads = reads;
    }

    /**
     * Lets the layers read the host master, through tables that ask us.
     *
     * @param onUse told of a unit whose parameters a user may write
     */
    void parameters(IntConsumer onUse) {
        for (int i = 0; i < units.size(); i++) {
            NetworkUnit unit = units.get(i);
            ShadowLayer layer = shadow.layers().get(i);
            bindings.get(i).bind(
                    (offset, length) -> RegionArrays.trackedVector(memory.parameters(), unit.offset + offset, memory.type(), length, memory.rank2(),
                            () -> onUse.accept(layer.index())),
                    table -> new ParameterMap(reads, layer, table.index(), !Layers.sameDiff(unit)));
            if (Layers.sameDiff(unit)) {
                for (UnitBinding.Table table : bindings.get(i).tables()) {
                    reads.addGraph(new SameDiffBinding(table, layer, reads), layer);
                }
            }
        }
        adapter.setFlattenedParams(memory.trackedParameters());
    }

    /**
     * Lets the layers write to the host gradients.
     *
     * @param old the network's own gradients; null if there are none
     */
    void gradients(INDArray old) {
        INDArray flat = memory.gradientArray();
        if (old != null) {
            // Below a frozen layer DL4J's backward pass writes no gradient, and its updater goes on with what stands there.
            flat.assign(old.reshape(flat.shape()));
        }
        homes.bind();
        for (int i = 0; i < units.size(); i++) {
            Trainable view = UpdaterState.withGradients(units.get(i).trainable, homes.host(i));
            onHost.put(units.get(i).trainable, view);
            if (units.get(i).layer != null) {
                onHost.put(units.get(i).layer, view);
            }
        }
        adapter.setFlattenedGradients(flat);
        bindings.forEach(UnitBinding::rebindOptimizers);
    }

    /** A layer with its gradients on the host. */
    Trainable onHost(Trainable layer) {
        return onHost.getOrDefault(layer, layer);
    }

    /** Gives the network ordinary arrays with the latest parameters and gradients. */
    void back() {
        adapter.setFlattenedParams(parametersBack());
        adapter.setFlattenedGradients(null);
        adapter.initGradientsView();
        adapter.flattenedGradients().assign(memory.gradientArray().reshape(adapter.flattenedGradients().shape()));
        bindings.forEach(UnitBinding::rebindOptimizers);
        adapter.forgetGradient();
    }

    private INDArray parametersBack() {
        boolean rank2 = memory.rank2();
        long count = memory.plainParameters().length();
        INDArray params = Nd4j.createUninitialized(memory.type(), rank2 || adapter instanceof GraphAdapter ? new long[] {1, count}
                : new long[] {count}, rank2 ? 'f' : 'c');
        params.assign(memory.plainParameters().reshape(params.shape()));
        for (int i = 0; i < units.size(); i++) {
            back(i, params.rank() == 2 && !rank2 ? params.reshape(count) : params);
        }
        return params;
    }

    private void back(int index, INDArray flat) {
        NetworkUnit unit = units.get(index);
        UnitBinding binding = new UnitBinding(unit, (offset, length) -> MultiLayerAdapter.view(flat, unit.offset + offset, length));
        Map<Object, Map<String, INDArray>> tables = new IdentityHashMap<>();
        for (UnitBinding.Table table : binding.tables()) {
            INDArray view = MultiLayerAdapter.view(flat, unit.offset + table.offset, table.length);
            tables.put(table.owner, new LinkedHashMap<>(UnitBinding.tableOver(table.owner, view)));
        }
        binding.bind((offset, length) -> MultiLayerAdapter.view(flat, unit.offset + offset, length), t -> tables.get(t.owner));
        if (Layers.sameDiff(unit)) {
            reads.releaseGraphs(index, tables.values().iterator().next().values().toArray(new INDArray[0]));
        }
    }
}
