package org.memferry.engine;

import java.util.List;

/** The visits of one training iteration or one inference pass, in order, and the copies that they need, in order of need. */
final class Pass {

    final Visit[] visits;
    final Copy[] copies;
    /** Index of the first backward visit; the number of visits if there is none. */
    final int firstBackward;

    Pass(List<Visit> visits, List<Copy> copies) {
        this.visits = visits.toArray(new Visit[0]);
        this.copies = copies.toArray(new Copy[0]);
        int first = 0;
        while (first < this.visits.length && !this.visits[first].backward) {
            first++;
        }
        this.firstBackward = first;
    }

    /** Index of the next visit of a layer at or behind a position and before an end, or -1. */
    int next(int layer, int from, int to) {
        for (int i = from; i < to; i++) {
            if (visits[i].layer == layer) {
                return i;
            }
        }
        return -1;
    }
}
