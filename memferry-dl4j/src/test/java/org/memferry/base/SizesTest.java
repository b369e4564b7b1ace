package org.memferry.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes are read and written as people do, and what is no size is refused with its name. */
class SizesTest {

    @ParameterizedTest
    @CsvSource({"512,512", "0,0", "512B,512", "64KB,65536", "64kb,65536", "1k,1024", "1KiB,1024", "6g,6442450944", "6 GB,6442450944",
        "' 1.5GB ',1610612736", "1.5GiB,1610612736", ".5k,512", "2.K,2048", "1T,1099511627776", "0.25MB,262144", "1.0000001MB,1048576",
        "2097152TB,2305843009213693952"})
    void sizes_are_read_in_every_common_spelling(String text, long bytes) {
        assertThat(Sizes.parse(text, "deviceMemory")).isEqualTo(bytes);
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " ", "GB", "-1MB", "1.2.3MB", "6 gigs", "1e3", "6GBB", "NaN", "Infinity", "0x10", "1,5GB", ".", ".GB",
        "99999999999TB", "9223372036854775807"})
    void what_is_no_size_is_refused_with_its_name_and_text(String text) {
        assertThatThrownBy(() -> Sizes.parse(text, "deviceMemory")).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("deviceMemory: '" + text + "'").hasMessageContaining("expected: a size such as 512MB");
    }

    @ParameterizedTest
    @CsvSource({"0,0 B", "1,1 B", "1023,1023 B", "1024,1.00 KB", "10239,10.0 KB", "102399,100 KB", "1047552,1023 KB",
        "1048575,1.00 MB", "1048576,1.00 MB", "85197824,81.3 MB", "1073741824,1.00 GB", "1099511627776,1.00 TB", "-1048576,-1.00 MB",
        "9223372036854775807,8388608 TB"})
    void sizes_are_written_with_three_digits_and_a_unit(long bytes, String text) {
        assertThat(Sizes.format(bytes)).isEqualTo(text);
    }

    @Test
    void a_size_in_a_message_is_readable_and_exact() {
        assertThat(Sizes.exact(85_197_824)).isEqualTo("81.3 MB (85,197,824 bytes)");
    }

    @Test
    void aligning_rounds_up_and_does_not_overflow_in_silence() {
        assertThat(Sizes.align(0, 256)).isZero();
        assertThat(Sizes.align(1, 256)).isEqualTo(256);
        assertThat(Sizes.align(256, 256)).isEqualTo(256);
        assertThat(Sizes.align(257, 256)).isEqualTo(512);
        assertThatThrownBy(() -> Sizes.align(Long.MAX_VALUE, 256)).isInstanceOf(ArithmeticException.class);
    }

    @Property(tries = 500)
    @Label("what is written is read back within its three digits")
    void what_is_written_is_read_back(@ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 4) long bytes) {
        assertThat(Sizes.parse(Sizes.format(bytes), "size")).isBetween(bytes - bytes / 190 - 1, bytes + bytes / 190 + 1);
    }
}
