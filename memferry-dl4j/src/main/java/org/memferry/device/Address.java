package org.memferry.device;

import org.bytedeco.javacpp.Pointer;

/**
 * A JavaCPP pointer that can be pointed anywhere again and again, so that native calls on computed addresses make no garbage. It owns
 * nothing and frees nothing. One thread uses an instance at a time.
 */
public final class Address extends Pointer {

    /**
     * Points this at an address.
     *
     * @param address of the first byte
     * @return this
     */
    public Address at(long address) {
        this.address = address;
        return this;
    }
}
