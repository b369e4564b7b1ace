package org.memferry.examples.gpucheck;

import java.util.List;

/** What only a card, or only ND4J's CUDA build on one, can show: read from sources or run on stand-ins so far. */
final class Unproven {

    private static final List<String> ND4J = List.of(
            "ND4J's CUDA arrays over memory of ours: both addresses, what counts as the latest side, that nothing moves them (written from ND4J's"
                    + " sources, compiled, their classes loaded)",
            "the stream that ND4J's operations run on, taken from its context by the thread that trains",
            "parity on a card: equal parameters give equal activations and gradients in every placement; the update equals that of DL4J on the CPU;"
                    + " the distance to plain training on the card",
            "step times and device peaks of DL4J's own operations; here products of dense layers stand in for them",
            "which of ND4J's releases runs on this card (the table that attach checks is read from the published libraries)",
            "cuDNN's layers, whose calls mark weights that they only read as written");

    private Unproven() {
    }

    /** Of a run without ND4J's CUDA build. */
    static void withoutNd4j(Report report) {
        ND4J.forEach(report::unproven);
    }
}
