package org.memferry.device;

/** A contiguous piece of host or device memory that MemFerry owns. Its start is aligned to at least 256 bytes. */
public interface Region extends AutoCloseable {

    /** Address of the first byte as the code that computes sees it; on a virtual device a number without memory behind it. */
    long address();

    /** Exact size in bytes. */
    long bytes();

    /** What it is for. */
    String purpose();

    /** True for memory of the device itself, false for host memory. */
    boolean isSlab();

    /** False once closed. */
    boolean isOpen();

    /** Gives the memory back; a second call does nothing. */
    @Override
    void close();
}
