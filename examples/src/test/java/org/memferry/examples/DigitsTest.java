package org.memferry.examples;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class DigitsTest {

    private static final Digits ALL = Digits.bundled();

    @Test
    void theBundledFileHasItsDocumentedSizeAndEveryDigit() {
        assertThat(ALL.size()).isEqualTo(1797);
        assertThat(IntStream.range(0, 10).map(ALL::count)).allMatch(n -> n > 170 && n < 190);
    }

    @Test
    void aBatchHoldsPixelsFromZeroToOneAndOneLabelEach() {
        List<DataSet> batches = ALL.only(5, 9).batches(5, 5, 64);
        assertThat(batches.stream().mapToInt(DataSet::numExamples).sum()).isEqualTo(ALL.only(5, 9).size());
        INDArray x = batches.get(0).getFeatures();
        assertThat(x.shape()).containsExactly(64, 1, 8, 8);
        assertThat(x.minNumber().doubleValue()).isZero();
        assertThat(x.maxNumber().doubleValue()).isEqualTo(1);
        assertThat(batches.get(0).getLabels().shape()).containsExactly(64, 5);
        assertThat(batches.get(0).getLabels().sum(1).minNumber().doubleValue()).isEqualTo(1);
    }

    @Test
    void theFirstRowIsTheFilesFirstRow() {
        DataSet first = ALL.batches(0, 10, 1).get(0);
        assertThat(first.getFeatures().getDouble(0, 0, 0, 3)).isEqualTo(13 / 16.0);
        assertThat(first.outcome()).isZero();
    }

    @Test
    void theSameSeedSplitsTheSameWay() {
        assertThat(values(ALL.test(7))).isEqualTo(values(ALL.test(7)));
        assertThat(values(ALL.train(7))).isEqualTo(values(ALL.train(7)));
        assertThat(values(ALL.test(7))).isNotEqualTo(values(ALL.test(8)));
    }

    @Test
    void theSplitLosesNothingAndRepeatsNothing() {
        assertThat(ALL.train(7).size()).isEqualTo(1438);
        assertThat(ALL.test(7).size()).isEqualTo(359);
        IntStream.range(0, 10).forEach(d -> assertThat(ALL.train(7).count(d) + ALL.test(7).count(d)).isEqualTo(ALL.count(d)));
    }

    @Test
    void aRowThatIsNoDigitIsRefusedWithItsNumber(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("bad.csv");
        String good = "0,".repeat(64) + "3\n";
        Files.writeString(file, good + "1,2,3\n");
        assertThatThrownBy(() -> Digits.read(file)).isInstanceOf(IOException.class).hasMessageContaining("row 2")
                .hasMessageContaining("expected: 64 whole numbers 0..16 and a digit");
        Files.writeString(file, good + "17,".repeat(64) + "3\n");
        assertThatThrownBy(() -> Digits.read(file)).hasMessageContaining("row 2");
        Files.writeString(file, good);
        assertThat(Digits.read(file).count(3)).isEqualTo(1);
        Files.writeString(file, "");
        assertThatThrownBy(() -> Digits.read(file)).hasMessageContaining("no rows");
    }

    private static float[] values(Digits digits) {
        return digits.batches(0, 10, digits.size()).get(0).getFeatures().data().asFloat();
    }
}
