package org.memferry.nd4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The threads of this program that train attached networks, and what is fetched for them by threads that none of them started.
 *
 * <p>Asks nobody else for a lock, so that it may be asked under theirs.
 */
final class TrainingThreads {

    private static final Map<ThreadWorkspaces, DeviceUse> DEVICES = new WeakHashMap<>();
    private static final Map<ThreadWorkspaces, LayerScopes> LISTENERS = new WeakHashMap<>();
    /** The one device that is trained on; null if there is none, or there are several. */
    private static DeviceUse only;
    private static long elsewhere;

    private TrainingThreads() {
    }

    /** A thread trains on a device from now on; null for none. */
    static synchronized void trains(ThreadWorkspaces thread, DeviceUse device) {
        if (device == null) {
            DEVICES.remove(thread);
        } else {
            DEVICES.put(thread, device);
        }
        only = DEVICES.values().stream().distinct().count() == 1 ? DEVICES.values().iterator().next() : null;
    }

    /** Somebody is told of a thread's layers from now on. */
    static synchronized void listens(ThreadWorkspaces thread, LayerScopes listener) {
        if (listener == LayerScopes.NONE) {
            LISTENERS.remove(thread);
        } else {
            LISTENERS.put(thread, listener);
        }
    }

    /** The threads whose layers somebody is told of. */
    static synchronized List<ThreadWorkspaces> of(LayerScopes listener) {
        List<ThreadWorkspaces> threads = new ArrayList<>();
        LISTENERS.forEach((thread, present) -> {
            if (present == listener) {
                threads.add(thread);
            }
        });
        return threads;
    }

    /** Blocks of data sets were taken (bytes above 0) or given back, for nobody who trains. */
    static synchronized void prefetchedElsewhere(long bytes) {
        elsewhere += bytes;
    }

    /** Of these, what a device counts: all if nothing is trained on another one, else none. */
    static synchronized long prefetchedFor(DeviceUse device) {
        return device == only ? elsewhere : 0;
    }
}
