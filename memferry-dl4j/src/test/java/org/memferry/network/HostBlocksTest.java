package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.CrashReportingUtil;
import org.junit.jupiter.api.Test;
import org.memferry.Needs;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.memferry.device.host.HostDevice;
import org.memferry.nd4j.RegionArrays;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.offset;

/** Our blocks are those that DL4J makes, where DL4J can; and go on where it cannot, on memory that is only touched where it is looked at. */
class HostBlocksTest {

    /** 2^28 parameters in each square layer. */
    private static final int WIDTH = 1 << 14;
    private static final int BATCH = 5;

    private static void assertBlocksAreDl4js(Model network, BaseMultiLayerUpdater<?> stock) {
        NetworkAdapter adapter = NetworkAdapter.of(network);
        HostBlocks ours = HostBlocks.over(adapter.units(), adapter.flattenedParams(), adapter.flattenedGradients(),
                stock.getStateViewArray());
        assertThat(ours.layout().fitsDl4j()).isTrue();
        assertThat(ours.layout().stateCount()).isEqualTo(stock.getStateViewArray().length());
        assertThat(ours.blocks()).hasSameSizeAs(stock.getUpdaterBlocks()).hasSizeGreaterThan(3);
        for (int i = 0; i < ours.blocks().size(); i++) {
            UpdaterBlock block = stock.getUpdaterBlocks().get(i);
            UpdaterBlock our = ours.blocks().get(i);
            assertThat(our).isExactlyInstanceOf(UpdaterBlock.class);
            assertThat(ours.layout().blockStart(i)).isEqualTo(our.getParamOffsetStart()).isEqualTo(block.getParamOffsetStart());
            assertThat(ours.layout().blockEnd(i)).isEqualTo(our.getParamOffsetEnd()).isEqualTo(block.getParamOffsetEnd());
            assertThat(ours.layout().stateStart(i)).isEqualTo(our.getUpdaterViewOffsetStart()).isEqualTo(block.getUpdaterViewOffsetStart());
            assertThat(ours.layout().stateEnd(i)).isEqualTo(our.getUpdaterViewOffsetEnd()).isEqualTo(block.getUpdaterViewOffsetEnd());
            assertThat(our.getGradientUpdater()).hasSameClassAs(block.getGradientUpdater());
            assertSameView(our.getUpdaterView(), block.getUpdaterView());
            assertSameView(our.getGradientView(), block.getGradientView());
            assertThat(our.getLayersAndVariablesInBlock()).hasSameSizeAs(block.getLayersAndVariablesInBlock());
            for (int p = 0; p < our.getLayersAndVariablesInBlock().size(); p++) {
                assertSameParameter(our.getLayersAndVariablesInBlock().get(p), block.getLayersAndVariablesInBlock().get(p));
            }
        }
    }

    private static void assertSameParameter(ParamState our, ParamState stock) {
        assertThat(our.getLayer()).isSameAs(stock.getLayer());
        assertThat(our.getParamName()).isEqualTo(stock.getParamName());
        assertThat(our.getParamOffsetStart()).isEqualTo(stock.getParamOffsetStart());
        assertThat(our.getParamOffsetEnd()).isEqualTo(stock.getParamOffsetEnd());
        assertSameView(our.getParamView(), stock.getParamView());
        assertSameView(our.getGradView(), stock.getGradView());
    }

    private static void assertSameView(INDArray our, INDArray stock) {
        if (stock == null) {
            assertThat(our).isNull();
            return;
        }
        assertThat(our.shape()).isEqualTo(stock.shape());
        assertThat(our.offset()).isEqualTo(stock.offset());
        assertThat(our.data().pointer().address()).isEqualTo(stock.data().pointer().address());
    }

    private static NeuralNetConfiguration.Builder base() {
        return new NeuralNetConfiguration.Builder().seed(5).activation(Activation.TANH).updater(new Adam(1e-2));
    }

