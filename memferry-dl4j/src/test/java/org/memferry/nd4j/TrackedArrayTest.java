package org.memferry.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.memferry.device.host.HostDevice;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.api.ops.impl.transforms.strict.Tanh;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.BooleanIndexing;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.indexing.conditions.Conditions;
import org.nd4j.linalg.ops.transforms.Transforms;

/** An array handed to users tells of every write made through it, and of every view taken, before the memory changes. */
class TrackedArrayTest {

    private static final int ROWS = 4;
    private static final int COLUMNS = 4;

    private final HostDevice device = new HostDevice();
    private final Region region = device.allocateHost(ROWS * COLUMNS * 4, "parameters");
    private final AtomicInteger told = new AtomicInteger();
    private final INDArray matrix = RegionArrays.tracked(region, 0, DataType.FLOAT, new long[] {ROWS, COLUMNS}, new long[] {1, ROWS}, 'f',
            told::incrementAndGet);
    private final INDArray plain = RegionArrays.array(region, 0, DataType.FLOAT, new long[] {ROWS, COLUMNS}, new long[] {1, ROWS}, 'f');

    @AfterEach
    void close() {
        region.close();
        device.close();
    }

    /** Every way to write that ND4J offers on an array or to a view of it, by name. */
    static Stream<String> waysToWrite() {
        return ways().keySet().stream();
    }

    private static Map<String, Consumer<INDArray>> ways() {
        Map<String, Consumer<INDArray>> ways = new LinkedHashMap<>();
        arithmetic(ways);
        scalars(ways);
        puts(ways);
        views(ways);
        operations(ways);
        return ways;
    }

    private static void arithmetic(Map<String, Consumer<INDArray>> ways) {
        INDArray other = Nd4j.ones(DataType.FLOAT, ROWS, COLUMNS);
        ways.put("addi number", a -> a.addi(1));
        ways.put("subi number", a -> a.subi(1));
        ways.put("muli number", a -> a.muli(3));
        ways.put("divi number", a -> a.divi(3));
        ways.put("rsubi number", a -> a.rsubi(3));
        ways.put("rdivi number", a -> a.rdivi(3));
        ways.put("negi", INDArray::negi);
        ways.put("addi array", a -> a.addi(other));
        ways.put("subi array", a -> a.subi(other));
        ways.put("muli array", a -> a.muli(other.mul(2)));
        ways.put("divi array", a -> a.divi(other.mul(2)));
        ways.put("rsubi array", a -> a.rsubi(other));
        ways.put("rdivi array", a -> a.rdivi(other.mul(5)));
        ways.put("addi array into this", a -> other.addi(other.mul(5), a));
        ways.put("addiRowVector", a -> a.addiRowVector(Nd4j.ones(DataType.FLOAT, 1, COLUMNS)));
        ways.put("subiColumnVector", a -> a.subiColumnVector(Nd4j.ones(DataType.FLOAT, ROWS, 1)));
        ways.put("muliRowVector", a -> a.muliRowVector(Nd4j.ones(DataType.FLOAT, 1, COLUMNS).mul(2)));
        ways.put("assign number", a -> a.assign(7));
        ways.put("assign array", a -> a.assign(other));
        ways.put("assign boolean", a -> a.assign(true));
        ways.put("assignIf", a -> a.assignIf(other, Conditions.greaterThan(0)));
        ways.put("replaceWhere", a -> a.replaceWhere(other, Conditions.greaterThan(1.5)));
    }

