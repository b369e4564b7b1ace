package org.memferry.engine;

import java.util.Arrays;

import org.memferry.base.RefusedException;

/**
 * The access events of a training run in the order they happened, without a number of the network itself: what was opened, which layer
 * was read, when a pass ended, which master was written. Recorded by an {@link IterationEngine}, kept as text, and replayed on an engine
 * over any device: what a network does on one device is then measured, simulated or checked on another without the network.
 *
 * <p>As text a trace is a head line, then one line per pass; tokens are separated by blanks:
 * <pre>
 * memferry-trace 1 layers 3
 * T 0 1*2 2 F 2 1 0 B G u0 u1 u2 C
 * I 0 1 2
 * </pre>
 * {@code T} training opened, {@code I} inference opened, {@code n} layer n read, {@code n*k} read k times in a row, {@code F} forward
 * ended, {@code B} backward ended, {@code G} gradients awaited, {@code C} training closed, {@code X} given up, {@code wn} the master of
 * layer n written, {@code W} any master may have been written, {@code un} the optimizer's step of layer n taken, {@code sn@k} layer n
 * restaged in slot k.
 *
 * <p>Events before the first opened pass are left out. Recording takes 8 bytes per event; an engine that is not recorded asks one field
 * per event.
 */
public final class AccessTrace {

    /** Records nothing. */
    public static final AccessTrace OFF = new AccessTrace(-1);

    private static final String HEAD = "memferry-trace 1 layers ";

    /** Kinds of events, with the letter of their token; reads have none. */
    private enum Event {
        TRAINING('T'), INFERENCE('I'), READ('\0'), FORWARD_ENDED('F'), BACKWARD_ENDED('B'), GRADIENTS_AWAITED('G'), CLOSED('C'),
        ABORTED('X'), WRITTEN('w'), ALL_WRITTEN('W'), RESTAGED('s'), STEP_TAKEN('u');

        private static final Event[] ALL = values();
        private final char letter;

        Event(char letter) {
            this.letter = letter;
        }

        private static Event of(char letter) {
            for (Event event : ALL) {
                if (event.letter == letter && event != READ) {
                    return event;
                }
            }
            return null;
        }
    }

    private final int layers;
    // Per event: kind in the low 4 bits, repetitions or slot in 28 bits, layer in the high 32 bits.
    private long[] events = new long[16];
    private int size;
    private int reads;

    /**
     * An empty trace.
     *
     * @param layers number of layers with parameters in the network
     */
    public AccessTrace(int layers) {
        this.layers = layers;
    }

    /** Number of layers with parameters in the network. */
    public int layers() {
        return layers;
    }

    /** Number of reads, repeated ones counted each. */
    public synchronized int reads() {
        return reads;
    }

    // ------------------------------------------------------------------------------------------------------------------ record

    void training() {
        add(Event.TRAINING, 0, 0);
    }

    void inference() {
        add(Event.INFERENCE, 0, 0);
    }

    /** A read repeated at once is counted in its entry, since DL4J asks for most parameters several times. */
    void read(int layer) {
        if (this != OFF) {
            addRead(layer);
        }
    }

    private synchronized void addRead(int layer) {
        long last = size == 0 ? 0 : events[size - 1];
        if (size > 0 && event(last) == Event.READ && layer(last) == layer && detail(last) < (1 << 28) - 1) {
            events[size - 1] = last + (1 << 4);
            reads++;
        } else if (add(Event.READ, layer, 1)) {
            reads++;
        }
    }

    void forwardEnded() {
        add(Event.FORWARD_ENDED, 0, 0);
    }

    void backwardEnded() {
        add(Event.BACKWARD_ENDED, 0, 0);
    }

    void gradientsAwaited() {
        add(Event.GRADIENTS_AWAITED, 0, 0);
    }

    void closed() {
        add(Event.CLOSED, 0, 0);
    }

    void aborted() {
        add(Event.ABORTED, 0, 0);
    }

    void written(int layer) {
        add(Event.WRITTEN, layer, 0);
    }

