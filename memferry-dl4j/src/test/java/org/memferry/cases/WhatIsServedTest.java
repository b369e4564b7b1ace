package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.RefusedException;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** What MemFerry takes, on which backend; everything else is refused by name. */
class WhatIsServedTest {

    // A57: there is no way to hand in a SameDiff graph, so that none can be half attached
    @Test
    void aSameDiffGraphCannotBeAttached() {
        assertThat(Model.class.isAssignableFrom(SameDiff.class)).as("SameDiff is one of DL4J's models").isFalse();
        List<Method> factories = Arrays.stream(MemFerry.class.getDeclaredMethods())
                .filter(m -> Modifier.isStatic(m.getModifiers()) && Modifier.isPublic(m.getModifiers())).collect(Collectors.toList());
        assertThat(factories).isNotEmpty();
        for (Method factory : factories) {
            assertThat(factory.getParameterTypes()).as(factory.toString()).doesNotContain(Object.class, SameDiff.class);
        }
        assertThat(Arrays.stream(MemFerry.class.getDeclaredMethods()).filter(m -> m.getName().equals("attach"))).singleElement()
                .satisfies(m -> assertThat(m.getParameterTypes()).containsExactly(Model.class, MemFerryConfig.class));
    }

    @Test
    void aModelOfAnotherKindIsRefusedWithItsClass() {
        MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
        Model layer = net.getLayer(0);
        assertThatThrownBy(() -> MemFerry.attach(layer, MemFerryConfig.defaults())).isInstanceOf(RefusedException.class)
                .hasMessageContaining(layer.getClass().getName()).hasMessageContaining("MultiLayerNetwork")
                .hasMessageContaining("ComputationGraph");
        assertThatThrownBy(() -> MemFerry.attach(null, MemFerryConfig.defaults())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("null");
    }

    // A69
    @Test
    void onTheCpuBackendTheHostDeviceServesWithoutBeingAskedFor() {
        assertThat(Nd4j.getBackend().getClass().getSimpleName()).isEqualTo("CpuBackend");
        MultiLayerNetwork stock = Nets.layers(new Adam(1e-2));
        MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.defaults())) {
            Nets.train(stock, 0, 3);
            Nets.train(net, 0, 3);
            Numbers.assertSame(stock, net, "on the host device");
            assertThat(ferry.metrics().iterations()).isEqualTo(3);
            assertThat(ferry.metrics().device().slabBytes()).as("device bytes").isZero();
            assertThat(ferry.metrics().device().copies()).as("copies").isZero();
            // One line at attach says where the network computes.
            assertThat(logs.at(Level.INFO)).anySatisfy(line -> assertThat(line).contains("on host")
                    .contains("CpuBackend").contains("ND4J"));
        }
    }

    // A69: no other backend is on the class path of a test, so the check itself is asked
    @Test
    void anotherBackendIsRefusedWithWhatIsExpectedAndWhatToDo() throws ReflectiveOperationException {
        Method check = Class.forName("org.memferry.network.Support").getDeclaredMethod("checkBackend", String.class);
        check.setAccessible(true);
        check.invoke(null, "CpuBackend");
        check.invoke(null, "JCublasBackend");
        assertThatThrownBy(() -> check.invoke(null, "SomeBackend")).isInstanceOf(InvocationTargetException.class).cause()
                .isInstanceOf(RefusedException.class).hasMessageContaining("SomeBackend").hasMessageContaining("CpuBackend")
                .hasMessageContaining("nd4j-native").hasMessageContaining("class path");
    }
}
