package org.memferry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.base.RefusedException;
import org.memferry.plan.UpdateTiming;
import org.nd4j.linalg.lossfunctions.LossFunctions;
import org.slf4j.LoggerFactory;

/** Settings by system property and environment variable. */
class PropertiesTest {

    @Test
    void a_property_has_a_twin_in_the_environment_and_goes_before_it() {
        assertThat(MemFerryProperties.environmentName(MemFerryProperties.DEVICE_MEMORY)).isEqualTo("MEMFERRY_DEVICE_MEMORY");
        assertThat(MemFerryProperties.environmentName(MemFerryProperties.VERIFY_FIRST_STEPS)).isEqualTo("MEMFERRY_VERIFY_FIRST_STEPS");
        Map<String, String> environment = Map.of("MEMFERRY_DEVICE", " emulated:1MB ", "MEMFERRY_STRATEGY", " ");
        assertThat(MemFerryProperties.value(MemFerryProperties.DEVICE, name -> null, environment::get)).isEqualTo("emulated:1MB");
        assertThat(MemFerryProperties.value(MemFerryProperties.DEVICE, name -> "host", environment::get)).isEqualTo("host");
        assertThat(MemFerryProperties.value(MemFerryProperties.STRATEGY, name -> null, environment::get)).isNull();
        // A68: a file of settings that was written on Windows leaves one more character at each end of a line.
        assertThat(MemFerryProperties.value(MemFerryProperties.DEVICE, name -> "host\r", environment::get)).isEqualTo("host");
    }

    @Test
    void the_configuration_of_the_properties_is_the_one_they_name() {
        Map<String, String> set = Map.of(MemFerryProperties.DEVICE, "emulated,h2d=12", MemFerryProperties.DEVICE_MEMORY, "3MB",
                MemFerryProperties.HEADROOM, "1MB", MemFerryProperties.STRATEGY, "zero_offload", MemFerryProperties.EAGER_UPDATE, "false",
                MemFerryProperties.PROFILE, "no-such-file.json", MemFerryProperties.VERIFY_FIRST_STEPS, " 3 ");
        set.forEach(System::setProperty);
        try (MemFerry ferry = MemFerry.attach(network(), MemFerryConfig.fromProperties())) {
            assertThat(ferry.plan().budget().deviceBytes()).isEqualTo(3 << 20);
            assertThat(ferry.plan().budget().headroomBytes()).isEqualTo(1 << 20);
            assertThat(ferry.plan().updateTiming()).isEqualTo(UpdateTiming.AFTER_BACKWARD);
            assertThat(ferry.verification().asked()).isEqualTo(3);
        } finally {
            set.keySet().forEach(System::clearProperty);
        }
        try (MemFerry ferry = MemFerry.attach(network(), MemFerryConfig.fromProperties())) {
            assertThat(ferry.plan().budget().deviceBytes()).isEqualTo(Long.MAX_VALUE);
            assertThat(ferry.verification().asked()).isZero();
        }
    }

    @Test
    void the_memory_of_a_device_goes_where_its_kind_has_it() {
        assertThat(MemFerryConfig.device("cuda", "6GB")).isEqualTo("cuda,memory=6GB");
        assertThat(MemFerryConfig.device("cuda:1,poison", "6GB")).isEqualTo("cuda:1,memory=6GB,poison");
        assertThat(MemFerryConfig.device("emulated,h2d=12", "3MB")).isEqualTo("emulated:3MB,h2d=12");
        assertThat(MemFerryConfig.device("host", null)).isEqualTo("host");
        assertThatThrownBy(() -> MemFerryConfig.device("host", "1GB")).isInstanceOf(RefusedException.class).hasMessageContaining("'1GB'");
        assertThatThrownBy(() -> MemFerryConfig.device("emulated:1MB", "1GB")).isInstanceOf(RefusedException.class);
    }

