package org.memferry.examples;

import java.io.PrintWriter;
import java.io.StringWriter;

/** One run of the command line, for tests of commands in other packages. */
public final class MainRun {

    private final int code;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private MainRun(String... args) {
        code = Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    /** Runs a command. */
    public static MainRun of(String... args) {
        return new MainRun(args);
    }

    /** The exit code. */
    public int code() {
        return code;
    }

    /** What went to stdout. */
    public String out() {
        return out.toString();
    }

    /** What went to stderr. */
    public String err() {
        return err.toString();
    }
}
