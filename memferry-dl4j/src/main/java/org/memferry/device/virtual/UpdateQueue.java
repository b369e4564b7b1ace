package org.memferry.device.virtual;

import java.util.ArrayDeque;
import java.util.function.IntConsumer;

import org.memferry.device.TimelineListener;

/**
 * The worker of a {@link VirtualDevice} that takes optimizer steps beside the computation: one after the other in the order given, each
 * from when its gradient has arrived.
 */
final class UpdateQueue {

    private final TimelineListener listener;
    private final ArrayDeque<Step> waiting = new ArrayDeque<>();
    private Step running;
    private long startNanos;

    UpdateQueue(TimelineListener listener) {
        this.listener = listener;
    }

    void add(int layer, long nanos, VirtualTicket arrived, IntConsumer ended) {
        waiting.add(new Step(layer, nanos, arrived.lane(), arrived.copy(), ended));
    }

    boolean isIdle() {
        return running == null && waiting.isEmpty();
    }

    boolean isRunning() {
        return running != null;
    }

    /** When the running step ends; {@link CopyLane#NEVER} if none runs. */
    long nextChange() {
        return running == null ? CopyLane.NEVER : startNanos + running.nanos;
    }

    /** Begins the first step that waits, if the worker is free and the step's gradient is there. */
    void settle(long now) {
        if (running == null && !waiting.isEmpty() && waiting.peek().hasArrived()) {
            running = waiting.poll();
            startNanos = now;
        }
    }

    /** Ends every step that is over by now, in order, and tells whoever asked for it. */
    void finish(long now) {
        settle(now);
        while (running != null && startNanos + running.nanos <= now) {
            Step step = running;
            running = null;
            listener.updated(step.layer, startNanos, now);
            step.ended.accept(step.layer);
            settle(now);
        }
    }

    private static final class Step {

        private final int layer;
        private final long nanos;
        private final CopyLane lane;
        private final long copy;
        private final IntConsumer ended;

        private Step(int layer, long nanos, CopyLane lane, long copy, IntConsumer ended) {
            this.layer = layer;
            this.nanos = nanos;
            this.lane = lane;
            this.copy = copy;
            this.ended = ended;
        }

        private boolean hasArrived() {
            return lane == null || lane.isDone(copy);
        }
    }
}
