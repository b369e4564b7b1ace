package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The arithmetic of updater blocks at sizes that no memory is needed for, against sums that cannot overflow. */
class BlockLayoutTest {

    /** A parameter to lay out. */
    private static final class Entry {

        final long length;
        final int components;
        final boolean joins;

        Entry(long length, int components, boolean joins) {
            this.length = length;
            this.components = components;
            this.joins = joins;
        }
    }

    private static BlockLayout layout(List<Entry> entries) {
        BlockLayout.Builder builder = BlockLayout.builder();
        entries.forEach(e -> builder.add(e.length, e.length * e.components, e.joins));
        return builder.build();
    }

    // A11
    @ParameterizedTest
    @ValueSource(longs = {1L << 30, Integer.MAX_VALUE - 1L, Integer.MAX_VALUE, 1L << 31, (1L << 31) + 1, 1_080_000_000L, 60_000_000L * 40})
    void aNetworkOfOneBlockOfAdamIsLaidOutExactly(long count) {
        long half = count / 2;
        BlockLayout layout = layout(List.of(new Entry(half, 2, false), new Entry(count - half, 2, true)));
        assertThat(layout.blocks()).isEqualTo(1);
        assertThat(BigInteger.valueOf(layout.stateCount())).isEqualTo(BigInteger.valueOf(count).multiply(BigInteger.TWO));
        assertThat(layout.blockEnd(0)).isEqualTo(count);
        assertThat(layout.parameterStart(1)).isEqualTo(half);
        assertThat(BigInteger.valueOf(layout.stateOf(1, 1))).isEqualTo(BigInteger.valueOf(count).add(BigInteger.valueOf(half)));
        assertThat(layout.fitsDl4j()).isEqualTo(BigInteger.valueOf(count).shiftLeft(1).bitLength() < 32);
    }

    // A11
    @Test
    void dl4jHoldsAsManyElementsAsAnIntCounts() {
        assertThat(layout(List.of(new Entry(Integer.MAX_VALUE, 1, false))).fitsDl4j()).isTrue();
        assertThat(layout(List.of(new Entry(1L << 31, 0, false))).fitsDl4j()).isFalse();
        assertThat(layout(List.of(new Entry((1L << 30) - 1, 2, false))).fitsDl4j()).isTrue();
        assertThat(layout(List.of(new Entry(1L << 30, 2, false))).fitsDl4j()).isFalse();
    }

    @Test
    void anyNetworkIsLaidOutAsByBruteForce() {
        Random random = new Random(11);
        for (int round = 0; round < 500; round++) {
            List<Entry> entries = new ArrayList<>();
            for (int i = 0, n = 1 + random.nextInt(12); i < n; i++) {
                boolean joins = i > 0 && random.nextInt(3) > 0;
                int components = joins ? entries.get(i - 1).components : random.nextInt(4);
                entries.add(new Entry(1 + (random.nextLong() >>> 20 + random.nextInt(43)), components, joins));
            }
            checkByBruteForce(entries);
        }
    }

    /** Sums by the definition: a block's state is one run over its parameters for each component. */
    private static void checkByBruteForce(List<Entry> entries) {
        BlockLayout layout = layout(entries);
        BigInteger parameter = BigInteger.ZERO;
        BigInteger state = BigInteger.ZERO;
        int block = -1;
        for (int first = 0; first < entries.size(); ) {
            int end = first + 1;
            while (end < entries.size() && entries.get(end).joins) {
                end++;
            }
            block++;
            assertThat(layout.firstParameter(block)).isEqualTo(first);
            assertThat(BigInteger.valueOf(layout.blockStart(block))).isEqualTo(parameter);
            assertThat(BigInteger.valueOf(layout.stateStart(block))).isEqualTo(state);
            assertThat(layout.components(block)).isEqualTo(entries.get(first).components);
            for (int component = 0; component < entries.get(first).components; component++) {
                for (int p = first; p < end; p++) {
                    assertThat(BigInteger.valueOf(layout.stateOf(p, component))).isEqualTo(state);
                    state = state.add(BigInteger.valueOf(entries.get(p).length));
                }
            }
            for (int p = first; p < end; p++) {
                assertThat(layout.blockOf(p)).isEqualTo(block);
                assertThat(BigInteger.valueOf(layout.parameterStart(p))).isEqualTo(parameter);
                parameter = parameter.add(BigInteger.valueOf(entries.get(p).length));
                assertThat(BigInteger.valueOf(layout.parameterEnd(p))).isEqualTo(parameter);
            }
            assertThat(BigInteger.valueOf(layout.blockEnd(block))).isEqualTo(parameter);
            assertThat(BigInteger.valueOf(layout.stateEnd(block))).isEqualTo(state);
            first = end;
        }
        assertThat(layout.blocks()).isEqualTo(block + 1);
        assertThat(BigInteger.valueOf(layout.parameterCount())).isEqualTo(parameter);
        assertThat(BigInteger.valueOf(layout.stateCount())).isEqualTo(state);
    }

    @Test
    void sumsThatDoNotFitALongAreNoSums() {
        BlockLayout.Builder builder = BlockLayout.builder().add(Long.MAX_VALUE - 1, 0, false);
        assertThatThrownBy(() -> builder.add(2, 0, true)).isInstanceOf(ArithmeticException.class);
        BlockLayout.Builder states = BlockLayout.builder().add(1, Long.MAX_VALUE, false);
        assertThatThrownBy(() -> states.add(1, 1, false)).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> BlockLayout.builder().add(-1, 0, false)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void layoutsAreEqualIfTheirBlocksAre() {
        BlockLayout together = layout(List.of(new Entry(5, 2, false), new Entry(7, 2, true)));
        assertThat(together).isEqualTo(layout(List.of(new Entry(5, 2, false), new Entry(7, 2, true))))
                .hasSameHashCodeAs(layout(List.of(new Entry(5, 2, false), new Entry(7, 2, true))))
                .isNotEqualTo(layout(List.of(new Entry(5, 2, false), new Entry(7, 2, false))))
                .isNotEqualTo(layout(List.of(new Entry(5, 1, false), new Entry(7, 1, true))))
                .isNotEqualTo(layout(List.of(new Entry(5, 2, false), new Entry(8, 2, true))));
    }
}
