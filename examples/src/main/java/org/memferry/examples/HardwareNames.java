package org.memferry.examples;

import org.memferry.plan.Hardware;

import java.util.ArrayList;

/** The hardware that is described in the library, for help and completion. */
public final class HardwareNames extends ArrayList<String> {

    private static final long serialVersionUID = 1L;

    /** Made by picocli. */
    public HardwareNames() {
        super(Hardware.names());
    }
}