    @Test
    void theBlocksOfALayeredNetworkAreDl4js() {
        MultiLayerNetwork net = new MultiLayerNetwork(base().list()
                .layer(new FrozenLayer(new DenseLayer.Builder().nOut(6).build()))
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new BatchNormalization())
                .layer(new DenseLayer.Builder().nOut(8).updater(new Nesterovs(1e-2, 0.9)).biasUpdater(new Sgd(1e-3)).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nOut(3).build())
                .setInputType(InputType.feedForward(9)).build());
        net.init();
        assertBlocksAreDl4js(net, (BaseMultiLayerUpdater<?>) net.getUpdater());
    }

    @Test
    void theBlocksOfAGraphAreDl4js() {
        ComputationGraph net = new ComputationGraph(base().graphBuilder().addInputs("in").setInputTypes(InputType.feedForward(9))
                .addLayer("a", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("b", new DenseLayer.Builder().nOut(11).updater(new Nesterovs(1e-2, 0.9)).biasUpdater(new Sgd(1e-3)).build(), "in")
                .addLayer("c", new DenseLayer.Builder().nOut(7).build(), "a", "b")
                .addLayer("d", new OutputLayer.Builder(LossFunction.MSE).nOut(3).build(), "c")
                .setOutputs("d").build());
        net.init();
        assertBlocksAreDl4js(net, net.getUpdater());
    }

    /** A network whose arrays are sparse memory: what is not written to takes none. */
    private static final class Sparse implements HostUpdate.Units, AutoCloseable {

        final HostDevice device = new HostDevice();
        final MultiLayerNetwork net;
        final Region parameters;
        final Region gradients;
        final Region state;
        final List<NetworkUnit> units;
        final HostBlocks blocks;

        /** A small layer, square ones, a small layer: all with the rule, but the square ones with theirs. */
        Sparse(int squares, IUpdater rule, IUpdater squareRule) {
            NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().updater(rule).list()
                    .layer(new DenseLayer.Builder().nIn(3).nOut(WIDTH).build());
            for (int i = 0; i < squares; i++) {
                list.layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).updater(squareRule).build());
            }
            net = new MultiLayerNetwork(list.layer(new OutputLayer.Builder(LossFunction.MSE).nIn(WIDTH).nOut(2).build()).build());
            NetworkAdapter adapter = NetworkAdapter.of(net);
            Support.checkConfiguration(adapter);
            long count = adapter.countParameters();
            parameters = device.allocateHost(4 * count, "parameters");
            gradients = device.allocateHost(4 * count, "gradients");
            net.init(vector(parameters), false);
            units = adapter.units();
            state = device.allocateHost(4 * UpdaterState.count(units), "updater state");
            blocks = HostBlocks.over(units, vector(parameters), vector(gradients), vector(state));
        }

        private static INDArray vector(Region region) {
            return RegionArrays.vector(region, 0, DataType.FLOAT, region.bytes() / 4, Support.rank2());
        }

        /** Elements of a region as an ordinary array. */
        INDArray copy(Region region, long from, long count) {
            return RegionArrays.vector(region, from, DataType.FLOAT, count, Support.rank2()).dup();
        }

        /** Takes a step of all layers but the square ones. */
        void step(int iteration) {
            try (UpdateEngine engine = UpdateEngine.start(2)) {
                new HostUpdate(null, blocks, engine, new Region[] {parameters, gradients, state}, ElementType.FLOAT, true, this)
                        .run(null, iteration, 0, BATCH, null, false, layer -> false);
            }
        }

        @Override
        public String name(Trainable layer) {
            return units.stream().filter(unit -> unit.trainable == layer).findFirst().orElseThrow().name;
        }

        @Override
        public Trainable onHost(Trainable layer) {
            return layer;
        }

        @Override
        public boolean reached(Trainable layer) {
            return true;
        }

        @Override
        public boolean idle(Trainable layer) {
            return layer.numParams() > 1 << 20;
        }

        @Override
        public void notFinite(Trainable layer, String parameter, int iteration) {
            throw new AssertionError("layer " + name(layer) + ", parameter " + parameter + " at iteration " + iteration);
        }

        @Override
        public void close() {
            parameters.close();
            gradients.close();
            state.close();
            device.close();
        }
    }

    /** Two steps on a layer, beside the same on small arrays with DL4J's own rule. */
    private static void assertUpdatedLikeDl4j(Sparse sparse, int unit, Adam rule) {
        long at = sparse.units.get(unit).offset;
        int n = (int) sparse.units.get(unit).length;
        int first = 2 * unit;
        long[] components = {sparse.blocks.layout().stateOf(first, 0), sparse.blocks.layout().stateOf(first, 1)};
        INDArray p = sparse.copy(sparse.parameters, at, n);
        INDArray state = sparse.copy(sparse.state, components[0], 2 * n).assign(0);
        GradientUpdater<?> stock = rule.instantiate(state, true);
        for (int iteration = 0; iteration < 2; iteration++) {
            INDArray g = Nd4j.rand(DataType.FLOAT, p.shape());
            RegionArrays.vector(sparse.gradients, at, DataType.FLOAT, n, Support.rank2()).assign(g);
            sparse.step(iteration);
            g.divi(BATCH);
            stock.applyUpdater(g, iteration, 0);
            p.subi(g);
            assertThat(sparse.copy(sparse.parameters, at, n)).isEqualTo(p);
            INDArray flat = state.reshape(2 * n);
            for (int c = 0; c < 2; c++) {
                assertThat(sparse.copy(sparse.state, components[c], n).reshape(n))
                        .isEqualTo(MultiLayerAdapter.view(flat, (long) c * n, n));
            }
        }
        assertThat(p.aminNumber().doubleValue()).isNotZero();
    }

    // A11
    @Test
    void stateBeyondTwoToTheThirtyOneElementsIsUpdatedLikeDl4js() {
        try (Sparse sparse = new Sparse(4, new Adam(1e-2), new Adam(1e-3))) {
            BlockLayout layout = sparse.blocks.layout();
            assertThat(layout.blocks()).isEqualTo(3);
            assertThat(layout.parameterCount()).isLessThan(Integer.MAX_VALUE);
            assertThat(layout.stateStart(2)).isGreaterThan(1L << 31);
            UpdaterBlock last = sparse.blocks.blocks().get(2);
            assertThat(last.getUpdaterView().length()).isEqualTo(2 * (2L * WIDTH + 2));
            assertThat(last.getUpdaterView().offset()).isEqualTo(layout.stateStart(2));
            assertThat((long) last.getParamOffsetStart()).isEqualTo(layout.blockStart(2));
            assertThatThrownBy(last::getUpdaterViewOffsetStart).isInstanceOf(RefusedException.class)
                    .hasMessageContaining(String.valueOf(layout.stateStart(2)));
            assertThat(last.toString()).contains(String.valueOf(layout.stateEnd(2)));
            assertUpdatedLikeDl4j(sparse, 0, new Adam(1e-2));
            assertUpdatedLikeDl4j(sparse, 5, new Adam(1e-2));
        } catch (OutOfMemoryException e) {
            Needs.that(false, e.getMessage());
        }
    }

    // A11
    @Test
    void parametersBeyondTwoToTheThirtyOneElementsAreUpdatedLikeDl4js() {
        try (Sparse sparse = new Sparse(8, new Adam(1e-2), new Sgd(1e-3))) {
            BlockLayout layout = sparse.blocks.layout();
            assertThat(layout.blockStart(2)).isGreaterThan(1L << 31);
            assertThat(layout.stateCount()).isEqualTo(2L * (4 * WIDTH + 2 * WIDTH + 2));
            UpdaterBlock last = sparse.blocks.blocks().get(2);
            assertThat(last.getGradientView().offset()).isEqualTo(layout.blockStart(2));
            assertThat(last.getLayersAndVariablesInBlock().get(1).getParamView().offset()).isEqualTo(layout.blockEnd(2) - 2);
            assertThat((long) last.getUpdaterViewOffsetStart()).isEqualTo(layout.stateStart(2));
            assertThatThrownBy(last.getLayersAndVariablesInBlock().get(1)::getParamOffsetEnd).isInstanceOf(RefusedException.class)
                    .hasMessageContaining(String.valueOf(layout.blockEnd(2)));
            assertUpdatedLikeDl4j(sparse, 9, new Adam(1e-2));
        } catch (OutOfMemoryException e) {
            Needs.that(false, e.getMessage());
        }
    }

    /** What our updater asks of a ferry, written down. */
    private static final class Recorder implements UpdateHook {

        boolean replaced;

        @Override
        public boolean update(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
            return false;
        }

        @Override
        public void stateIsRead() {
            if (CallerCheck.updaterIsReplaced()) {
                replaced = true;
                Support.refuseToReplace(BlockLayout.builder().build());
            }
        }

        @Override
        public Trainable onHost(Trainable layer) {
            return layer;
        }
    }

    // A40, A11: DL4J drops an updater before it finds out that it cannot make one of this size.
    @Test
    void anUpdaterThatDl4jCannotMakeIsKeptWhenALearningRateIsSet() {
        try (Sparse sparse = new Sparse(4, new Adam(1e-2), new Adam(1e-3))) {
            NetworkAdapter adapter = NetworkAdapter.of(sparse.net);
            adapter.setFlattenedGradients(Sparse.vector(sparse.gradients));
            assertThatThrownBy(() -> adapter.stockUpdater(null)).as("DL4J's own").isInstanceOf(Exception.class);
            Recorder hook = new Recorder();
            BaseMultiLayerUpdater<?> updater = adapter.ferryUpdater(hook, sparse.blocks, Sparse.vector(sparse.state));
            adapter.setUpdater(updater);
            assertThat(updater.getUpdaterBlocks()).isEqualTo(sparse.blocks.blocks());
            assertThat(updater.getStateViewArray().length()).isEqualTo(sparse.blocks.layout().stateCount());
            assertThat(CrashReportingUtil.generateMemoryStatus(sparse.net, 0, (InputType[]) null))
                    .contains(String.valueOf(sparse.blocks.layout().stateCount())).contains("AdamUpdater");
            assertThat(hook.replaced).isFalse();
            assertThatThrownBy(() -> sparse.net.setLearningRate(1e-4)).isInstanceOf(RefusedException.class);
            assertThat(hook.replaced).isTrue();
            hook.replaced = false;
            assertThatThrownBy(() -> sparse.net.setLearningRate(2, 1e-5)).isInstanceOf(RefusedException.class);
            assertThat(hook.replaced).isTrue();
            assertThat(adapter.updater()).isSameAs(updater);
        } catch (OutOfMemoryException e) {
            Needs.that(false, e.getMessage());
        }
    }

    // DL4J's own rules run on the same views where a rule cannot be fused.
    @Test
    void dl4jsOwnRulesReachStateBeyondTwoToTheThirtyOneElements() {
        try (Sparse sparse = new Sparse(4, new Adam(1e-2), new Adam(1e-3))) {
            UpdaterBlock last = sparse.blocks.blocks().get(2);
            last.getGradientView().assign(2);
            last.update(0, 0);
            BlockLayout layout = sparse.blocks.layout();
            long n = layout.blockEnd(2) - layout.blockStart(2);
            INDArray first = sparse.copy(sparse.state, layout.stateStart(2), n);
            INDArray second = sparse.copy(sparse.state, layout.stateStart(2) + n, n);
            assertThat(first.minNumber().floatValue()).isEqualTo(first.maxNumber().floatValue()).isEqualTo(0.2f, offset(1e-6f));
            assertThat(second.minNumber().floatValue()).isEqualTo(second.maxNumber().floatValue())
                    .isEqualTo(0.004f, offset(1e-6f));
        } catch (OutOfMemoryException e) {
            Needs.that(false, e.getMessage());
        }
    }
}