    void written() {
        add(Event.ALL_WRITTEN, 0, 0);
    }

    void stepTaken(int layer) {
        add(Event.STEP_TAKEN, layer, 0);
    }

    void restaged(int layer, int slot) {
        add(Event.RESTAGED, layer, slot);
    }

    private boolean add(Event event, int layer, int detail) {
        // Asked before the lock is taken, so that an engine that is not recorded does not pay for it.
        return this != OFF && append(event, layer, detail);
    }

    /** Masters may be written by any thread. Returns whether the event was kept. */
    private synchronized boolean append(Event event, int layer, int detail) {
        if (size == 0 && event != Event.TRAINING && event != Event.INFERENCE) {
            return false;
        }
        if (size == events.length) {
            events = Arrays.copyOf(events, Math.multiplyExact(size, 2));
        }
        events[size++] = (long) layer << 32 | (long) detail << 4 | event.ordinal();
        return true;
    }

    private static boolean isOfLayer(Event event) {
        return event == Event.READ || event == Event.WRITTEN || event == Event.RESTAGED || event == Event.STEP_TAKEN;
    }

    private static Event event(long packed) {
        return Event.ALL[(int) (packed & 15)];
    }

    private static int layer(long packed) {
        return (int) (packed >>> 32);
    }

    private static int detail(long packed) {
        return (int) (packed >>> 4) & (1 << 28) - 1;
    }

    // ------------------------------------------------------------------------------------------------------------------ replay

    /**
     * Drives an engine with the events of this trace. The engine may run another plan than the one recorded.
     *
     * @return for every read in order the slot that served it, or {@link Program#MASTER}
     * @throws RefusedException if the engine's network has another number of layers; nothing was driven
     */
    public int[] replay(IterationEngine engine) {
        return replay(engine, ReplayListener.NONE);
    }

    /**
     * As above, with somebody who adds what the trace does not hold.
     *
     * @param listener told where steps are taken and iterations end
     */
    public synchronized int[] replay(IterationEngine engine, ReplayListener listener) {
        int served = engine.program().plan().layers().size();
        if (served != layers) {
            throw new RefusedException("access trace of a network with " + layers + " layers, replayed on one with " + served
                    + " (expected: the network that was recorded, with any plan and any device)");
        }
        int[] slots = new int[reads];
        int read = 0;
        boolean stepping = false;
        for (int i = 0; i < size; i++) {
            long packed = events[i];
            if (event(packed) == Event.READ) {
                for (int k = detail(packed); k > 0; k--) {
                    slots[read] = engine.read(layer(packed));
                    listener.read(layer(packed), slots[read++]);
                }
            } else {
                stepping = announce(event(packed), stepping, listener);
                tell(engine, packed);
                if (event(packed) == Event.CLOSED) {
                    listener.closed();
                }
            }
        }
        return slots;
    }

    /** Returns whether the steps of the iteration have begun. */
    private static boolean announce(Event event, boolean stepping, ReplayListener listener) {
        if (event == Event.TRAINING || event == Event.INFERENCE || event == Event.ABORTED) {
            listener.passBegins();
            return false;
        }
        boolean steps = event == Event.STEP_TAKEN || event == Event.CLOSED;
        if (steps && !stepping) {
            listener.stepsBegin();
        }
        return steps || stepping;
    }

    private static void tell(IterationEngine engine, long packed) {
        switch (event(packed)) {
            case TRAINING:
                engine.openTraining();
                break;
            case INFERENCE:
                engine.openInference();
                break;
            case FORWARD_ENDED:
                engine.forwardEnded();
                break;
            case BACKWARD_ENDED:
                engine.backwardEnded();
                break;
            case GRADIENTS_AWAITED:
                engine.awaitGradients();
                break;
            case CLOSED:
                engine.closeTraining();
                break;
            case ABORTED:
                engine.abort();
                break;
            case WRITTEN:
                engine.masterWritten(layer(packed));
                break;
            case STEP_TAKEN:
                engine.stepTaken(layer(packed));
                break;
            case ALL_WRITTEN:
                engine.masterWritten();
                break;
            case RESTAGED:
                restage(engine, layer(packed), detail(packed));
                break;
            default:
                throw new IllegalStateException("event " + event(packed));
        }
    }

