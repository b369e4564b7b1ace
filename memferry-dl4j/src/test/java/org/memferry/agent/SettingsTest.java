package org.memferry.agent;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerryProperties;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** What the agent makes of its arguments. */
class SettingsTest {

    private final List<String> complaints = new ArrayList<>();
    private Properties before;

    @BeforeEach
    void keep_the_properties() {
        before = (Properties) System.getProperties().clone();
    }

    @AfterEach
    void put_the_properties_back() {
        System.setProperties(before);
    }

    private void set(String arguments) {
        new Settings(complaints::add).set(arguments);
    }

    @Test
    void every_documented_property_has_its_name() throws IllegalAccessException {
        List<String> documented = new ArrayList<>();
        for (Field field : MemFerryProperties.class.getDeclaredFields()) {
            if (Modifier.isPublic(field.getModifiers())) {
                documented.add((String) field.get(null));
            }
        }
        assertThat(Settings.NAMES).map(name -> Settings.PREFIX + name).containsExactlyInAnyOrderElementsOf(documented);
        assertThat(MemFerryProperties.names()).containsExactlyInAnyOrderElementsOf(documented);
    }

    @Test
    void settings_become_properties_and_a_device_keeps_its_own_options() {
        set("device=emulated,h2d=12,poison,deviceMemory=6GB, update.threads=3");
        assertThat(System.getProperty("org.memferry.device")).isEqualTo("emulated,h2d=12,poison");
        assertThat(System.getProperty("org.memferry.deviceMemory")).isEqualTo("6GB");
        assertThat(System.getProperty("org.memferry.update.threads")).isEqualTo("3");
        assertThat(complaints).isEmpty();
    }

    @Test
    void a_property_that_is_set_goes_first() {
        System.setProperty("org.memferry.deviceMemory", "2GB");
        set("deviceMemory=6GB");
        assertThat(System.getProperty("org.memferry.deviceMemory")).isEqualTo("2GB");
    }

    @Test
    void nothing_is_fine_and_something_unknown_is_named() {
        set(null);
        set("  ");
        assertThat(complaints).isEmpty();
        set("memory=6GB,deviceMemory=6GB");
        assertThat(complaints).singleElement().asString().startsWith("'memory=6GB' in the agent's arguments is no setting")
                .contains("deviceMemory");
        assertThat(System.getProperty("org.memferry.deviceMemory")).isEqualTo("6GB");
    }

    @Test
    void only_false_turns_it_off() {
        System.clearProperty("org.memferry.enabled");
        assertThat(Settings.isOff()).isFalse();
        System.setProperty("org.memferry.enabled", "true");
        assertThat(Settings.isOff()).isFalse();
        System.setProperty("org.memferry.enabled", " False ");
        assertThat(Settings.isOff()).isTrue();
    }
}
