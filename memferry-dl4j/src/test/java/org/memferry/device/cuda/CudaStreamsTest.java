package org.memferry.device.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.device.Ticket;

/**
 * A card where the computation has a stream of its own: what orders it with the copies. Kernels are late at random or held back, and the check
 * of the order is exact whatever their pace.
 */
class CudaStreamsTest {

    private static final Ticket[] NONE = {};
    private static final int BYTES = 4096;

    private KernelStream kernels;
    private CudaDevice device;
    private Region host;
    private Region back;
    private Region slab;

    @BeforeEach
    void open() {
        FakeCuda.start();
        kernels = new KernelStream();
        device = CudaDevice.builder(0).memory(1 << 20).compute(kernels).build();
        host = device.allocateHost(BYTES, "host");
        back = device.allocateHost(BYTES, "back");
        slab = device.allocateSlab(2 * BYTES, "slab");
    }

    @AfterEach
    void close() {
        FakeCuda.hold(false, false);
        slab.close();
        back.close();
        host.close();
        device.close();
        kernels.close();
        FakeCuda.assertNothingHeld();
    }

    /** Case B70: the gradient's last kernel is late, five hundred times by another time. */
    @Test
    void a_gradient_is_copied_to_the_host_after_the_kernel_that_writes_it() {
        Ticket there = device.newTicket();
        Ticket computed = device.newTicket();
        Ticket arrived = device.newTicket();
        FakeCuda.delays(1, 200);
        for (int run = 0; run < 500; run++) {
            RegionBytes.fill(host, run);
            device.copyToDevice(host, 0, slab, 0, BYTES, new Ticket[] {arrived}, there);
            device.computeWaits(there);
            kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
            device.recordCompute(computed);
            device.copyToHost(slab, BYTES, back, 0, BYTES, new Ticket[] {computed}, arrived);
            device.hostWaits(arrived);
            FakeCuda.hostReads(back.address(), BYTES);
            assertThat(RegionBytes.read(back)).containsOnly((byte) run);
            FakeCuda.hostWrites(host.address(), BYTES);
        }
        FakeCuda.assertNothingWrong();
    }

    @Test
    void a_copy_that_does_not_wait_for_the_kernel_before_it_is_found_however_fast_the_kernel_is() {
        Ticket there = device.newTicket();
        device.computeWaits(there);
        kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
        kernels.synchronize();
        device.copyToHost(slab, BYTES, back, 0, BYTES, NONE, there);
        device.hostWaits(there);
        FakeCuda.assertNothingWrong();
        kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
        device.copyToHost(slab, BYTES, back, 0, BYTES, NONE, there);
        device.hostWaits(there);
        assertThat(FakeCuda.takeReports()).contains("a copy to the host (reading)").contains("is not ordered behind a copy within the device (writing)");
    }

    @Test
    void a_kernel_that_does_not_wait_for_its_copy_is_found() {
        device.copyToDevice(host, 0, slab, 0, BYTES, NONE, device.newTicket());
        kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
        assertThat(FakeCuda.takeReports()).contains("a copy within the device (reading)").contains("is not ordered behind a copy to the device (writing)");
    }

    @Test
    void a_read_by_the_host_that_does_not_wait_is_found() {
        device.copyToHost(slab, 0, back, 0, BYTES, NONE, device.newTicket());
        FakeCuda.hostReads(back.address() + BYTES - 1, 1);
        assertThat(FakeCuda.takeReports()).contains("a read by the host of 1 bytes").contains("is not ordered behind a copy to the host (writing)");
    }

    @Test
    void the_computation_is_not_stopped_by_what_the_host_does_not_wait_for() {
        FakeCuda.hold(true, false);
        Ticket there = device.newTicket();
        Ticket computed = device.newTicket();
        device.copyToDevice(host, 0, slab, 0, BYTES, NONE, there);
        device.computeWaits(there);
        device.recordCompute(computed);
        assertThat(computed.isDone()).isFalse();
        FakeCuda.hold(false, false);
        device.hostWaits(computed);
        assertThat(there.isDone()).isTrue();
    }

