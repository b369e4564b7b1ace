package org.memferry.update;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.NoOp;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;

/** Scaling and clipping give the bits of the operations that DL4J's gradient normalisation uses. */
class GradientScalingTest {

    @ParameterizedTest
    @EnumSource(ElementType.class)
    void equalsStockBitForBit(ElementType type) {
        Map<GradientScaling, Consumer<INDArray>> cases = new LinkedHashMap<>();
        cases.put(GradientScaling.none(), g -> { });
        cases.put(GradientScaling.multiply(0.123456789012345), g -> g.muli(0.123456789012345));
        cases.put(GradientScaling.divide(3.14159265358979), g -> g.divi(3.14159265358979));
        cases.put(GradientScaling.clip(0.1), g -> Nd4j.getExecutioner().exec(DynamicCustomOp.builder("clipbyvalue").addInputs(g)
                .callInplace(true).addFloatingPointArguments(-0.1, 0.1).build()));
        for (int n : new int[] {7, 1000, 100003}) {
            double[] values = FusedUpdateTest.normal(new Random(n), n, 1);
            values[0] = Double.NaN;
            values[1] = -0.0;
            values[2] = Double.POSITIVE_INFINITY;
            values[3] = Double.NEGATIVE_INFINITY;
            values[4] = 1e-42;
            values[5] = type.round(0.1);
            values[6] = -0.1;
            cases.forEach((scaling, stock) -> check(type, values, scaling, stock));
        }
    }

    private static void check(ElementType type, double[] values, GradientScaling scaling, Consumer<INDArray> stock) {
        int n = values.length;
        INDArray expected = Nd4j.create(type == ElementType.FLOAT ? DataType.FLOAT : DataType.DOUBLE, n);
        StockBlock.assign(expected, values);
        stock.accept(expected);
        for (UpdateKernel kernel : Kernels.all()) {
            try (GuardedArray p = new GuardedArray(type, n, 0); GuardedArray g = new GuardedArray(type, n, 5);
                    UpdateEngine engine = new UpdateEngine(kernel, new UpdateWorkers(1))) {
                p.write(new double[n]);
                g.write(values);
                new FusedUpdate(engine, type, List.of(UpdateRange.of(n).build())).run(UpdateRequest.of(RuleStep.of(new NoOp(), type, 0, 0))
                        .at(p.address(), g.address(), 0).writeUpdate(true).scalings(scaling).build());
                assertThat(g.read()).as("%s, %s, %s", kernel.name(), type, scaling.kind()).isEqualTo(expected.data().asDouble());
            }
        }
    }
}
