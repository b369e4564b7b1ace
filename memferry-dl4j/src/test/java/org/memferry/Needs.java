package org.memferry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** What a test needs of the machine: without it the test is skipped with the reason, or fails under {@code -Dmemferry.requireAll=true}. */
public final class Needs {

    private Needs() {
    }

    /**
     * Skips the calling test, or fails it where everything is required.
     *
     * @param there  whether the machine has it
     * @param reason what is missing
     */
    public static void that(boolean there, String reason) {
        if (Boolean.getBoolean("memferry.requireAll")) {
            assertThat(there).as(reason).isTrue();
        }
        assumeTrue(there, reason);
    }
}
