package org.memferry.update;

/** Instruction sets that the native kernel is built for, from the poorest to the richest; the order is that of the native kernel. */
enum NativeLevel {

    BASELINE("baseline"), AVX2("AVX2"), AVX512("AVX-512");

    static final NativeLevel[] LEVELS = values();

    private final String text;

    NativeLevel(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
