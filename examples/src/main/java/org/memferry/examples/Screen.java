package org.memferry.examples;

import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * What a user sees: result lines on stdout, and on a terminal one status line on stderr that is overwritten in place. Where stderr is
 * a file or a pipe, the status line is left out.
 */
public final class Screen {

    private static final long QUIET_NANOS = 2_000_000_000L;
    private static final long REFRESH_NANOS = 200_000_000L;

    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean terminal;
    private long since = System.nanoTime();
    private long shownAt;
    private int shown;

    /**
     * @param out      for results
     * @param err      for the status line
     * @param terminal whether somebody watches {@code err}
     */
    public Screen(PrintWriter out, PrintWriter err, boolean terminal) {
        this.out = out;
        this.err = err;
        this.terminal = terminal;
    }

    /** A screen for this program's own stdout and stderr. */
    public static Screen of(PrintWriter out, PrintWriter err) {
        return new Screen(out, err, stderrIsTerminal());
    }

    /** Prints a result line. */
    public void line(String format, Object... arguments) {
        clear();
        out.println(arguments.length == 0 ? format : String.format(Locale.ROOT, format, arguments));
        since = System.nanoTime();
    }

    /** Shows where the work is, once nothing was printed for two seconds, and five times a second at most. */
    public void status(String text) {
        long now = System.nanoTime();
        if (!terminal || now - since < QUIET_NANOS || now - shownAt < REFRESH_NANOS) {
            return;
        }
        err.print("\r" + text + " ".repeat(Math.max(0, shown - text.length())));
        err.flush();
        shown = text.length();
        shownAt = now;
    }

    private void clear() {
        if (shown > 0) {
            err.print("\r" + " ".repeat(shown) + "\r");
            err.flush();
            shown = 0;
        }
    }

    private static boolean stderrIsTerminal() {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
        } catch (IOException | RuntimeException e) {
            // Not Linux: Java itself only tells whether stdin and stdout are a terminal, which mostly go together with stderr.
            return consoleIsTerminal(System.console());
        }
    }

    /** Since Java 22 there is a console without a terminal too; it says so by a method that Java 11 does not have. */
    private static boolean consoleIsTerminal(Console console) {
        try {
            return console != null && (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }
}
