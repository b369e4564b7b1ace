package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.api.Test;
import org.memferry.base.RefusedException;
import org.memferry.parity.Families;
import org.memferry.parity.Family;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerWork;
import org.memferry.plan.Workload;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class NetworkWorkTest {

    private static final int BATCH = 5;

    static Stream<Family> families_with_types() {
        return Families.runnable().stream().filter(family -> family.inputTypes() != null);
    }

    @ParameterizedTest
    @MethodSource("families_with_types")
    void every_layer_puts_out_as_many_elements_as_DL4J_computes(Family family) {
        Model network = family.newNetwork();
        NetworkAdapter adapter = NetworkAdapter.of(network);
        network.init();
        Map<String, Long> expected = new HashMap<>();
        adapter.addListener(new Activations(expected));
        family.fit(network, 0);
        Map<String, Long> told = new HashMap<>();
        boolean segments = adapter.configurationJson().contains("TruncatedBPTT");
        for (LayerShape shape : adapter.shapes(family.inputTypes())) {
            if (expected.containsKey(shape.name) && !segments) {
                told.put(shape.name, shape.output.elements() * family.batch());
            }
        }
        assertThat(expected).isNotEmpty();
        if (!segments) {
            assertThat(told).isEqualTo(expected);
        }
    }

    /** Elements of the first forward pass by layer, without those of the inputs. */
    private static final class Activations extends BaseTrainingListener {

        private final Map<String, Long> elements;

        Activations(Map<String, Long> elements) {
            this.elements = elements;
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            for (int i = 1; i < activations.size(); i++) {
                elements.putIfAbsent(String.valueOf(i - 1), activations.get(i).length());
            }
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            activations.forEach((name, array) -> elements.putIfAbsent(name, array.length()));
            ((ComputationGraph) model).getConfiguration().getNetworkInputs().forEach(elements::remove);
        }
    }

    @Test
    void a_dense_layer_takes_a_product_forward_and_three_backward() {
        Workload workload = of(InputType.feedForward(7), new DenseLayer.Builder().nOut(11).build(), output());
        LayerWork dense = workload.work().get(0);
        assertThat(dense.forwardFlops()).isEqualTo(2.0 * BATCH * (7 * 11 + 11));
        assertThat(dense.backwardFlops()).isEqualTo(3 * dense.forwardFlops());
        assertThat(dense.activationBytes()).isEqualTo(4L * BATCH * 11);
    }

    @Test
    void a_convolution_multiplies_its_kernel_at_every_place_of_its_output() {
        Workload workload = of(InputType.convolutional(9, 8, 3), new ConvolutionLayer.Builder(3, 3).stride(2, 1).nOut(6).build(), output());
        double perPlace = 6 * (2.0 * 3 * 3 * 3 + 2);
        assertThat(workload.work().get(0).forwardFlops()).isEqualTo(BATCH * 4 * 6 * perPlace);
    }

    @Test
    void a_recurrent_layer_reads_its_weights_in_every_step() {
        Workload workload = of(InputType.recurrent(7, 13), new LSTM.Builder().nOut(11).build(),
                new RnnOutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build());
        LayerDescription lstm = workload.network().layers().get(0);
        assertThat(lstm.forwardTouches()).isEqualTo(13);
        assertThat(lstm.backwardTouches()).isEqualTo(26);
        assertThat(workload.work().get(0).forwardFlops()).isEqualTo(2.0 * BATCH * 13 * 4 * 11 * (7 + 11 + 1));
        assertThat(workload.work().get(1).forwardFlops()).isEqualTo(2.0 * BATCH * 13 * (11 * 3 + 3));
    }

    @Test
    void time_that_a_preprocessor_folds_into_the_examples_is_not_forgotten() {
        Workload workload = of(InputType.recurrent(7, 13), new DenseLayer.Builder().nOut(11).build(),
                new RnnOutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build());
        assertThat(workload.work().get(0).forwardFlops()).isEqualTo(2.0 * BATCH * 13 * (7 * 11 + 11));
        assertThat(workload.work().get(1).forwardFlops()).isEqualTo(2.0 * BATCH * 13 * (11 * 3 + 3));
    }

    @Test
    void an_embedding_copies_rows_and_touches_nothing_of_its_table() {
        Workload workload = of(InputType.feedForward(1000), new EmbeddingLayer.Builder().nIn(1000).nOut(11).build(), output());
        assertThat(workload.work().get(0).forwardFlops()).isEqualTo(BATCH * 11);
        assertThat(workload.network().layers().get(0).forwardTouches()).isZero();
        assertThat(workload.network().layers().get(0).backwardTouches()).isZero();
    }

    @Test
    void what_has_no_parameters_counts_with_the_layer_before_it() {
        double plain = of(InputType.feedForward(7), new DenseLayer.Builder().nOut(11).build(), output()).work().get(0).forwardFlops();
        Workload more = of(InputType.feedForward(7), new DenseLayer.Builder().nOut(11).build(),
                new ActivationLayer(Activation.TANH), output());
        assertThat(more.work().get(0).forwardFlops()).isEqualTo(plain + BATCH * 11);
        assertThat(more.work().get(0).activationBytes()).isEqualTo(2 * 4L * BATCH * 11);
        assertThat(more.work()).hasSize(2);
    }

    @Test
    void attention_looks_from_every_step_at_every_step() {
        ComputationGraphConfiguration conf = new NeuralNetConfiguration.Builder().graphBuilder().addInputs("in")
                .setInputTypes(InputType.recurrent(8, 6))
                .addLayer("q", new LSTM.Builder().nOut(8).build(), "in")
                .addVertex("attention", new AttentionVertex.Builder().nInQueries(8).nInKeys(8).nInValues(8).nOut(8).headSize(8).nHeads(1)
                        .projectInput(false).build(), "q", "q", "q")
                .addLayer("out", new RnnOutputLayer.Builder(LossFunction.MSE).nOut(2).activation(Activation.IDENTITY).build(), "attention")
                .setOutputs("out").build();
        Workload workload = NetworkWork.of(new ComputationGraph(conf), BATCH, InputType.recurrent(8, 6));
        double lstm = 2.0 * BATCH * 6 * 4 * 8 * (8 + 8 + 1);
        assertThat(workload.work().get(0).forwardFlops()).isEqualTo(lstm + 4.0 * BATCH * 6 * 6 * 8);
    }

    @Test
    void types_that_do_not_fit_are_refused() {
        assertThatThrownBy(() -> of(InputType.feedForward(7), new LSTM.Builder().nIn(7).nOut(3).build(), output()))
                .isInstanceOf(RefusedException.class).hasMessageContaining("does not fit the network");
        assertThatThrownBy(() -> of(InputType.recurrent(7), new LSTM.Builder().nOut(3).build(),
                new RnnOutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build()))
                .isInstanceOf(RefusedException.class).hasMessageContaining("unknown length");
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MSE).nOut(2).activation(Activation.IDENTITY).build();
    }

    private static Workload of(InputType input, org.deeplearning4j.nn.conf.layers.Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().list();
        for (org.deeplearning4j.nn.conf.layers.Layer layer : layers) {
            list.layer(layer);
        }
        boolean fits = !(layers[0] instanceof LSTM) || input instanceof InputType.InputTypeRecurrent;
        return NetworkWork.of(new MultiLayerNetwork((fits ? list.setInputType(input) : list.layer(output())).build()), BATCH, input);
    }
}
