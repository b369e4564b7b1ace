package org.memferry.planner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Proposes the sizes of slots that layers use in turn. A slot is used again as soon as what it held is no longer needed, so the bytes of a
 * ring bound what is outstanding at a time, not the sum over the layers. More slots let the computation run ahead of the link; large ones
 * cost where only few layers need them, so rings of one or two large slots and more small ones stand beside those of equal slots.
 */
final class SlotRing {

    private static final int[] COUNTS = {2, 3, 1, 4, 6, 8, 12, 16, 24, 32, 48, 64};

    private SlotRing() {
    }

    /**
     * Rings that hold every layer, those of few slots first.
     *
     * @param needed     sizes of the layers, largest first
     * @param limitBytes what a ring may take
     * @param least      fewest slots of a ring, unless there are fewer layers
     * @return none if not even the smallest ring fits; the empty ring if no layer needs one
     */
    static List<long[]> proposals(long[] needed, long limitBytes, int least) {
        List<long[]> rings = new ArrayList<>();
        if (needed.length == 0) {
            rings.add(new long[0]);
            return rings;
        }
        for (int count : COUNTS) {
            if (count >= Math.min(least, needed.length)) {
                add(rings, Arrays.copyOf(needed, Math.min(count, needed.length)), limitBytes);
                add(rings, mixed(needed, 1, count, 0.5), limitBytes);
                add(rings, mixed(needed, 2, count, 0.5), limitBytes);
                add(rings, mixed(needed, 1, count, 0.1), limitBytes);
            }
        }
        add(rings, smallest(needed, least), limitBytes);
        add(rings, needed, limitBytes);
        return rings;
    }

    /** The ring that takes least: one slot for the largest layer, the others for the smallest one. */
    static long[] smallest(long[] needed, int least) {
        long[] ring = new long[Math.min(Math.max(1, least), needed.length)];
        for (int i = 0; i < ring.length; i++) {
            ring[i] = i == 0 ? needed[0] : needed[needed.length - 1];
        }
        return ring;
    }

    /** The largest layers' slots, then slots for the layer that a share of all are larger than. */
    private static long[] mixed(long[] needed, int large, int count, double share) {
        long[] ring = Arrays.copyOf(needed, Math.min(count, needed.length));
        long usual = needed[(int) (share * (needed.length - 1))];
        for (int i = large; i < ring.length; i++) {
            ring[i] = Math.min(ring[i], usual);
        }
        return ring;
    }

    private static void add(List<long[]> rings, long[] ring, long limitBytes) {
        if (Draft.sum(ring) <= limitBytes && rings.stream().noneMatch(r -> Arrays.equals(r, ring))) {
            rings.add(ring);
        }
    }
}
