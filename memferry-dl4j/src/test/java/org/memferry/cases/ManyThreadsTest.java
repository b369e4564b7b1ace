package org.memferry.cases;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A04: many threads infer on one device; its memory is a slab of a size that was decided before, and does not grow with them. */
class ManyThreadsTest {

    private static final int THREADS = 8;
    private static final int STEPS = 20;

    private static MultiLayerNetwork network() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().seed(4).list()
                .layer(new LSTM.Builder().nIn(5).nOut(16).build()).layer(new LSTM.Builder().nOut(16).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build())
                .setInputType(InputType.recurrent(5)).build());
        net.init();
        return net;
    }

    private static INDArray walk(MultiLayerNetwork net, int seed) {
        INDArray last = null;
        for (int step = 0; step < STEPS; step++) {
            last = net.rnnTimeStep(Nets.gaussian(100 * seed + step, 2, 5));
        }
        return last.dup();
    }

    @Test
    void statefulInferenceInManyThreadsTakesNoMoreOfTheDeviceThanWasPlanned() throws InterruptedException, ExecutionException {
        List<MultiLayerNetwork> nets = new ArrayList<>();
        List<MemFerry> ferries = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (Device device = Devices.open("emulated:256KB")) {
            MemFerryConfig config = MemFerryConfig.builder().device(device).expect(2, InputType.recurrent(5, 1)).build();
            for (int i = 0; i < THREADS; i++) {
                nets.add(network());
                ferries.add(MemFerry.attach(nets.get(i), config));
            }
            long planned = ferries.stream().mapToLong(f -> f.plan().slabBytes()).sum();
            assertThat(device.metrics().slabBytes()).isPositive().isEqualTo(planned);
            List<Future<INDArray>> results = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int index = i;
                results.add(threads.submit(() -> walk(nets.get(index), index)));
            }
            for (int i = 0; i < THREADS; i++) {
                assertThat(results.get(i).get()).as("thread %d", i).isEqualTo(walk(network(), i));
            }
            assertThat(device.metrics().slabBytes()).as("slab after all threads").isEqualTo(planned);
            assertThat(device.metrics().peakSlabBytes()).as("peak").isEqualTo(planned);
            ferries.forEach(MemFerry::close);
            long free = device.freeBytes();
            assertThatThrownBy(() -> device.allocateSlab(free + 1, "one more")).isInstanceOf(OutOfMemoryException.class)
                    .hasMessageContaining("one more needs").hasMessageContaining(String.format("%,d bytes", free + 1))
                    .hasMessageContaining(String.format("%,d bytes", free)).hasMessageContaining("deviceMemory");
        } finally {
            threads.shutdown();
        }
    }
}