    private static void scalars(Map<String, Consumer<INDArray>> ways) {
        ways.put("putScalar(long, double)", a -> a.putScalar(1L, 9.0));
        ways.put("putScalar(long, float)", a -> a.putScalar(1L, 9f));
        ways.put("putScalar(long, int)", a -> a.putScalar(1L, 9));
        ways.put("putScalar(int[], double)", a -> a.putScalar(new int[] {1, 1}, 9.0));
        ways.put("putScalar(int[], float)", a -> a.putScalar(new int[] {1, 1}, 9f));
        ways.put("putScalar(int[], int)", a -> a.putScalar(new int[] {1, 1}, 9));
        ways.put("putScalar(long[], double)", a -> a.putScalar(new long[] {1, 1}, 9.0));
        ways.put("putScalar(long[], float)", a -> a.putScalar(new long[] {1, 1}, 9f));
        ways.put("putScalar(long[], int)", a -> a.putScalar(new long[] {1, 1}, 9));
        ways.put("putScalar(row, column, double)", a -> a.putScalar(1, 1, 9.0));
        ways.put("putScalarUnsafe", a -> a.putScalarUnsafe(1, 9.0));
        ways.put("put(int, int, Number)", a -> a.put(1, 1, 9));
        ways.put("put(int, element)", a -> a.put(1, Nd4j.scalar(9f)));
        ways.put("put(int, int, element)", a -> a.put(1, 1, Nd4j.scalar(9f)));
        ways.put("put(int[], element)", a -> a.put(new int[] {1, 1}, Nd4j.scalar(9f)));
    }

    private static void puts(Map<String, Consumer<INDArray>> ways) {
        INDArray row = Nd4j.ones(DataType.FLOAT, 1, COLUMNS).mul(9);
        ways.put("putRow", a -> a.putRow(1, row));
        ways.put("putColumn", a -> a.putColumn(1, row.reshape(ROWS, 1)));
        ways.put("putSlice", a -> a.putSlice(1, row.reshape(COLUMNS)));
        ways.put("put(index, array)", a -> a.put(new INDArrayIndex[] {NDArrayIndex.point(1), NDArrayIndex.all()},
                row.reshape(COLUMNS)));
        ways.put("BooleanIndexing.replaceWhere", a -> BooleanIndexing.replaceWhere(a, 9, Conditions.greaterThan(1.5)));
        ways.put("data().put", a -> a.data().put(3, 9f));
        ways.put("data().assign", a -> a.data().assign(9f));
    }

    private static void views(Map<String, Consumer<INDArray>> ways) {
        ways.put("get(interval).assign", a -> a.get(NDArrayIndex.interval(1, 3), NDArrayIndex.all()).assign(9));
        ways.put("get(point).addi", a -> a.get(NDArrayIndex.point(1), NDArrayIndex.all()).addi(9));
        ways.put("reshape.assign", a -> a.reshape('f', new long[] {2, 8}).assign(9));
        ways.put("reshape.muli", a -> a.reshape('f', new long[] {16}).muli(9));
        ways.put("getRow.addi", a -> a.getRow(1).addi(9));
        ways.put("getColumn.addi", a -> a.getColumn(1).addi(9));
        ways.put("getColumn(keepDim).addi", a -> a.getColumn(1, true).addi(9));
        ways.put("transpose.addi", a -> a.transpose().addi(9));
        ways.put("permute.addi", a -> a.permute(1, 0).addi(9));
        ways.put("slice.addi", a -> a.slice(1).addi(9));
        ways.put("tensorAlongDimension.addi", a -> a.tensorAlongDimension(1, 0).addi(9));
        ways.put("swapAxes.addi", a -> a.swapAxes(0, 1).addi(9));
    }

    private static void operations(Map<String, Consumer<INDArray>> ways) {
        INDArray other = Nd4j.ones(DataType.FLOAT, ROWS, COLUMNS);
        ways.put("exec transform in place", a -> Nd4j.getExecutioner().exec(new Tanh(a, a)));
        ways.put("exec transform into", a -> Nd4j.getExecutioner().exec(new Tanh(other, a)));
        ways.put("Transforms without copy", a -> Transforms.sigmoid(a, false));
        ways.put("mmuli into", a -> other.mmuli(other, a));
        ways.put("gemm into", a -> Nd4j.gemm(other, other, a, false, false, 1, 0));
        ways.put("blas gemm", a -> Nd4j.getBlasWrapper().level3().gemm(other.dup('f'), other.dup('f'), a, false, false, 1, 0));
        ways.put("axpy", a -> Nd4j.getBlasWrapper().level1().axpy(a.length(), 1, other.reshape('f', new long[] {16}),
                a.reshape('f', new long[] {16})));
        ways.put("random fill", a -> Nd4j.rand(a));
        ways.put("copy into", a -> Nd4j.copy(other, a));
        ways.put("custom op into", a -> Nd4j.exec(DynamicCustomOp.builder("add").addInputs(other, other.mul(5))
                .addOutputs(a).build()));
    }

