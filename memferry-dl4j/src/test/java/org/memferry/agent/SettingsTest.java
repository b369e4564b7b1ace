package org.memferry.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerryProperties;
import org.memferry.base.RefusedException;
import org.memferry.device.Devices;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

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
    void a_misspelt_setting_behind_a_device_is_named_and_does_not_become_an_option_of_the_device() {
        set("device=emulated,deviceMemry=6GB,h2d=12,deviceMemory=4GB,stratgy=AUTO,profile=a,b.json");
        assertThat(complaints).hasSize(2).first().asString().startsWith("'deviceMemry=6GB' in the agent's arguments is no setting")
                .contains("deviceMemory").contains("h2d");
        assertThat(complaints.get(1)).startsWith("'stratgy=AUTO'");
        assertThat(System.getProperty("org.memferry.device")).isEqualTo("emulated,h2d=12");
        assertThat(System.getProperty("org.memferry.deviceMemory")).isEqualTo("4GB");
        assertThat(System.getProperty("org.memferry.profile")).isEqualTo("a,b.json");
    }

    /** The agent's class loader has none of the library's classes: its list is held against what devices say that they take. */
    @Test
    void every_option_of_a_device_is_one_to_the_agent() {
        String refusal = catchThrowableOfType(RefusedException.class, () -> Devices.open("emulated:1MB,nothing")).getMessage();
        List<String> options = Pattern.compile(" ,(\\w+)").matcher(refusal).results().map(found -> found.group(1)).distinct()
                .collect(Collectors.toList());
        assertThat(Settings.DEVICE_OPTIONS).containsExactlyInAnyOrderElementsOf(options);
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
