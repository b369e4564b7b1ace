package org.memferry;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;

/** Packages are floors and imports go down only; DL4J stays DL4J. Judged from the compiled classes of the library. */
class ArchitectureTest {

    /** The floors, uppermost first. The uppermost is the package itself; the others include their subpackages. */
    private static final List<String> FLOORS = List.of("org.memferry", "org.memferry.network", "org.memferry.planner",
            "org.memferry.report", "org.memferry.shadow", "org.memferry.update", "org.memferry.engine", "org.memferry.nd4j",
            "org.memferry.device", "org.memferry.plan", "org.memferry.base");

    private static final String AGENT = "org.memferry.agent..";

    private static final JavaClasses LIBRARY = new ClassFileImporter().withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS).importPackages("org.memferry");

    @Test
    void the_library_is_what_is_judged() {
        assertThat(LIBRARY.contain(MemFerry.class)).isTrue();
        assertThat(LIBRARY.contain(ArchitectureTest.class)).isFalse();
    }

    @Test
    void imports_go_down_only_and_every_class_stands_on_a_floor() {
        LayeredArchitecture house = layeredArchitecture().consideringOnlyDependenciesInLayers().withOptionalLayers(true);
        for (String floor : FLOORS) {
            house = house.layer(floor).definedBy(floor.equals(FLOORS.get(0)) ? floor : floor + "..");
        }
        for (int i = 0; i < FLOORS.size() - 1; i++) {
            house = house.whereLayer(FLOORS.get(i)).mayOnlyAccessLayers(FLOORS.subList(i + 1, FLOORS.size()).toArray(new String[0]));
        }
        house.whereLayer(FLOORS.get(FLOORS.size() - 1)).mayNotAccessAnyLayer()
                // In front of the house: it knows the library by the name of one class, and the library does not know it.
                .layer(AGENT).definedBy(AGENT).whereLayer(AGENT).mayNotAccessAnyLayer().whereLayer(AGENT).mayNotBeAccessedByAnyLayer()
                .ensureAllClassesAreContainedInArchitecture()
                .check(LIBRARY);
    }

    @Test
    void engine_device_plan_and_base_know_neither_ND4J_nor_DL4J() {
        noClasses().that().resideInAnyPackage("org.memferry.engine..", "org.memferry.device..", "org.memferry.plan..",
                "org.memferry.base..")
                .should().dependOnClassesThat().resideInAnyPackage("org.nd4j..", "org.deeplearning4j..")
                .check(LIBRARY);
    }

    /** The one class besides calls a public method of ND4J by name, since ND4J has it only from 1.0.0-M2 on. */
    @Test
    void only_Dl4jFields_reaches_into_DL4J_by_reflection() {
        noClasses().that().doNotHaveFullyQualifiedName("org.memferry.network.Dl4jFields")
                .and().doNotHaveFullyQualifiedName("org.memferry.nd4j.RegionArrays")
                .and().resideOutsideOfPackage(AGENT)
                .should().dependOnClassesThat().resideInAnyPackage("java.lang.reflect..", "java.lang.invoke..")
                .orShould().callMethod(Class.class, "getDeclaredField", String.class)
                .orShould().callMethod(Class.class, "getDeclaredFields")
                .because("a field that DL4J moves must be named in one place")
                .check(LIBRARY);
        noClasses().that().haveFullyQualifiedName("org.memferry.nd4j.RegionArrays")
                .should().dependOnClassesThat().haveFullyQualifiedName("java.lang.reflect.Field")
                .check(LIBRARY);
    }

    /** The agent complains before a program has set up its log. */
    @Test
    void nothing_is_printed() {
        noClasses().that().resideOutsideOfPackage(AGENT).should(ACCESS_STANDARD_STREAMS).check(LIBRARY);
    }

    @Test
    void no_class_extends_a_network() {
        classes().should().notBeAssignableTo(MultiLayerNetwork.class).andShould().notBeAssignableTo(ComputationGraph.class).check(LIBRARY);
    }

    /** One backend's jar is there and the other's is not: what is bound to either is named by its own, and by what chooses among them. */
    @Test
    void the_classes_of_one_backend_of_ND4J_are_touched_by_no_other() {
        for (String backend : List.of("org.nd4j.linalg.cpu.", "org.nd4j.linalg.jcublas", "org.nd4j.jita.")) {
            DescribedPredicate<JavaClass> bound = DescribedPredicate.describe("are bound to " + backend, c -> isBound(c, backend));
            noClasses().that(DescribedPredicate.not(bound)).and().haveSimpleNameNotContaining("CpuArrays")
                    .and().doNotHaveFullyQualifiedName("org.memferry.nd4j.ArrayFactory$Loaded")
                    .and().doNotHaveFullyQualifiedName("org.memferry.MemFerryRuntime")
                    .should().dependOnClassesThat(bound).check(LIBRARY);
        }
    }

    private static boolean isBound(JavaClass c, String backend) {
        boolean ours = c.getPackageName().startsWith("org.memferry");
        return ours && (c.getAllRawSuperclasses().stream().anyMatch(s -> s.getPackageName().startsWith(backend))
                || c.getDirectDependenciesFromSelf().stream().anyMatch(d -> d.getTargetClass().getPackageName().startsWith(backend)));
    }
}
