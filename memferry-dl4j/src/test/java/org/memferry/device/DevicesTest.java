package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.base.RefusedException;
import org.memferry.device.host.HostDevice;

class DevicesTest {

    @Test
    void host_opens_the_host_device() {
        try (Device device = Devices.open(" host ")) {
            assertThat(device).isInstanceOf(HostDevice.class);
        }
    }

    @Test
    void emulated_with_a_size_opens_that_budget() {
        try (Device device = Devices.open("emulated:1.5MB")) {
            assertThat(device.name()).isEqualTo("emulated 1.50 MB");
            assertThat(device.totalBytes()).isEqualTo(3L << 19);
        }
    }

    @Test
    void the_options_reach_the_device() {
        // 1/1024 GB/s is 1 MB/s.
        try (Device device = Devices.open("emulated:1MB, h2d=0.0009765625,d2h=0.001953125,dilation=3,poison");
                Region slab = device.allocateSlab(1 << 15, "slab"); Region host = device.allocateHost(1 << 15, "host")) {
            assertThat(RegionBytes.of(slab).getFloat(0)).isNaN();
            Ticket done = device.newTicket();
            long start = System.nanoTime();
            device.copyToDevice(host, 0, slab, 0, 1 << 15, new Ticket[0], done);
            device.hostWaits(done);
            long there = System.nanoTime();
            device.copyToHost(slab, 0, host, 0, 1 << 15, new Ticket[0], done);
            device.hostWaits(done);
            long back = System.nanoTime();
            device.visitStarted(0, false, 0, 0);
            compute(5_000_000);
            device.visitEnded();
            assertThat(there - start).isGreaterThanOrEqualTo(31_250_000);
            assertThat(back - there).isGreaterThanOrEqualTo(15_625_000);
            assertThat(System.nanoTime() - back).isGreaterThanOrEqualTo(15_000_000);
        }
    }

    /** Has the processor for a time. */
    private static void compute(long nanos) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + nanos;
        while (threads.getCurrentThreadCpuTime() < end) {
            Thread.onSpinWait();
        }
    }

    @Test
    void the_delay_option_reaches_the_device() {
        try (Device device = Devices.open("emulated:1MB,delay=-3/4000"); Region slab = device.allocateSlab(8, "slab");
                Region host = device.allocateHost(8, "host")) {
            Ticket done = device.newTicket();
            long start = System.nanoTime();
            for (int i = 0; i < 20; i++) {
                device.copyToDevice(host, 0, slab, 0, 8, new Ticket[0], done);
            }
            device.hostWaits(done);
            // 20 delays of 2 ms in the mean.
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(15_000_000);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "null", value = {
        "null                           | unknown device",
        "''                             | unknown device",
        "gpu                            | unknown device",
        "emulated                       | no size: give it here, or beside property org.memferry.device as org.memferry.deviceMemory (among the",
        "emulated,h2d=12                | no size: give it here, or beside property org.memferry.device as org.memferry.deviceMemory (among the",
        "host:1GB                       | unknown device",
        "emulated:1MB,fast              | unknown option 'fast'",
        "emulated:1MB,                  | unknown option ''",
        "emulated:1MB,poison=yes        | unknown option 'poison=yes'",
        "emulated:1MB,h2d               | option 'h2d' needs a number above 0",
        "emulated:1MB,h2d=0             | option 'h2d=0' needs a number above 0",
        "emulated:1MB,d2h=-1            | option 'd2h=-1' needs a number above 0",
        "emulated:1MB,d2h=NaN           | option 'd2h=NaN' needs a number above 0",
        "emulated:1MB,pace              | option 'pace' needs the file of a profile",
        "emulated:1MB,pace=/none.json   | option 'pace=/none.json': the profile cannot be read",
        "emulated:1MB,dilation=x        | option 'dilation=x' needs a number above 0",
        "emulated:1MB,delay=5           | option 'delay=5' needs two whole numbers",
        "emulated:1MB,delay=a/5         | option 'delay=a/5' needs two whole numbers",
        "emulated:1MB,h2d=1,h2d=2       | option 'h2d' is given twice",
        "emulated:1MB,poison,poison     | option 'poison' is given twice",
        "cuda:                          | no number of a card",
        "cuda:-1                        | no number of a card",
        "cuda:0,poison,poison           | option 'poison' is given twice",
        "cuda,h2d=12                    | unknown option 'h2d=12'",
        "cuda:0,delay=5                 | option 'delay=5' needs two whole numbers",
    })
    void a_wrong_text_is_refused_with_the_text_the_fault_and_what_is_expected(String spec, String fault) {
        assertThatThrownBy(() -> Devices.open(spec)).isInstanceOf(RefusedException.class).hasMessageContaining("'" + spec + "'")
                .hasMessageContaining(fault).hasMessageContaining("expected: host, or emulated:<size>")
                .hasMessageContaining("delay=<seed>");
    }

    @ParameterizedTest
    @ValueSource(strings = {"emulated:", "emulated:lots", "emulated:-1MB", "emulated:0", "emulated:1MB,dilation=0.5",
        "emulated:1MB,delay=1/0", "cuda:0,memory=lots", "cuda:0,memory=0", "cuda:0,memory", "cuda,delay=1/0"})
    void a_size_or_number_out_of_range_is_refused(String spec) {
        assertThatThrownBy(() -> Devices.open(spec)).isInstanceOf(RefusedException.class).hasMessageContaining("(expected: ");
    }
}