    /** Under another plan the layer may have another slot, or none. */
    private static void restage(IterationEngine engine, int layer, int slot) {
        int[] slots = engine.program().slotsOf(layer);
        boolean same = Arrays.stream(slots).anyMatch(s -> s == slot);
        if (slots.length > 0) {
            engine.restage(layer, same ? slot : slots[0]);
        }
    }

    // -------------------------------------------------------------------------------------------------------------------- text

    /** The trace as text; see the class comment. */
    @Override
    public synchronized String toString() {
        StringBuilder text = new StringBuilder(HEAD).append(layers);
        for (int i = 0; i < size; i++) {
            long packed = events[i];
            Event event = event(packed);
            text.append(event == Event.TRAINING || event == Event.INFERENCE ? '\n' : ' ');
            if (event != Event.READ) {
                text.append(event.letter);
            }
            if (isOfLayer(event)) {
                text.append(layer(packed));
            }
            if (event == Event.RESTAGED) {
                text.append('@').append(detail(packed));
            } else if (detail(packed) > 1) {
                text.append('*').append(detail(packed));
            }
        }
        return text.append('\n').toString();
    }

    /**
     * Reads a trace from its text.
     *
     * @throws RefusedException if the text is no trace; names the token and its place
     */
    public static AccessTrace parse(String text) {
        String[] lines = text.split("\\R");
        if (!lines[0].startsWith(HEAD)) {
            throw refused(1, lines[0], "a first line such as '" + HEAD + "3'");
        }
        AccessTrace trace = new AccessTrace(number(lines[0].substring(HEAD.length()).trim(), Integer.MAX_VALUE, 1, lines[0]));
        for (int line = 1; line < lines.length; line++) {
            for (String token : lines[line].trim().split("\\s+")) {
                if (!token.isEmpty()) {
                    trace.addToken(token, line + 1);
                }
            }
        }
        return trace;
    }

    private void addToken(String token, int line) {
        Event event = Character.isDigit(token.charAt(0)) ? Event.READ : Event.of(token.charAt(0));
        boolean ofLayer = isOfLayer(event);
        if (event == null || !ofLayer && token.length() > 1) {
            throw refused(line, token, "a layer, or one of T I F B G C X W w<layer> u<layer> s<layer>@<slot>");
        }
        if (size == 0 && event != Event.TRAINING && event != Event.INFERENCE) {
            throw refused(line, token, "T or I before any other event");
        }
        String rest = ofLayer ? token.substring(event == Event.READ ? 0 : 1) : "";
        int cut = Math.max(rest.indexOf('*'), rest.indexOf('@'));
        boolean cutFits = event == Event.RESTAGED ? rest.indexOf('@') > 0 : cut < 0 || event == Event.READ && rest.charAt(cut) == '*';
        if (!cutFits) {
            throw refused(line, token, "n, n*k, w<n> or s<n>@<k>");
        }
        int layer = ofLayer ? number(cut < 0 ? rest : rest.substring(0, cut), layers, line, token) : 0;
        int detail = cut < 0 ? event == Event.READ ? 1 : 0 : number(rest.substring(cut + 1), 1 << 28, line, token);
        if (add(event, layer, detail) && event == Event.READ) {
            reads = Math.addExact(reads, detail);
        }
    }

    private static int number(String text, int end, int line, String token) {
        try {
            int value = Integer.parseInt(text);
            if (value >= 0 && value < end) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Refused below like a number out of range.
        }
        throw refused(line, token, "a whole number from 0 to " + (end - 1));
    }

    private static RefusedException refused(int line, String found, String expected) {
        return new RefusedException("access trace, line " + line + ": '" + found + "' (expected: " + expected + ")");
    }
}
