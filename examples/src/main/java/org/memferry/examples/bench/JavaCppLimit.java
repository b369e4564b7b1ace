package org.memferry.examples.bench;

/**
 * JavaCPP's limit on what a process takes. It counts host regions, and an emulated device as well, though neither is JavaCPP's: by default
 * it is so low that a large network is refused an array of a few bytes.
 */
final class JavaCppLimit {

    static final String PROPERTY = "org.bytedeco.javacpp.maxphysicalbytes";

    private JavaCppLimit() {
    }

    /** Takes it away unless the user has set it; to be called before ND4J is used. */
    static void lift() {
        if (System.getProperty(PROPERTY) == null) {
            System.setProperty(PROPERTY, "0");
        }
    }
}
