package org.memferry.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

class Nd4jBuildTest {

    /** The jar's name says the same; without the version no card is held against {@link CudaBuild}'s table. */
    @Test
    void the_release_on_the_class_path_is_known() {
        String jar = Nd4j.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        assertThat(jar).endsWith("nd4j-api-" + Nd4jBuild.version() + ".jar");
    }

    @Test
    void a_cuda_backend_is_only_named_where_there_is_one() {
        boolean there = Nd4j.class.getResource("/org/nd4j/linalg/jcublas/JCublasBackend.class") != null;
        assertThat(Nd4jBuild.cuda().isPresent()).isEqualTo(there);
    }
}
