package org.memferry.examples.programs;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;

import static org.assertj.core.api.Assertions.assertThat;

class ProgramsTest {

    @Test
    void aTrainingLoopWithTheListenerAddedLearnsTheDigits() {
        assertThat(TrainingLoop.run("emulated:8MB").accuracy()).isGreaterThan(0.95);
    }

    @Test
    void aCheckpointResumedOnASmallerDeviceComesToTheSameNumbers(@TempDir File folder) throws IOException {
        assertThat(ResumeElsewhere.run(folder, "emulated:16MB", "emulated:8MB")).isTrue();
    }

    @Test
    void aFrozenVgg16TrainsOnADeviceThatDoesNotHoldItsParameters(@TempDir File folder) throws IOException {
        File weights = new File(folder, "vgg16.zip");
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(said, true));
        try {
            FrozenVgg16.run(weights, 1, 1);
        } finally {
            System.setOut(before);
        }
        assertThat(said.toString()).contains("33,617,733 parameters", "A device of 120MB: plain DL4J takes ", " and does not fit, MemFerry fits as [",
                "GO_MEMFERRY", "after 1 iterations");
        assertThat(folder.list()).as("the weights, and nothing half written").containsExactly("vgg16.zip");
    }
}
