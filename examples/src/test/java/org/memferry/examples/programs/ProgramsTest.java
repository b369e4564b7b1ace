package org.memferry.examples.programs;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;

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
}
