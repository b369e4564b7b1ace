package org.memferry.report;

import org.memferry.plan.Plan;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

/** The rows of a timeline: what takes place in one of them takes place one thing after the other. */
enum Lane {

    COMPUTE("compute"),
    TO_DEVICE("to device"),
    TO_HOST("to host"),
    UPDATE("CPU update");

    private final String title;

    Lane(String title) {
        this.title = title;
    }

    String title() {
        return title;
    }

    static Lane of(Span span) {
        switch (span.kind()) {
            case TO_DEVICE:
                return TO_DEVICE;
            case TO_HOST:
                return TO_HOST;
            case UPDATE:
                return UPDATE;
            default:
                return COMPUTE;
        }
    }

    /** For example {@code copy of parameters to the device}. */
    static String what(Span span) {
        switch (span.kind()) {
            case FORWARD:
                return "forward";
            case BACKWARD:
                return "backward";
            case TO_DEVICE:
                return "copy of parameters to the device";
            case TO_HOST:
                return "copy of the gradient to the host";
            default:
                return "optimizer step";
        }
    }

    static String layerName(Plan plan, Span span) {
        return span.layer() < 0 || span.layer() >= plan.network().layers().size() ? "all layers"
                : plan.network().layers().get(span.layer()).name();
    }

    static String name(Timeline timeline) {
        return timeline.isMeasured() ? "measured" : "predicted";
    }
}
