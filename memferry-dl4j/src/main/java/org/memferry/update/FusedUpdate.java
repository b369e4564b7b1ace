package org.memferry.update;

import java.util.List;
import java.util.Objects;

/**
 * The update of one of DL4J's updater blocks: parameters in a row with equal updater configuration, their gradients laid out alike,
 * and the block's state, component after component ({@code [m of block | v of block]}).
 *
 * <p>Equal, bit for bit, to DL4J's own sequence on the loaded ND4J build: divide by the minibatch; scale or clip; l1 and l2; the
 * rule; weight decay; subtract from the parameters. Ranges may be updated one by one, in any order, as their gradients arrive.
 * The numbers of an iteration are arguments; the only state is the caller's memory.
 */
public final class FusedUpdate {

    /** Bytes of one array that a thread takes at a time. */
    private static final int PIECE_BYTES = 1 << 18;

    private final UpdateEngine engine;
    private final ElementType type;
    private final List<UpdateRange> ranges;
    /** Where each range begins, in elements from the block's first parameter; one more entry for the end. */
    private final long[] starts;
    private final UpdatePass[] passes;
    private final UpdateWorkers.Job job = this::runPiece;

    // The call that is running.
    private UpdateRequest request;
    private int[] firstPiece;
    private int firstRange;
    private volatile int odd;

    /**
     * A block.
     *
     * @param engine who computes
     * @param type   type of parameters, gradients and state
     * @param ranges the block's parameters in DL4J's order, at least one
     * @throws ArithmeticException if sizes in bytes do not fit a {@code long}
     */
    public FusedUpdate(UpdateEngine engine, ElementType type, List<UpdateRange> ranges) {
        if (ranges.isEmpty()) {
            throw new IllegalArgumentException("ranges: none (expected: >= 1)");
        }
        this.engine = Objects.requireNonNull(engine, "engine");
        this.type = Objects.requireNonNull(type, "type");
        this.ranges = List.copyOf(ranges);
        starts = new long[ranges.size() + 1];
        passes = new UpdatePass[ranges.size()];
        for (int i = 0; i < passes.length; i++) {
            starts[i + 1] = Math.addExact(starts[i], ranges.get(i).length());
            passes[i] = new UpdatePass();
        }
        // The largest offset of any array: the end of a third state component.
        Math.multiplyExact(Math.multiplyExact(length(), 3L), type.bytes());
        firstPiece = new int[passes.length + 1];
    }

    /** Parameters of the block. */
    public long length() {
        return starts[starts.length - 1];
    }

    /** Whether this block gets stock DL4J's numbers exactly: false on a build of ND4J whose rounding is not known. */
    public static boolean isExact(UpdateRule rule, ElementType type) {
        return StockRounding.ofRule(rule, type) != StockRounding.Contraction.UNKNOWN
                && StockRounding.ofRegularisation(type) != StockRounding.Contraction.UNKNOWN;
    }

    /** Updates the whole block; see {@link #run(UpdateRequest, int, int)}. */
    public int run(UpdateRequest request) {
        return run(request, 0, ranges.size());
    }

    /**
     * Updates some of the block's parameters and returns when that is done.
     *
     * @param request    the iteration's numbers, and where block and state lie
     * @param fromRange  first range
     * @param toRange    range after the last
     * @return the first range with a gradient, as it came, or an updated parameter that is not a finite number; -1 if there is none.
     *         Found out as the pass goes: it costs no memory traffic
     * @throws IndexOutOfBoundsException if there are no such ranges
     */
    public synchronized int run(UpdateRequest request, int fromRange, int toRange) {
        Objects.checkFromToIndex(fromRange, toRange, ranges.size());
        if (request.step().type() != type) {
            throw new IllegalArgumentException("rule step for " + request.step().type() + " (expected: " + type + ")");
        }
        this.request = request;
        firstRange = fromRange;
        odd = toRange;
        int pieces = 0;
        for (int i = fromRange; i < toRange; i++) {
            fill(passes[i], ranges.get(i), request.scaling(i));
            firstPiece[i - fromRange] = pieces;
            pieces = Math.toIntExact(Math.addExact(pieces, (ranges.get(i).length() - 1) / pieceLength() + 1));
        }
        firstPiece[toRange - fromRange] = pieces;
        try {
            engine.workers().run(job, pieces);
        } finally {
            this.request = null;
        }
        return odd < toRange ? odd : -1;
    }

    private void fill(UpdatePass pass, UpdateRange range, GradientScaling scaling) {
        RuleStep step = request.step();
        if (range.trained()) {
            pass.begin(step);
            range.addTerms(pass, step);
            pass.fuse(isFused(StockRounding.ofRule(step.rule(), type)), isFused(StockRounding.ofRegularisation(type)));
        } else {
            pass.begin(type);
        }
        if (request.minibatch() > 0 && range.dividedByMinibatch()) {
            pass.divide(request.minibatch());
        }
        pass.scale(scaling);
        if (request.writesUpdate()) {
            pass.writeUpdate();
        }
    }

    private static boolean isFused(StockRounding.Contraction contraction) {
        return contraction != StockRounding.Contraction.PLAIN;
    }

    private int pieceLength() {
        return PIECE_BYTES / type.bytes();
    }

    private void runPiece(int piece) {
        int r = 0;
        while (firstPiece[r + 1] <= piece) {
            r++;
        }
        long from = (long) (piece - firstPiece[r]) * pieceLength();
        int range = firstRange + r;
        long to = Math.min(from + pieceLength(), ranges.get(range).length());
        UpdateRequest at = request;
        long offset = byteOffset(0, starts[range]);
        boolean finite = engine.kernel().update(passes[range], at.parameters() + offset, at.gradients() + offset, at.state() + offset,
                at.state() + byteOffset(1, starts[range]), at.state() + byteOffset(2, starts[range]), from, to);
        if (!finite) {
            oddAt(range);
        }
    }

    private void oddAt(int range) {
        synchronized (passes) {
            odd = Math.min(odd, range);
        }
    }

    /**
     * Bytes from the block's first state element to a parameter's element of a component.
     *
     * @param component 0, 1 or 2
     * @param element   parameter, counted from the block's first
     */
    long byteOffset(int component, long element) {
        return Math.multiplyExact(Math.addExact(Math.multiplyExact(length(), component), element), type.bytes());
    }
}
