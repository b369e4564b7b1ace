package org.memferry.network;

import java.util.Arrays;

/**
 * Tells whether an iteration's data is of the size that times are measured on, which is what was usual when measuring began, and notices
 * when another size has become usual. The lengths of texts differ from batch to batch: only iterations in a row that are all larger, or all
 * smaller, say that the data has changed, and each time it is measured anew for that, it takes twice as many of them to say so again. So
 * measuring becomes rare, whatever the data does. Nothing is allocated after the first iteration.
 */
final class SizeDrift {

    /** Of so many iterations the one in the middle is usual; an odd number. */
    private static final int RECENT = 15;
    /** As few of them will do. */
    private static final int ENOUGH = 5;
    /** One larger iteration in so many changes neither the median of times nor the shortest. */
    private static final int HARMLESS = 4;
    private static final int MOST_PATIENCE = 1 << 20;

    private final double factor;
    private int patience;
    /** What all sizes are multiples of: the first that was seen. */
    private DataShape unit;
    private final double[] recent = new double[RECENT];
    private final double[] sorted = new double[RECENT];
    private long seen;
    /** The size that times are measured on; 0 while too few were seen. */
    private double usual;
    private double times = 1;
    private boolean settled;
    /** Iterations in a row that were larger; below 0 if they were smaller. */
    private int apart;
    /** Iterations in a row that were of the usual size, before the one opened last. */
    private int alike;

    /**
     * @param factor   by how much an iteration may differ, either way
     * @param patience iterations in a row that must differ, at first
     */
    SizeDrift(double factor, int patience) {
        this.factor = factor;
        this.patience = patience;
    }

    /** Times are measured from now on. */
    void begin() {
        usual = seen < ENOUGH ? 0 : middle();
        apart = 0;
        alike = 0;
    }

    private double middle() {
        int count = (int) Math.min(seen, RECENT);
        System.arraycopy(recent, 0, sorted, 0, count);
        Arrays.sort(sorted, 0, count);
        return sorted[count / 2];
    }

    /** An iteration opens on the data that the network was given last. */
    void opened(NetworkAdapter adapter) {
        if (unit == null) {
            unit = DataShape.present(adapter, null, 0);
        }
        opened(unit.timesIn(adapter));
    }

    /** An iteration opens on data of some size. */
    void opened(double size) {
        alike = isAlike() ? alike + 1 : 0;
        recent[(int) (seen++ % RECENT)] = size;
        settled = usual == 0 && seen >= ENOUGH;
        usual = settled ? middle() : usual;
        times = usual == 0 ? 1 : size / usual;
        apart = times > factor ? Math.max(0, apart) + 1 : times < 1 / factor ? Math.min(0, apart) - 1 : 0;
    }

    /** Whether the iteration opened last is the one that shows what is usual. */
    boolean hasSettled() {
        return settled;
    }

    /** Whether the iteration opened last is of the usual size. */
    boolean isAlike() {
        return times <= factor && times >= 1 / factor;
    }

    /** Whether times of the iteration opened last can be taken together with the others. */
    boolean canBeMeasured() {
        return isAlike() || times > factor && alike >= HARMLESS - 1;
    }

    /** True if the iteration opened last is larger than usual. */
    boolean isOutgrown() {
        return times > factor;
    }

    /** How many times as large as usual the iteration opened last is. */
    double times() {
        return times;
    }

    /** Whether another size has become usual. Says so once: measuring must {@link #begin}. */
    boolean hasMoved() {
        if (Math.abs(apart) < patience) {
            return false;
        }
        patience = Math.min(MOST_PATIENCE, 2 * patience);
        return true;
    }
}
