package org.memferry.examples;

import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;

import static org.assertj.core.api.Assertions.assertThat;

class ScreenTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private Screen screen(boolean terminal) {
        return new Screen(new PrintWriter(out), new PrintWriter(err), terminal);
    }

    @Test
    void withoutATerminalThereIsNoStatusLine() throws InterruptedException {
        Screen screen = screen(false);
        screen.status("half done");
        Thread.sleep(2500);
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void onATerminalTheStatusLineComesAfterTwoSecondsByItselfAndGoesWithTheNextResult() throws InterruptedException {
        Screen screen = screen(true);
        screen.status("half done");
        assertThat(err.toString()).isEmpty();
        for (int i = 0; i < 100 && err.toString().isEmpty(); i++) {
            Thread.sleep(100);
        }
        assertThat(err.toString()).startsWith("\rhalf done, 2 s");
        screen.line("done: 100%");
        screen.end();
        assertThat(err.toString()).matches("(?s)(\\rhalf done, \\d+ s *)+\\r +\\r");
        assertThat(out.toString()).isEqualTo("done: 100%" + System.lineSeparator());
    }
}
