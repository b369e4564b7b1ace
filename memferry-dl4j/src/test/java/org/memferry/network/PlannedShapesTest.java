package org.memferry.network;

import com.sun.management.ThreadMXBean;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.plan.IterationMemory;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.lang.management.ManagementFactory;

import static org.assertj.core.api.Assertions.assertThat;

/** Which data there is room for, and what it takes. */
class PlannedShapesTest {

    private static NetworkAdapter recurrent(int segment) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list().layer(new LSTM.Builder().nIn(3).nOut(8).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE).nIn(8).nOut(2).build())
                .backpropType(segment == 0 ? BackpropType.Standard : BackpropType.TruncatedBPTT).tBPTTLength(Math.max(1, segment)).build());
        net.init();
        return NetworkAdapter.of(net);
    }

    private static NetworkAdapter given(NetworkAdapter adapter, long... shape) {
        ((MultiLayerNetwork) adapter.network()).setInput(Nd4j.zeros(DataType.FLOAT, shape));
        return adapter;
    }

    private static PlannedShapes trained(NetworkAdapter adapter, int batch, InputType... types) {
        return PlannedShapes.none(adapter.segmentSteps(), 0).withTrained(DataShape.told(batch, types));
    }

    @Test
    void moreExamplesOrLongerSeriesAreNotCoveredAndFewerAndShorterAre() {
        NetworkAdapter net = recurrent(0);
        for (RNNFormat format : RNNFormat.values()) {
            PlannedShapes shapes = trained(net, 4, InputType.recurrent(3, 10, format));
            assertThat(shapes.coverTraining(given(net, 4, 3, 10))).isTrue();
            assertThat(shapes.coverTraining(given(net, 2, 3, 5))).isTrue();
            assertThat(shapes.coverTraining(given(net, 4, 3, 11))).as("longer").isFalse();
            assertThat(shapes.coverTraining(given(net, 5, 3, 1))).as("more").isFalse();
            assertThat(shapes.coverTraining(given(net, 4, 11, 3))).as("longer, the other way round").isFalse();
            assertThat(shapes.coverTraining(given(net, 4, 10, 3))).isTrue();
        }
        assertThat(trained(net, 4, InputType.recurrent(3)).coverTraining(given(net, 1, 3, 1))).as("a length that nobody told").isFalse();
    }

    @Test
    void severalShapesAreKeptWhereNoneIsTheLargest() {
        NetworkAdapter net = recurrent(0);
        PlannedShapes shapes = trained(net, 2, InputType.recurrent(3, 100)).withTrained(DataShape.told(40, new InputType[] {InputType.recurrent(3, 5)}))
                .withTrained(DataShape.told(1, new InputType[] {InputType.recurrent(3, 50)}));
        assertThat(shapes.coverTraining(given(net, 2, 3, 100))).isTrue();
        assertThat(shapes.coverTraining(given(net, 40, 3, 5))).isTrue();
        assertThat(shapes.coverTraining(given(net, 40, 3, 6))).isFalse();
        assertThat(shapes.longest()).hasToString("40 examples of [InputTypeRecurrent(3,timeSeriesLength=100,format=NCW)]");
        IterationMemory both = shapes.memory(net);
        IterationMemory longer = trained(net, 2, InputType.recurrent(3, 100)).memory(net);
        IterationMemory more = trained(net, 40, InputType.recurrent(3, 5)).memory(net);
        assertThat(both.activationBytes()).as("as much as the larger, not as both at once").isEqualTo(Math.max(longer.activationBytes(),
                more.activationBytes()));
        assertThat(both.dataBytes()).isEqualTo(Math.max(longer.dataBytes(), more.dataBytes()));
        assertThat(both.totalBytes()).isBetween(Math.max(longer.totalBytes(), more.totalBytes()), longer.totalBytes() + more.totalBytes() - 1);
    }

    @Test
    void aSeriesIsTrainedInSegmentsAndEvaluatedWhole() {
        NetworkAdapter net = recurrent(10);
        PlannedShapes shapes = PlannedShapes.none(10, 4).withTrained(DataShape.told(4, new InputType[] {InputType.recurrent(3, 25)}));
        assertThat(shapes.coverTraining(given(net, 4, 3, 10))).isTrue();
        assertThat(shapes.coverEvaluation(given(net, 4, 3, 10))).isTrue();
        assertThat(shapes.coverEvaluation(given(net, 4, 3, 25))).isFalse();
        PlannedShapes more = shapes.withEvaluated(DataShape.told(4, new InputType[] {InputType.recurrent(3, 250)}));
        assertThat(more.coverEvaluation(given(net, 4, 3, 25))).isTrue();
        assertThat(more.coverTraining(given(net, 4, 3, 26))).isFalse();
        assertThat(more.memory(net).totalBytes()).isGreaterThan(shapes.memory(net).totalBytes());
    }

    @Test
    void whatTheUserSaysOfEvaluationCounts() {
        NetworkAdapter net = recurrent(0);
        PlannedShapes shapes = PlannedShapes.none(0, 20).withTrained(DataShape.told(4, new InputType[] {InputType.recurrent(3, 10)}));
        assertThat(shapes.coverEvaluation(given(net, 20, 3, 10))).isTrue();
        assertThat(shapes.coverTraining(given(net, 20, 3, 10))).isFalse();
        assertThat(shapes.coverEvaluation(given(net, 21, 3, 10))).isFalse();
        PlannedShapes fewer = PlannedShapes.none(0, 2).withTrained(DataShape.told(4, new InputType[] {InputType.recurrent(3, 10)}));
        assertThat(fewer.coverEvaluation(given(net, 2, 3, 10))).isTrue();
        assertThat(fewer.coverEvaluation(given(net, 3, 3, 10))).as("what is trained may take more when it is evaluated").isFalse();
    }

    @Test
    void picturesThatGrowKeepTheirFormatAndEveryInputCounts() {
        ComputationGraph graph = new ComputationGraph(new NeuralNetConfiguration.Builder().graphBuilder().addInputs("a", "b")
                .setInputTypes(InputType.convolutional(8, 8, 2), InputType.feedForward(5))
                .addLayer("conv", new ConvolutionLayer.Builder(3, 3).nOut(4).build(), "a").addLayer("pool", new GlobalPoolingLayer(), "conv")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MSE).nOut(2).build(), "pool", "b").setOutputs("out").build());
        graph.init();
        NetworkAdapter net = NetworkAdapter.of(graph);
        PlannedShapes shapes = trained(net, 3, InputType.convolutional(8, 8, 2), InputType.feedForward(5));
        graph.setInputs(Nd4j.zeros(DataType.FLOAT, 3, 2, 8, 8), Nd4j.zeros(DataType.FLOAT, 3, 5));
        assertThat(shapes.coverTraining(net)).isTrue();
        assertThat(DataShape.told(1, new InputType[] {InputType.convolutional(4, 4, 2), InputType.feedForward(5)}).timesIn(net)).isEqualTo(12);
        graph.setInputs(Nd4j.zeros(DataType.FLOAT, 3, 2, 9, 8), Nd4j.zeros(DataType.FLOAT, 3, 5));
        assertThat(shapes.coverTraining(net)).isFalse();
        DataShape larger = DataShape.present(net, shapes.longest(), 0);
        assertThat(larger.types()).containsExactly(InputType.convolutional(9, 8, 2), InputType.feedForward(5));
        assertThat(shapes.withTrained(larger).memory(net).totalBytes()).isGreaterThan(shapes.memory(net).totalBytes());
        graph.setInputs(Nd4j.zeros(DataType.FLOAT, 3, 2, 8, 8), Nd4j.zeros(DataType.FLOAT, 4, 5));
        assertThat(shapes.coverTraining(net)).as("the second input").isFalse();
    }

    /** Texts come as numbers of words, which DL4J's input types do not tell from anything else. */
    @Test
    void textsThatAreLongerTakeMore() {
        MultiLayerNetwork words = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                .layer(new EmbeddingSequenceLayer.Builder().nIn(100).nOut(8).build()).layer(new LSTM.Builder().nIn(8).nOut(8).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE).nIn(8).nOut(2).build()).build());
        words.init();
        NetworkAdapter net = given(NetworkAdapter.of(words), 4, 10);
        PlannedShapes shapes = PlannedShapes.none(0, 0).withTrained(DataShape.present(net, null, 0));
        PlannedShapes told = trained(net, 4, InputType.recurrent(100, 10));
        for (PlannedShapes each : new PlannedShapes[] {shapes, told}) {
            assertThat(each.coverTraining(given(net, 4, 10))).isTrue();
            assertThat(each.coverTraining(given(net, 4, 1, 10))).isTrue();
            assertThat(each.coverTraining(given(net, 4, 20))).isFalse();
            PlannedShapes longer = each.withTrained(DataShape.present(net, each.longest(), 0));
            assertThat(longer.memory(net).activationBytes()).isBetween(each.memory(net).activationBytes() * 19 / 10, each.memory(net).activationBytes() * 2);
        }
    }

    /** Asked before every iteration and at every read of inference. */
    @Test
    void toAskAllocatesNothing() {
        NetworkAdapter net = recurrent(0);
        DataShape wide = DataShape.told(4, new InputType[] {InputType.recurrent(3, 10)});
        DataShape longer = DataShape.told(1, new InputType[] {InputType.recurrent(3, 50)});
        PlannedShapes shapes = PlannedShapes.none(0, 0).withTrained(wide).withTrained(longer).withEvaluated(wide).withEvaluated(longer);
        SizeDrift drift = new SizeDrift(1.5, 8);
        INDArray[] data = {Nd4j.zeros(DataType.FLOAT, 4, 3, 10), Nd4j.zeros(DataType.FLOAT, 1, 3, 50)};
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        MultiLayerNetwork layers = (MultiLayerNetwork) net.network();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 20; round++) {
            boolean all = true;
            for (INDArray each : data) {
                layers.setInput(each);
                long before = threads.getThreadAllocatedBytes(id);
                for (int i = 0; i < 1000; i++) {
                    all &= shapes.coverTraining(net) && shapes.coverEvaluation(net);
                    drift.opened(net);
                    all &= !drift.hasMoved();
                }
                least = Math.min(least, threads.getThreadAllocatedBytes(id) - before);
                drift.begin();
            }
            assertThat(all).isTrue();
        }
        assertThat(least).as("bytes of a thousand iterations").isLessThan(1000);
    }
}
