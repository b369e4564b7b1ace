package org.memferry.examples.finetune;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitConstant;
import org.memferry.examples.Digits;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

/** The networks of the example, in plain DL4J: nothing here knows of MemFerry. */
final class Networks {

    /** Digits 0-4 first, then 5-9. */
    static final int CLASSES = 5;
    /** One image: [1, 8, 8]. */
    static final InputType INPUT = InputType.convolutional(Digits.SIDE, Digits.SIDE, 1);
    static final long SEED = 1998;

    private static final int WIDE_LAYERS = 5;
    private static final double PRETRAIN_RATE = 3e-4;
    private static final double FROZEN_RATE = 1e-3;
    private static final double OPEN_RATE = 2e-4;
    private static final double OPEN_DECAY = 0.6;

    private Networks() {
    }

    /** Two convolutions, a pooling, six dense layers, softmax. The wide layers are alike, so that none of them alone fills the device. */
    static MultiLayerNetwork untrained(Scale scale) {
        NeuralNetConfiguration.ListBuilder layers = new NeuralNetConfiguration.Builder().seed(SEED).updater(new Adam(PRETRAIN_RATE))
                .weightInit(WeightInit.RELU).activation(Activation.RELU).convolutionMode(ConvolutionMode.Same).list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(scale.channels).build())
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(2 * scale.channels).build())
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build());
        for (int i = 0; i < WIDE_LAYERS; i++) {
            layers.layer(new DenseLayer.Builder().nOut(scale.width).build());
        }
        return new MultiLayerNetwork(layers.layer(new DenseLayer.Builder().nOut(scale.width / 2).build())
                .layer(output(scale)).setInputType(INPUT).build());
    }

    private static OutputLayer output(Scale scale) {
        return new OutputLayer.Builder(LossFunction.MCXENT).nIn(scale.width / 2).nOut(CLASSES).activation(Activation.SOFTMAX)
                .weightInit(WeightInit.XAVIER).build();
    }

    /** The trained layers, frozen, under a new output layer. */
    static MultiLayerNetwork transferred(MultiLayerNetwork trained, Scale scale) {
        int last = trained.getnLayers() - 1;
        // addLayer draws the new weights from ND4J's global generator, wherever that stands.
        Nd4j.getRandom().setSeed(SEED);
        return new TransferLearning.Builder(trained)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder().seed(SEED).updater(new Adam(FROZEN_RATE)).build())
                .setFeatureExtractor(last - 1)
                .removeOutputLayer()
                .addLayer(output(scale))
                .build();
    }

    /**
     * A network like this one with every layer open to training, at a smaller learning rate that shrinks with every epoch, counted anew.
     * It has no parameters yet; those of {@code frozen} fit, in the same order. TransferLearning freezes layers but does not open them
     * again.
     */
    static MultiLayerNetwork opened(MultiLayerNetwork frozen) {
        MultiLayerConfiguration configuration = frozen.getLayerWiseConfigurations().clone();
        configuration.setIterationCount(0);
        configuration.setEpochCount(0);
        for (NeuralNetConfiguration layer : configuration.getConfs()) {
            layer.setIterationCount(0);
            layer.setEpochCount(0);
            if (layer.getLayer() instanceof FrozenLayer) {
                layer.setLayer(((FrozenLayer) layer.getLayer()).getLayer());
            }
            if (layer.getLayer() instanceof BaseLayer) {
                BaseLayer open = (BaseLayer) layer.getLayer();
                open.setIUpdater(new Adam(new ExponentialSchedule(ScheduleType.EPOCH, OPEN_RATE, OPEN_DECAY)));
                // The weights come from the frozen network: drawing random ones first would only cost time and memory.
                open.setWeightInitFn(new WeightInitConstant(0));
            }
        }
        return new MultiLayerNetwork(configuration);
    }
}
