package org.memferry.examples.gpucheck;

/** How large the things are that the check measures: for a card, or to see that the check works. */
enum Extent {

    /** For a card: copies of 256 MB, layers of up to 8192 x 8192, networks of 1 GB of parameters. */
    CARD(256L << 20, 8192, 4096, 1L << 30, 1 << 16, 30, 2.5),

    /** To see that everything works, where figures mean nothing. */
    TRIAL(1L << 20, 256, 64, 1L << 20, 8, 0.3, 0.05);

    /** Bytes of the largest copy. */
    final long copyBytes;
    /** Outputs and inputs of the largest layer. */
    final int width;
    /** Rows of the largest gather. */
    final int rows;
    /** Bytes of parameters that a recorded network is scaled to. */
    final long parameterBytes;
    /** Examples, or examples times places, that a layer of a recorded network computes on at most. */
    final int columns;
    /** How long a figure is measured for at least. */
    final double figureMillis;
    /** How long a strategy trains, at least three iterations. */
    final double strategySeconds;

    Extent(long copyBytes, int width, int rows, long parameterBytes, int columns, double figureMillis, double strategySeconds) {
        this.copyBytes = copyBytes;
        this.width = width;
        this.rows = rows;
        this.parameterBytes = parameterBytes;
        this.columns = columns;
        this.figureMillis = figureMillis;
        this.strategySeconds = strategySeconds;
    }

    /** Bytes of the largest array of activations, weights or gathered rows. */
    long largestArrayBytes() {
        return Math.max(copyBytes, (long) width * width * Float.BYTES);
    }
}
