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
        Thread.sleep(2100);
        screen.status("half done");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void onATerminalTheStatusLineComesAfterTwoSecondsAndGoesWithTheNextResult() throws InterruptedException {
        Screen screen = screen(true);
        screen.status("too early");
        assertThat(err.toString()).isEmpty();
        Thread.sleep(2100);
        screen.status("half done");
        screen.status("too soon after that");
        assertThat(err.toString()).isEqualTo("\rhalf done");
        screen.line("done: 100%");
        assertThat(err.toString()).isEqualTo("\rhalf done\r         \r");
        assertThat(out.toString()).isEqualTo("done: 100%" + System.lineSeparator());
    }
}
