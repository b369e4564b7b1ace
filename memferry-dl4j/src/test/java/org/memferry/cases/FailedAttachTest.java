package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/** Attaching that fails half-way gives everything back silently, and what is thrown is the first cause. Case B01. */
class FailedAttachTest {

    @ParameterizedTest(name = "at the allocation of {0}")
    @ValueSource(strings = {"parameters", "gradients", "updater state"})
    void theFirstCauseIsThrownAndNothingIsLeftBehind(String purpose) {
        OutOfMemoryException cause = new OutOfMemoryException("no memory for " + purpose, 1, 0);
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        INDArray params = net.params();
        try (Logs logs = new Logs(); Device device = Devices.open("emulated:1MB")) {
            MemFerryConfig config = MemFerryConfig.builder().device(failing(device, purpose, cause)).build();
            Throwable thrown = catchThrowable(() -> MemFerry.attach(net, config));
            assertThat(thrown).isSameAs(cause).hasNoSuppressedExceptions();
            assertThat(device.metrics().openRegions()).isZero();
            assertThat(logs.at(Level.WARN)).isEmpty();
            assertThat(net.params()).isSameAs(params);
            assertThat(MemFerry.of(net)).isNull();
            try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
                Nets.train(net, 0, 2);
                Nets.train(stock, 0, 2);
                Numbers.assertSame(stock, net, "attached at the second attempt");
                assertThat(ferry.isOpen()).isTrue();
            }
        }
    }

    private static Device failing(Device device, String purpose, RuntimeException cause) {
        return (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("allocateHost") && arguments[1].equals(purpose)) {
                throw cause;
            }
            try {
                return method.invoke(device, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }
}
