package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Properties;

class JavaCppLimitsTest {

    @Test
    void spellings_that_javacpp_does_not_read_are_found() {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "0");
        properties.setProperty("org.bytedeco.javacpp.maxBytes", "4g");
        assertThat(JavaCppLimits.misspelled(properties)).isEmpty();
        properties.setProperty("org.bytedeco.javacpp.MaxPhysicalBytes", "0");
        properties.setProperty("maxphysicalbytes", "0");
        properties.setProperty("ORG.bytedeco.javacpp.maxbytes", "0");
        assertThat(JavaCppLimits.misspelled(properties)).containsExactly("ORG.bytedeco.javacpp.maxbytes", "maxphysicalbytes",
                "org.bytedeco.javacpp.MaxPhysicalBytes");
    }
}
