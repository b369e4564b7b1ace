package org.memferry.parity;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.ChildJvm;
import org.memferry.MemFerryRuntime;

/** Families whose layers are entered and left in ways of their own, with MemFerry's managers in ND4J: in a program of its own. */
class ManagersParityTest {

    private static final List<String> FAMILIES = List.of("alexnet-like", "attention-vertex-projected", "bidirectional-lstm", "graph-tbptt",
            "multi-input-output");

    @TempDir
    Path directory;

    @Test
    void trainsBitIdenticallyToStockWithTheManagers() throws IOException, InterruptedException {
        String output = ChildJvm.with(ChildJvm.MANAGERS).and("-Dmemferry.parity=placement", "-Dmemferry.families=" + String.join("|", FAMILIES))
                .run(Child.class, directory.toString());
        long runnable = Families.runnable().stream().filter(family -> FAMILIES.contains(family.name())).count();
        assertThat(output.lines().filter(l -> l.startsWith("IDENTICAL")).count()).as(output).isEqualTo(runnable).isPositive();
    }

    /** The program. */
    static final class Child {

        private Child() {
        }

        /** @param args a directory */
        public static void main(String[] args) throws IOException {
            assertThat(MemFerryRuntime.isInstalled()).isTrue();
            for (ParityTest.Run run : ParityTest.runs()) {
                new ParityTest().trainsBitIdenticallyToStock(run, Files.createTempDirectory(Path.of(args[0]), "run"));
                System.out.println("IDENTICAL " + run);
            }
        }
    }
}
