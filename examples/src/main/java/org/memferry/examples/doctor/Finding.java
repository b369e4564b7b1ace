package org.memferry.examples.doctor;

/** One row of what the doctor says: a thing, what was found, and the way out where something is to be done. Immutable. */
final class Finding {

    /** What a finding means for training. */
    enum Verdict {
        /** Nothing to do. */
        OK,
        /** Training works; something could be better, or is good to know. */
        NOTE,
        /** Training does not work before this is mended. */
        FIX
    }

    private final Verdict verdict;
    private final String thing;
    private final String found;
    private final String wayOut;

    private Finding(Verdict verdict, String thing, String found, String wayOut) {
        this.verdict = verdict;
        this.thing = thing;
        this.found = found.replaceAll("\\s*\\R\\s*", " ");
        this.wayOut = wayOut;
    }

    static Finding ok(String thing, String found) {
        return new Finding(Verdict.OK, thing, found, "");
    }

    /** @param wayOut one sentence */
    static Finding note(String thing, String found, String wayOut) {
        return new Finding(Verdict.NOTE, thing, found, wayOut);
    }

    /** @param wayOut one sentence */
    static Finding fix(String thing, String found, String wayOut) {
        return new Finding(Verdict.FIX, thing, found, wayOut);
    }

    Verdict verdict() {
        return verdict;
    }

    String thing() {
        return thing;
    }

    String found() {
        return found;
    }

    String wayOut() {
        return wayOut;
    }

    /** For a failing assertion. */
    @Override
    public String toString() {
        return verdict + " " + thing + ": " + found + (wayOut.isEmpty() ? "" : " -> " + wayOut);
    }
}
