package org.memferry.agent;

import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.utility.JavaModule;

import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;

import static net.bytebuddy.matcher.ElementMatchers.isStatic;
import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

/** Which methods of DL4J get which line of {@link Advices}. */
final class Transformations {

    private static final String NETWORKS = "org.deeplearning4j.nn.multilayer.MultiLayerNetwork";
    private static final String GRAPHS = "org.deeplearning4j.nn.graph.ComputationGraph";
    private static final String EDITORS = "org.deeplearning4j.nn.transferlearning.TransferLearning$";
    private static final String FILES = "org.deeplearning4j.util.ModelSerializer";
    private static final String KERAS = "org.deeplearning4j.nn.modelimport.keras.KerasModelImport";

    private Transformations() {
    }

    /**
     * Changes the classes as they are loaded, by any class loader.
     *
     * @param complaints is told if one cannot be changed
     */
    static void install(Instrumentation instrumentation, Consumer<String> complaints) {
        Hook.listen(new Libraries(complaints));
        new AgentBuilder.Default()
                .disableClassFormatChanges()
                .with(new Complaints(complaints))
                .type(named(NETWORKS).or(named(GRAPHS)))
                .transform((type, description, loader, module, domain) -> network(type))
                .type(nameStartsWith(EDITORS))
                .transform((type, description, loader, module, domain) -> type.visit(
                        advice(Advices.Return.class, named("build").and(takesArguments(0)))))
                .type(named(FILES))
                .transform((type, description, loader, module, domain) -> type.visit(
                        advice(Advices.Return.class, isStatic().and(nameStartsWith("restoreMultiLayerNetwork")
                                .or(nameStartsWith("restoreComputationGraph"))))))
                .type(named(KERAS))
                .transform((type, description, loader, module, domain) -> type.visit(
                        advice(Advices.Return.class, isStatic().and(nameStartsWith("import")))))
                .installOn(instrumentation);
    }

    private static DynamicType.Builder<?> network(DynamicType.Builder<?> type) {
        return type.visit(advice(Advices.Init.class, named("init").and(takesArguments(2))))
                .visit(advice(Advices.Return.class, named("convertDataType").and(takesArguments(1))))
                .visit(advice(Advices.Accumulator.class, named("setGradientsAccumulator")))
                .visit(advice(Advices.Close.class, named("close").and(takesArguments(0))));
    }

    private static AsmVisitorWrapper advice(Class<?> advice, ElementMatcher.Junction<? super MethodDescription> methods) {
        return Advice.to(advice).on(methods);
    }

    private static final class Complaints extends AgentBuilder.Listener.Adapter {

        private final Consumer<String> complaints;

        private Complaints(Consumer<String> complaints) {
            this.complaints = complaints;
        }

        @Override
        public void onError(String type, ClassLoader loader, JavaModule module, boolean loaded, Throwable e) {
            complaints.accept(type + " could not be changed, and networks stay plain DL4J's: " + e);
        }
    }
}