    @ParameterizedTest
    @MethodSource("waysToWrite")
    void every_way_to_write_is_told_and_reaches_the_memory(String way) {
        plain.assign(2);
        told.set(0);
        ways().get(way).accept(matrix);
        assertThat(told.get()).as("times told").isPositive();
        boolean changed = false;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            changed |= plain.data().getFloat(i) != 2;
        }
        assertThat(changed).as("the host master itself was written").isTrue();
    }

    @Test
    void higher_ranks_are_told_as_well() {
        List<Integer> counts = new ArrayList<>();
        for (long[] shape : new long[][] {{2, 2, 2}, {2, 2, 2, 2}}) {
            long[] stride = new long[shape.length];
            for (int i = 0; i < stride.length; i++) {
                stride[i] = 1L << i;
            }
            INDArray array = RegionArrays.tracked(region, 0, DataType.FLOAT, shape, stride, 'f', told::incrementAndGet);
            told.set(0);
            if (shape.length == 3) {
                array.putScalar(1, 1, 1, 5.0);
                assertThat(plain.data().getFloat(7)).isEqualTo(5);
            } else {
                array.putScalar(1, 1, 1, 1, 6.0);
                assertThat(plain.data().getFloat(15)).isEqualTo(6);
            }
            counts.add(told.get());
        }
        assertThat(counts).allMatch(count -> count > 0);
    }

    @Test
    void the_telling_comes_before_the_write() {
        float[] seen = new float[1];
        INDArray array = RegionArrays.tracked(region, 0, DataType.FLOAT, new long[] {4}, new long[] {1}, 'c',
                () -> seen[0] = plain.data().getFloat(0));
        plain.assign(2);
        array.putScalar(0, 5.0);
        assertThat(seen[0]).isEqualTo(2);
    }

    @Test
    void looking_at_shape_and_type_alone_tells_nothing() {
        told.set(0);
        matrix.shape();
        matrix.length();
        matrix.dataType();
        matrix.rank();
        matrix.stride();
        matrix.ordering();
        matrix.rows();
        matrix.columns();
        matrix.size(1);
        matrix.isVector();
        matrix.shapeInfoDataBuffer();
        assertThat(told).hasValue(0);
    }

    @Test
    void code_of_ours_that_writes_through_the_plain_array_tells_nothing() {
        told.set(0);
        plain.addi(1);
        assertThat(told).hasValue(0);
    }

    @Test
    void a_copy_has_memory_of_its_own_and_tells_nothing() {
        plain.assign(2);
        INDArray copy = matrix.dup();
        told.set(0);
        copy.addi(5);
        assertThat(told).hasValue(0);
        assertThat(plain.getFloat(0)).isEqualTo(2);
    }

    @Test
    void closing_an_array_leaves_the_memory_alone() {
        plain.assign(2);
        if (matrix.closeable()) {
            matrix.close();
        }
        assertThat(plain.sumNumber().doubleValue()).isEqualTo(32);
    }

    @Test
    void arrays_start_where_they_were_asked_to_and_do_not_reach_beyond_the_region() {
        INDArray tail = RegionArrays.vector(region, 10, DataType.FLOAT, 6, false);
        assertThat(RegionArrays.startsAt(tail, region, 10)).isTrue();
        assertThat(RegionArrays.startsAt(tail, region, 9)).isFalse();
        assertThat(tail.offset()).isZero();
        assertThatThrownBy(() -> RegionArrays.vector(region, 10, DataType.FLOAT, 7, false)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("elements 10 to 17").hasMessageContaining("'parameters' of 64 bytes");
        assertThatThrownBy(() -> RegionArrays.elementBytes(DataType.HALF)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("HALF").hasMessageContaining("convertDataType");
    }

    @Test
    void a_vector_has_the_rank_it_was_asked_for() {
        assertThat(RegionArrays.vector(region, 0, DataType.FLOAT, 16, false).shape()).containsExactly(16);
        assertThat(RegionArrays.vector(region, 0, DataType.FLOAT, 16, true).shape()).containsExactly(1, 16);
        assertThat(RegionArrays.trackedVector(region, 0, DataType.DOUBLE, 8, true, () -> { }).shape()).containsExactly(1, 8);
    }
}
