package org.memferry.network;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Evaluations that the plan does not leave room for: those that wait for the next iteration to make it, and those that were let go on
 * without. Used by any thread; what is asked at every read allocates nothing.
 */
final class UnplannedEvaluations {

    private final NetworkAdapter adapter;
    private final CopyOnWriteArrayList<DataShape> letGo = new CopyOnWriteArrayList<>();
    /** Guarded by this. */
    private final List<DataShape> waiting = new ArrayList<>();
    private volatile boolean isWaiting;

    UnplannedEvaluations(NetworkAdapter adapter) {
        this.adapter = adapter;
    }

    /** True if an evaluation at least as large as that of the data that the network was given last was let go on. */
    boolean wasLetGo() {
        for (int i = 0; i < letGo.size(); i++) {
            if (letGo.get(i).covers(adapter)) {
                return true;
            }
        }
        return false;
    }

    /** There is no room for it, and it goes on all the same. */
    void letGo(DataShape data) {
        letGo.add(data);
    }

    /** The next iteration shall make room for the like of it. */
    synchronized void add(DataShape data) {
        if (waiting.stream().noneMatch(other -> other.covers(data))) {
            waiting.removeIf(data::covers);
            waiting.add(data);
            isWaiting = true;
        }
    }

    /** True if some wait. */
    boolean areWaiting() {
        return isWaiting;
    }

    /** Those that wait, which do so no more. */
    synchronized List<DataShape> take() {
        List<DataShape> all = List.copyOf(waiting);
        waiting.clear();
        isWaiting = false;
        return all;
    }
}
