package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.base.OutOfMemoryException;
import org.slf4j.LoggerFactory;

class RegionsTest {

    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions = new Regions("test device", 1000, metrics);
    private final AtomicInteger freed = new AtomicInteger();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final Logger logger = (Logger) LoggerFactory.getLogger(Regions.class);

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void stopListening() {
        logger.detachAppender(log);
    }

    private Regions.Memory counted(long bytes, String purpose) {
        return new Regions.Memory() {
            @Override
            public long address() {
                return 4096;
            }

            @Override
            public void free() {
                freed.incrementAndGet();
            }
        };
    }

    @Test
    void a_forgotten_region_is_freed_once_with_one_warning_that_names_purpose_and_size() throws InterruptedException {
        regions.openHost(12_345, "forgotten gradients", this::counted);
        for (int i = 0; i < 200 && freed.get() == 0; i++) {
            System.gc();
            Thread.sleep(10);
        }
        regions.close();
        assertThat(freed).hasValue(1);
        assertThat(metrics.hostBytes()).isZero();
        assertThat(metrics.openRegions()).isZero();
        assertThat(metrics.leakedRegions()).isZero();
        for (int i = 0; i < 200 && log.list.isEmpty(); i++) {
            Thread.sleep(10);
        }
        assertThat(log.list).hasSize(1);
        assertThat(log.list.get(0).getLevel()).isEqualTo(Level.WARN);
        assertThat(log.list.get(0).getFormattedMessage()).contains("test device", "forgotten gradients", "12345 bytes")
                .containsPattern("region \\d+ '");
    }

    @Test
    void a_region_closed_in_time_is_freed_once_without_a_warning() {
        Region region = regions.openSlab(10, "orderly", this::counted);
        region.close();
        region.close();
        regions.close();
        assertThat(freed).hasValue(1);
        assertThat(log.list).isEmpty();
    }

    @Test
    void a_region_left_open_at_close_is_freed_once_with_one_warning() {
        Region region = regions.openSlab(77, "left open", this::counted);
        regions.close();
        region.close();
        assertThat(freed).hasValue(1);
        assertThat(log.list).hasSize(1);
        assertThat(log.list.get(0).getLevel()).isEqualTo(Level.WARN);
        assertThat(log.list.get(0).getFormattedMessage()).contains("test device", "left open", "77 bytes");
    }

    @Test
    void memory_the_system_does_not_have_is_refused_at_once_and_leaves_nothing_behind() {
        for (long bytes : new long[] {1L << 60, Long.MAX_VALUE - 100, Long.MAX_VALUE}) {
            long start = System.nanoTime();
            OutOfMemoryException refusal = catchThrowableOfType(OutOfMemoryException.class,
                    () -> regions.openHost(bytes, "host master", NativeMemory::zeroed));
            assertThat(System.nanoTime() - start).isLessThan(1_000_000_000L);
            assertThat(refusal).hasMessageContaining("host memory for host master: the system refused")
                    .hasMessageContaining("are available");
            assertThat(refusal.askedBytes()).isEqualTo(bytes);
            assertThat(refusal.availableBytes()).isPositive();
        }
        assertThat(metrics.openRegions()).isZero();
        assertThat(metrics.hostBytes()).isZero();
        assertThat(metrics.peakHostBytes()).isZero();
    }

    @Test
    void memory_that_a_source_refuses_is_not_counted() {
        assertThatThrownBy(() -> regions.openSlab(10, "slab", (bytes, purpose) -> {
            throw new OutOfMemoryException("none left", bytes, 0);
        })).isInstanceOf(OutOfMemoryException.class);
        assertThat(metrics.openRegions()).isZero();
        assertThat(regions.freeBytes()).isEqualTo(1000);
    }

    @Test
    void large_native_memory_costs_nothing_until_it_is_written() {
        long before = org.bytedeco.javacpp.Pointer.physicalBytes();
        NativeMemory memory = NativeMemory.zeroed(4L << 30, "lazy");
        long grown = org.bytedeco.javacpp.Pointer.physicalBytes() - before;
        memory.free();
        assertThat(grown).isLessThan(1L << 30);
    }
}
