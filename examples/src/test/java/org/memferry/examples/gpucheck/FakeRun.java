package org.memferry.examples.gpucheck;

import java.lang.reflect.InvocationTargetException;

import picocli.CommandLine;

/**
 * Runs the check on the library's CUDA runtime for tests, which only a process of its own should load, and says what that runtime found wrong
 * and what is still held. That runtime's class is among the tests of the library, not of the examples.
 */
final class FakeRun {

    private static final String RUNTIME = "org.memferry.device.cuda.FakeCuda";

    private FakeRun() {
    }

    /** Arguments: those of the check. */
    public static void main(String[] arguments) {
        call("start");
        int code = new CommandLine(new GpuCheckCommand()).execute(arguments);
        System.out.println("WRONG " + String.valueOf(call("takeReports")).replace("\n", "; "));
        System.out.println("HELD " + call("bytesHeld") + " bytes, " + call("handlesHeld") + " streams and events");
        System.exit(code);
    }

    static Object call(String method) {
        try {
            return Class.forName(RUNTIME).getMethod(method).invoke(null);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(method + " failed", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
