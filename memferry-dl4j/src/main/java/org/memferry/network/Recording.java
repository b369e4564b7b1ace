package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.device.TimelineListener;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Timeline;
import org.memferry.shadow.ShadowModel;

import java.util.List;

/** Records iterations of an attachment as timelines, where somebody has asked for them; costs nothing otherwise. */
final class Recording {

    private final Device device;
    private final ShadowModel shadow;
    /** What is recorded; null if nobody has asked yet. */
    private volatile TimelineRecorder recorder;
    private volatile boolean on;

    Recording(Device device, ShadowModel shadow) {
        this.device = device;
        this.shadow = shadow;
    }

    /** Records the next iterations; forgets what was recorded before. */
    void start(int iterations, NetworkDescription network) {
        recorder = new TimelineRecorder(iterations, network);
        watch(recorder);
    }

    private void watch(TimelineListener listener) {
        on = listener != TimelineListener.NONE;
        device.watchCopies(listener);
        if (shadow.engine() != null) {
            shadow.engine().watchVisits(listener);
        }
    }

    /** There is another engine. */
    void engineStarted() {
        shadow.engine().watchVisits(on ? recorder : TimelineListener.NONE);
    }

    /** An iteration opens. */
    void opened() {
        if (on && recorder.opens(System.nanoTime())) {
            watch(TimelineListener.NONE);
        }
    }

    /** An iteration is closed. */
    void closed() {
        if (on) {
            recorder.closes(System.nanoTime());
        }
    }

    /** A step was taken, on any thread. */
    void updated(int unit, long start, long end) {
        TimelineRecorder told = recorder;
        if (on && told != null) {
            told.updated(unit, start, end);
        }
    }

    /** The iterations that were recorded and are complete; empty if nobody asked. */
    List<Timeline> timelines() {
        return recorder == null ? List.of() : recorder.timelines();
    }
}
