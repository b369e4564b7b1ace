package org.memferry.device.emulated;

import org.bytedeco.javacpp.Pointer;
import org.memferry.device.Address;

/** Moves bytes between two addresses. Each copy thread has one of its own. */
interface Copier {

    /** Copies; the two parts do not overlap. */
    void copy(long from, long to, long bytes);

    /** The C library's {@code memcpy}; makes no garbage. */
    static Copier memcpy() {
        Address source = new Address();
        Address target = new Address();
        return (from, to, bytes) -> Pointer.memcpy(target.at(to), source.at(from), bytes);
    }
}
