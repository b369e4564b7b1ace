package org.memferry.agent;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** What is copied into DL4J's methods: each line calls {@link Hook} and nothing else. */
final class Advices {

    private Advices() {
    }

    /** {@code init(INDArray parameters, boolean cloneParametersArray)}. */
    static final class Init {

        private Init() {
        }

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.Origin Class<?> dl4j, @Advice.This Object network, @Advice.Argument(0) Object parameters) {
            return parameters == null && Hook.tell(Hook.INITIALISING, dl4j, network);
        }

        /** One that was not initialised for DL4J has been judged already. */
        @Advice.OnMethodExit
        static void exit(@Advice.Origin Class<?> dl4j, @Advice.This Object network, @Advice.Argument(0) Object parameters) {
            if (parameters != null) {
                Hook.tell(Hook.MADE, dl4j, network);
            }
        }
    }

    /** A method that returns a network. */
    static final class Return {

        private Return() {
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Origin Class<?> dl4j, @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object made) {
            Hook.tell(Hook.MADE, dl4j, made);
        }
    }

    /** {@code setGradientsAccumulator}. */
    static final class Accumulator {

        private Accumulator() {
        }

        @Advice.OnMethodEnter
        static void enter(@Advice.Origin Class<?> dl4j, @Advice.This Object network, @Advice.Argument(0) Object accumulator) {
            Hook.tell(Hook.ACCUMULATOR, dl4j, network, accumulator);
        }
    }

    /** {@code close}. */
    static final class Close {

        private Close() {
        }

        @Advice.OnMethodEnter
        static void enter(@Advice.Origin Class<?> dl4j, @Advice.This Object network) {
            Hook.tell(Hook.CLOSING, dl4j, network);
        }
    }
}