    /** The optimizer's thread starts copies behind the computation of the thread that trains. */
    @Test
    void a_ticket_recorded_by_another_thread_marks_the_computing_threads_stream() {
        try (KernelStream other = new KernelStream()) {
            ThreadLocal<KernelStream> ofThread = ThreadLocal.withInitial(() -> other);
            ofThread.set(kernels);
            CudaDevice perThread = CudaDevice.builder(0).memory(1 << 20).compute(() -> ofThread.get().handle()).build();
            Region slots = perThread.allocateSlab(2 * BYTES, "slots");
            Region target = perThread.allocateHost(BYTES, "target");
            Ticket[] computed = {perThread.newTicket()};
            perThread.visitStarted(0, true, 0, 0);
            kernels.kernel(slots.address(), slots.address() + BYTES, BYTES);
            Ticket arrived = perThread.newTicket();
            CompletableFuture.runAsync(() -> {
                perThread.recordCompute(computed[0]);
                perThread.copyToHost(slots, BYTES, target, 0, BYTES, computed, arrived);
            }).join();
            perThread.hostWaits(arrived);
            FakeCuda.assertNothingWrong();
            target.close();
            slots.close();
            perThread.close();
        }
    }

    @Test
    void a_poisoned_part_is_overwritten_behind_the_kernels_that_read_it_and_before_the_copy_that_fills_it() {
        CudaDevice poisoning = CudaDevice.builder(0).memory(1 << 20).compute(kernels).poison().build();
        Region slots = poisoning.allocateSlab(2 * BYTES, "slots");
        Region from = poisoning.allocateHost(BYTES, "from");
        Ticket[] left = {poisoning.newTicket()};
        Ticket filled = poisoning.newTicket();
        FakeCuda.delays(2, 300);
        for (int run = 0; run < 50; run++) {
            poisoning.copyToDevice(from, 0, slots, 0, BYTES, left, filled);
            poisoning.computeWaits(filled);
            kernels.kernel(slots.address(), slots.address() + BYTES, BYTES);
            poisoning.released(slots, 0, BYTES);
            poisoning.recordCompute(left[0]);
        }
        kernels.synchronize();
        assertThat(RegionBytes.of(slots).get(0)).as("a poisoned byte").isEqualTo((byte) 0xFF);
        assertThat(RegionBytes.of(slots).get(BYTES)).as("what the kernel saw").isZero();
        FakeCuda.assertNothingWrong();
        from.close();
        slots.close();
        poisoning.close();
    }

    /** A clock of the host would tell how long it takes to launch kernels. */
    @Test
    void a_timed_visit_ends_when_its_kernels_do_and_begins_when_those_before_it_have() {
        assertThat(device.computesBehindHost()).isTrue();
        Ticket computed = device.newTicket();
        device.computeWaits(device.newTicket());
        FakeCuda.delays(4, 20_000);
        for (int run = 0; run < 10; run++) {
            device.timeVisits(true);
            kernel(computed);
            device.visitStarted(0, false, 0, 0);
            assertThat(computed.isDone()).as("the computation before the visit").isTrue();
            kernel(computed);
            device.visitEnded();
            assertThat(computed.isDone()).as("the computation of the visit").isTrue();
        }
        FakeCuda.assertNothingWrong();
    }

    private void kernel(Ticket computed) {
        kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
        device.recordCompute(computed);
    }

    @Test
    void standing_still_for_a_copy_is_no_part_of_a_timed_visit() throws InterruptedException {
        FakeCuda.hold(true, false);
        Ticket there = device.newTicket();
        device.copyToDevice(host, 0, slab, 0, BYTES, NONE, there);
        device.timeVisits(true);
        device.visitStarted(0, false, 0, 0);
        Thread release = new Thread(() -> {
            sleep(100);
            FakeCuda.hold(false, false);
        });
        release.start();
        device.computeWaits(there);
        assertThat(there.isDone()).isTrue();
        kernels.kernel(slab.address(), slab.address() + BYTES, BYTES);
        device.visitEnded();
        release.join();
        assertThat(device.metrics().waitNanos()).isGreaterThan(50_000_000);
        FakeCuda.assertNothingWrong();
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void a_visit_that_is_not_timed_waits_for_nothing() {
        FakeCuda.hold(true, false);
        Ticket there = device.newTicket();
        Ticket computed = device.newTicket();
        device.copyToDevice(host, 0, slab, 0, BYTES, NONE, there);
        device.visitStarted(0, false, 0, 0);
        device.computeWaits(there);
        kernel(computed);
        device.visitEnded();
        assertThat(computed.isDone()).isFalse();
    }

    @Test
    void a_region_is_given_back_when_no_kernel_uses_it_any_more() {
        FakeCuda.delays(3, 3_000);
        Region slots = device.allocateSlab(BYTES, "slots");
        device.computeWaits(device.newTicket());
        kernels.kernel(slab.address(), slots.address(), BYTES);
        slots.close();
        FakeCuda.assertNothingWrong();
    }
}
