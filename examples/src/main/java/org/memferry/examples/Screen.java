package org.memferry.examples;

import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What a user sees: result lines on stdout, and on a terminal one status line on stderr that is overwritten in place, as soon as nothing
 * was printed for two seconds. Where stderr is a file or a pipe, the status line is left out.
 */
public final class Screen {

    private static final long QUIET_NANOS = 2_000_000_000L;
    private static final long REFRESH_MILLIS = 200;

    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean terminal;
    private final boolean resultLines;
    private final List<ResultLine> results = new ArrayList<>();
    private long since = System.nanoTime();
    private String status;
    private Thread clock;
    private int shown;

    /**
     * @param out      for results
     * @param err      for the status line
     * @param terminal whether somebody watches {@code err}
     */
    public Screen(PrintWriter out, PrintWriter err, boolean terminal) {
        this(out, err, terminal, true);
    }

    private Screen(PrintWriter out, PrintWriter err, boolean terminal, boolean resultLines) {
        this.out = out;
        this.err = err;
        this.terminal = terminal;
        this.resultLines = resultLines;
    }

    /**
     * A screen for this program's own stdout and stderr.
     *
     * @param resultLines whether results are printed as lines, and not only kept
     */
    static Screen of(PrintWriter out, PrintWriter err, boolean resultLines) {
        return new Screen(out, err, stderrIsTerminal(), resultLines);
    }

    /** Prints a line. */
    public synchronized void line(String format, Object... arguments) {
        clear();
        out.println(arguments.length == 0 ? format : String.format(Locale.ROOT, format, arguments));
        since = System.nanoTime();
    }

    /** Keeps a result, and prints its line. */
    public synchronized void result(ResultLine result) {
        results.add(result);
        if (resultLines) {
            line("%s", result);
        }
    }

    synchronized List<ResultLine> results() {
        return List.copyOf(results);
    }

    /** Says where the work is: shown with the seconds that have passed, until the next status. */
    public synchronized void status(String text) {
        status = text;
        if (terminal && clock == null) {
            clock = new Thread(this::tick, "memferry-status");
            clock.setDaemon(true);
            clock.start();
        }
    }

    /** Ends the status line. */
    synchronized void end() {
        status = null;
        clear();
    }

    private void tick() {
        while (show()) {
            try {
                Thread.sleep(REFRESH_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private synchronized boolean show() {
        if (status == null) {
            clock = null;
            return false;
        }
        long quiet = System.nanoTime() - since;
        if (quiet >= QUIET_NANOS) {
            String text = status + ", " + quiet / 1_000_000_000 + " s";
            err.print("\r" + text + " ".repeat(Math.max(0, shown - text.length())));
            err.flush();
            shown = text.length();
        }
        return true;
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
