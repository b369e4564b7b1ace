package org.memferry.examples.bench;

import org.junit.jupiter.api.Test;

import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ChildProcessTest {

    /** Says what it sees, among other things. */
    static final class Child {

        public static void main(String[] arguments) {
            System.out.println("loading");
            System.out.println("RESULT name=" + arguments[0] + " threads=" + System.getenv("OMP_NUM_THREADS"));
            System.exit(arguments[0].equals("broken") ? 3 : 0);
        }
    }

    @Test
    void resultLinesComeBackFromAProcessWithOneOpenMpThread() {
        assertThat(ChildProcess.run(Child.class, "whole")).containsExactly(Map.of("name", "whole", "threads", "1"));
    }

    @Test
    void aProcessThatFailsIsNoResult() {
        assertThatThrownBy(() -> ChildProcess.run(Child.class, "broken")).hasMessageContaining("Child broken ended with exit code 3");
    }
}
