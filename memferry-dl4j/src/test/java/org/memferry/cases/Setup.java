package org.memferry.cases;

import org.memferry.MemFerryConfig;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;

/** Where the layers of a case test are served from. Slots are poisoned after use and every copy is late by a random time. */
enum Setup {

    /** In place: no device memory. */
    HOST,
    /** All parameters stay on the device, all gradients come through slots. */
    RESIDENT,
    /** All parameters and gradients come through slots. */
    PREFETCH,
    /** The first layer stays on the device, the rest comes through slots; the last layer's gradient is written in place. */
    MIXED;

    private static final String EMULATED = "emulated:64MB,poison,delay=7/150";

    /** The device, open. */
    Device open() {
        return Devices.open(this == HOST ? "host" : EMULATED);
    }

    /** On a device that is opened and closed with the ferry. */
    MemFerryConfig config() {
        return place(MemFerryConfig.builder().device(this == HOST ? "host" : EMULATED), "0", "3");
    }

    /** On an open device, for asking its metrics after the ferry was closed. */
    MemFerryConfig config(Device device) {
        return config(device, "0", "3");
    }

    /** For a network whose first and last layer with parameters have these names. */
    MemFerryConfig config(Device device, String first, String last) {
        return place(MemFerryConfig.builder().device(device), first, last);
    }

    private MemFerryConfig place(MemFerryConfig.Builder builder, String first, String last) {
        switch (this) {
            case RESIDENT:
                return builder.place("*", Placement.RESIDENT).placeGradient("*", GradientHome.SLOT).build();
            case PREFETCH:
                return builder.place("*", Placement.PREFETCH).placeGradient("*", GradientHome.SLOT).build();
            case MIXED:
                return builder.place("*", Placement.PREFETCH).place(first, Placement.RESIDENT).placeGradient("*", GradientHome.SLOT)
                        .placeGradient(last, GradientHome.DIRECT).build();
            default:
                return builder.build();
        }
    }
}