    @Test
    void what_is_spelt_like_a_setting_and_is_none_is_named_with_the_nearest_one() {
        Properties properties = new Properties();
        for (String name : List.of("org.memferry.devicemory", "org.memferry.eagerupdate", "org.memferry.fast", "org.memferry.device", "memferry.log")) {
            properties.setProperty(name, "1GB");
        }
        Map<String, String> unknown = MemFerryProperties.unknown(properties,
                Map.of("MEMFERRY_DEVICE_MEMORYS", "1GB", "MEMFERRY_PREFLIGHT", "warn", "MEMFERRY_HEADROOM", "1MB", "PATH", "here"));
        assertThat(unknown).hasSize(5)
                .containsEntry("-Dorg.memferry.devicemory", "Did you mean org.memferry.deviceMemory?")
                .containsEntry("-Dorg.memferry.eagerupdate", "Did you mean org.memferry.eagerUpdate?")
                .containsEntry("MEMFERRY_DEVICE_MEMORYS in the environment", "Did you mean MEMFERRY_DEVICE_MEMORY?")
                .containsEntry("MEMFERRY_PREFLIGHT in the environment", "It has no environment variable: set -Dorg.memferry.preflight=warn.")
                .hasEntrySatisfying("-Dorg.memferry.fast", way -> assertThat(way).startsWith("Settings are ").contains("org.memferry.update.kernel"));
    }

    @Test
    void attaching_warns_of_a_property_that_is_misspelt_and_only_once() {
        assertThat(logged(UnknownSettings.class, Map.of("org.memferry.stratgey", "AUTO"), () -> {
            MemFerry.attach(network(), MemFerryConfig.defaults()).close();
            MemFerry.attach(network(), MemFerryConfig.fromProperties()).close();
        })).containsExactly("-Dorg.memferry.stratgey is no setting of MemFerry. Did you mean org.memferry.strategy?");
    }

    @Test
    void settings_that_a_configuration_leaves_out_are_those_of_fromProperties_alone() {
        Map<String, String> properties = new HashMap<>();
        MemFerryProperties.names().forEach(name -> properties.put(name, "1"));
        properties.remove(MemFerryProperties.HEADROOM);
        properties.put(MemFerryProperties.PROFILE, " ");
        Map<String, String> environment = Map.of("MEMFERRY_HEADROOM", "1MB", "MEMFERRY_DEVICE", "host", "MEMFERRY_ENABLED", "true");
        assertThat(UnusedSettings.find(properties::get, environment::get)).containsExactly("-Dorg.memferry.device", "-Dorg.memferry.deviceMemory",
                "MEMFERRY_HEADROOM in the environment", "-Dorg.memferry.strategy", "-Dorg.memferry.eagerUpdate", "-Dorg.memferry.spillToHost",
                "-Dorg.memferry.verifyFirstSteps");
        assertThat(UnusedSettings.find(name -> null, name -> null)).isEmpty();
    }

    @Test
    void a_configuration_of_the_program_warns_once_of_settings_that_it_does_not_use() {
        Map<String, String> set = Map.of(MemFerryProperties.VERIFY_FIRST_STEPS, "3", MemFerryProperties.STRATEGY, "AUTO",
                MemFerryProperties.UPDATE_THREADS, "1", MemFerryProperties.ENABLED, "true", MemFerryProperties.PREFLIGHT, "warn");
        assertThat(logged(UnusedSettings.class, set, () -> {
            MemFerry.attach(network(), MemFerryConfig.fromProperties().expect(2, InputType.feedForward(2))).close();
        })).isEmpty();
        assertThat(logged(UnusedSettings.class, set, () -> {
            MemFerry.attach(network(), MemFerryConfig.builder().device("emulated:3MB").build()).close();
            MemFerry.attach(network(), MemFerryConfig.defaults()).close();
        })).containsExactly("set, but not used, as this network's configuration was made without them: -Dorg.memferry.strategy, "
                + "-Dorg.memferry.verifyFirstSteps. MemFerryConfig.fromProperties() makes one with them.");
    }

    private static List<String> logged(Class<?> by, Map<String, String> properties, Runnable body) {
        Logger logger = (Logger) LoggerFactory.getLogger(by);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        properties.forEach(System::setProperty);
        try {
            body.run();
        } finally {
            properties.keySet().forEach(System::clearProperty);
            logger.detachAppender(log);
        }
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).collect(Collectors.toList());
    }

    private static MultiLayerNetwork network() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(2).nOut(2).build()).build());
        net.init();
        return net;
    }
}
