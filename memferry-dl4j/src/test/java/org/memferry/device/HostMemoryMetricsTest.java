package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.memferry.device.host.HostDevice;

/** What host regions take of the system (B45). */
class HostMemoryMetricsTest {

    /** No power of two, and nothing near one. */
    private static final long ASKED = (11L << 30) / 10;
    private static final long PAGE = 4096;

    @Test
    void a_region_of_an_odd_size_takes_a_hundredth_more_at_most_counted_and_resident() throws IOException {
        long allocated = HostMemoryMetrics.allocatedBytes();
        long asked = HostMemoryMetrics.askedBytes();
        int live = HostMemoryMetrics.liveRegions();
        long resident = residentBytes();
        try (HostDevice device = new HostDevice(); Region region = device.allocateHost(ASKED, "parameters")) {
            assertThat(HostMemoryMetrics.askedBytes() - asked).isEqualTo(ASKED);
            assertThat(HostMemoryMetrics.allocatedBytes() - allocated).isBetween(ASKED, ASKED + ASKED / 100 + PAGE);
            assertThat(HostMemoryMetrics.liveRegions() - live).isEqualTo(1);
            assertThat(HostMemoryMetrics.peakAllocatedBytes()).isGreaterThanOrEqualTo(allocated + ASKED);
            assertThat(HostMemoryMetrics.pinnedBytes()).as("nothing is pinned where the CPU computes").isZero();
            Pointer.memset(new Address().at(region.address()), 1, ASKED);
            // The heap of the virtual machine may grow meanwhile.
            assertThat(residentBytes() - resident).isBetween(ASKED - ASKED / 20, ASKED + ASKED / 20);
        }
        assertThat(HostMemoryMetrics.askedBytes()).isEqualTo(asked);
        assertThat(HostMemoryMetrics.allocatedBytes()).isEqualTo(allocated);
        assertThat(HostMemoryMetrics.liveRegions()).isEqualTo(live);
    }

    private static long residentBytes() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * PAGE;
    }
}
