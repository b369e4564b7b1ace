package org.memferry.device.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Collectors;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.bytedeco.cuda.global.cudart;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.device.Address;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.HostMemoryMetrics;
import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.device.Ticket;
import org.slf4j.LoggerFactory;

/** What a card does not give: memory it has no more of, memory that cannot be pinned, a driver that is too old, calls that fail. */
class CudaLimitsTest {

    private static final long PLENTY = 1 << 30;
    private static final Ticket[] NONE = {};

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @BeforeEach
    void startRuntime() {
        FakeCuda.start();
        log.start();
        ((Logger) LoggerFactory.getLogger("org.memferry.device")).addAppender(log);
    }

    @AfterEach
    void nothingIsHeld() {
        if (!FakeCuda.isThere()) {
            return;
        }
        ((Logger) LoggerFactory.getLogger("org.memferry.device")).detachAppender(log);
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
        assertThat(cudart.cudaPeekAtLastError()).as("error kept by the runtime").isZero();
        FakeCuda.start();
    }

    private List<String> warnings() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).collect(Collectors.toList());
    }

    // ----------------------------------------------------------------------------------------------------------- host memory

    @Test
    void pinned_memory_is_of_the_exact_size() {
        long pinned = HostMemoryMetrics.pinnedBytes();
        try (Device device = Devices.open("cuda"); Region region = device.allocateHost(1_000_003, "parameters")) {
            assertThat(FakeCuda.bytesHeld()).isEqualTo(region.bytes());
            assertThat(HostMemoryMetrics.pinnedBytes() - pinned).isEqualTo(region.bytes());
            assertThat(device.canUseInPlace(region)).isTrue();
            assertThat(device.metrics().registeredRegions() + device.metrics().pageableRegions()).isZero();
        }
    }

    @Test
    void memory_that_cannot_be_allocated_pinned_is_registered_counted_and_said_once() {
        FakeCuda.limits(PLENTY, 999, PLENTY);
        try (CudaDevice device = onStream(); Region first = device.allocateHost(1000, "parameters"); Region second = device.allocateHost(2000, "gradients")) {
            assertThat(FakeCuda.bytesHeld()).isEqualTo(3000);
            assertThat(device.metrics().registeredRegions()).isEqualTo(2);
            assertThat(device.metrics().pageableRegions()).isZero();
            assertThat(device.canUseInPlace(first) && device.canUseInPlace(second)).isTrue();
            assertThat(RegionBytes.read(first)).containsOnly(0);
            assertThat(warnings()).singleElement().asString().contains("1000 B (1,000 bytes) for parameters", "2 cudaErrorMemoryAllocation", "registered");
        }
    }

    @Test
    void registered_memory_that_the_card_addresses_elsewhere_cannot_be_used_in_place() {
        FakeCuda.limits(PLENTY, 999, PLENTY);
        FakeCuda.attribute(cudart.cudaDevAttrCanUseHostPointerForRegisteredMem, 0);
        try (CudaDevice device = onStream(); Region region = device.allocateHost(1000, "parameters")) {
            assertThat(device.canUseInPlace(region)).isFalse();
        }
    }

    @Test
    void memory_that_cannot_be_pinned_at_all_is_copied_through_the_driver_counted_and_said_once() {
        FakeCuda.limits(PLENTY, 999, 999);
        try (CudaDevice device = onStream(); Region first = device.allocateHost(1000, "parameters"); Region second = device.allocateHost(2000, "gradients");
                Region slab = device.allocateSlab(1000, "slots")) {
            assertThat(device.metrics().pageableRegions()).isEqualTo(2);
            assertThat(device.metrics().registeredRegions()).isZero();
            assertThat(device.canUseInPlace(first) || device.canUseInPlace(second)).isFalse();
            assertThat(warnings()).singleElement().asString().contains("could not be pinned", "nothing in it can be read in place", "ulimit -l");
            RegionBytes.fill(first, 42);
            Ticket[] there = {device.newTicket()};
            Ticket back = device.newTicket();
            device.copyToDevice(first, 0, slab, 0, 1000, NONE, there[0]);
            device.copyToHost(slab, 0, second, 1000, 1000, there, back);
            device.hostWaits(back);
            assertThat(RegionBytes.of(second).get(1999)).isEqualTo((byte) 42);
            assertThat(RegionBytes.of(second).get(999)).isZero();
        }
    }

    @Test
    void where_the_host_computes_it_uses_any_memory_in_place() {
        FakeCuda.limits(PLENTY, 999, 999);
        try (Device device = Devices.open("cuda"); Region region = device.allocateHost(1000, "parameters")) {
            assertThat(device.canUseInPlace(region)).isTrue();
        }
    }

    private static CudaDevice onStream() {
        return CudaDevice.builder(0).compute(() -> 0).build();
    }

    // --------------------------------------------------------------------------------------------------------- device memory

    @Test
    void without_a_budget_the_cards_memory_is_the_budget_and_what_others_hold_is_not_free() {
        FakeCuda.limits(1 << 20, PLENTY, PLENTY);
        try (Device device = Devices.open("cuda"); Device other = Devices.open("cuda:0,memory=512KB"); Region taken = other.allocateSlab(1000, "slots")) {
            assertThat(device.totalBytes()).isEqualTo(1 << 20);
            assertThat(device.freeBytes()).isEqualTo((1 << 20) - taken.bytes());
            assertThat(other.freeBytes()).isEqualTo((1 << 19) - taken.bytes());
            assertThat(device.name()).isEqualTo("cuda:0 sm_86 1.00 MB");
        }
    }

    @Test
    void a_slab_that_the_card_has_no_room_for_is_refused_with_what_is_free() {
        FakeCuda.limits(1000, PLENTY, PLENTY);
        try (Device device = Devices.open("cuda:0,memory=1MB")) {
            assertThatThrownBy(() -> device.allocateSlab(2000, "slots")).isInstanceOf(OutOfMemoryException.class)
                    .hasMessageContaining("slots needs 1.95 KB (2,000 bytes) of device memory")
                    .hasMessageContaining("1000 B (1,000 bytes) of 1000 B (1,000 bytes) of the card's memory are free");
            assertThat(device.metrics().openRegions()).isZero();
        }
    }

    // ---------------------------------------------------------------------------------------------------------------- failures

    @Test
    void a_call_that_fails_is_named_with_its_arguments_its_code_and_the_memory_of_the_card() {
        try (Device device = Devices.open("cuda:0,memory=1MB"); Region host = device.allocateHost(100, "parameters");
                Region slab = device.allocateSlab(100, "slots")) {
            FakeCuda.failOnce("cudaMemcpyAsync", 1, FakeCuda.ILLEGAL_ADDRESS);
            Ticket done = device.newTicket();
            assertThatThrownBy(() -> device.copyToDevice(host, 7, slab, 11, 50, NONE, done)).isInstanceOf(MemFerryException.class)
                    .hasMessageContaining("cuda:0: cudaMemcpyAsync(50 bytes")
                    .hasMessageContaining("from 'parameters' at 7 to 'slots' at 11) failed: 700 cudaErrorIllegalAddress")
                    .hasMessageContaining("of the card's memory are free");
            assertThat(cudart.cudaPeekAtLastError()).isZero();
            assertThat(done.isDone()).as("the ticket of a copy that was refused").isTrue();
            assertThat(device.metrics().copies()).isZero();
        }
    }

    @Test
    void what_cannot_be_given_back_at_the_second_try_either_is_a_warning() {
        Device device = Devices.open("cuda");
        Region slab = device.allocateSlab(100, "slots");
        FakeCuda.failAlways("cudaFree", FakeCuda.ILLEGAL_ADDRESS);
        slab.close();
        assertThat(warnings()).singleElement().asString().contains("cudaFree failed twice: 700 cudaErrorIllegalAddress");
        assertThat(FakeCuda.bytesHeld()).isEqualTo(100);
        device.close();
        FakeCuda.start();
        assertThat(cudart.cudaFree(new Address().at(slab.address()))).isZero();
    }

    /** Case A70: what was found, what is expected. */
    @ParameterizedTest
    @CsvSource({
        "0, 12040, 'cudaErrorNoDevice; the CUDA runtime is version 11.6, the driver is for CUDA 12.4'",
        "1, 10020, 'cudaErrorInsufficientDriver; the CUDA runtime is version 11.6, the driver is for CUDA 10.2'",
        "1, 0, 'cudaErrorInsufficientDriver; the CUDA runtime is version 11.6, the driver is not there'"
    })
    void a_machine_without_a_card_or_with_an_old_driver_is_refused_with_what_was_found(int cards, int driver, String found) {
        FakeCuda.machine(cards, 11060, driver);
        assertThatThrownBy(() -> Devices.open("cuda")).isInstanceOf(RefusedException.class).hasMessageContaining(found)
                .hasMessageContaining("expected: a card, and a driver for CUDA 11.6 or later");
    }

    @Test
    void a_driver_that_is_newer_than_the_runtime_serves() {
        FakeCuda.machine(2, 11060, 13000);
        try (Device device = Devices.open("cuda:1,memory=1MB")) {
            assertThat(device.name()).startsWith("cuda:1");
        }
    }
}
