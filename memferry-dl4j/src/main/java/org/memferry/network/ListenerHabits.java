package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What training listeners read of a network and when, judged by their class: nobody can ask them. */
final class ListenerHabits {

    /** DL4J's own listeners that read neither gradients nor updates. */
    private static final Set<String> HARMLESS = Set.of(
            "org.deeplearning4j.optimize.listeners.ScoreIterationListener",
            "org.deeplearning4j.optimize.listeners.PerformanceListener",
            "org.deeplearning4j.optimize.listeners.TimeIterationListener",
            "org.deeplearning4j.optimize.listeners.CollectScoresIterationListener",
            "org.deeplearning4j.optimize.listeners.CollectScoresListener",
            "org.deeplearning4j.optimize.listeners.EvaluativeListener",
            "org.deeplearning4j.optimize.listeners.SleepyTrainingListener",
            "org.deeplearning4j.optimize.listeners.CheckpointListener",
            "org.memferry.MemFerryListener");
    private static final Map<Class<?>, Boolean> READS_BEFORE_STEP = new ConcurrentHashMap<>();
    private static final Map<Class<?>, Boolean> TAKES_PART = new ConcurrentHashMap<>();

    private ListenerHabits() {
    }

    /** Whether the listener may read the update where DL4J leaves it, in the gradient. */
    static boolean mayReadUpdate(TrainingListener listener) {
        return !HARMLESS.contains(listener.getClass().getName());
    }

    /**
     * Whether the listener may read gradients or parameters after backward and before the step: it does something in
     * {@code onBackwardPass} or {@code onGradientCalculation}.
     */
    static boolean mayReadBeforeStep(TrainingListener listener) {
        return mayReadUpdate(listener) && READS_BEFORE_STEP.computeIfAbsent(listener.getClass(),
                c -> overrides(c, "onBackwardPass") || overrides(c, "onGradientCalculation"));
    }

    /**
     * Whether the listener may write activations, parameters or gradients before the step, as it is given them: DL4J's own read only, whatever
     * they do there.
     */
    static boolean mayTakePart(TrainingListener listener) {
        return !listener.getClass().getName().startsWith("org.deeplearning4j.") && mayReadUpdate(listener)
                && TAKES_PART.computeIfAbsent(listener.getClass(), c -> overrides(c, "onBackwardPass") || overrides(c, "onGradientCalculation")
                || overrides(c, "onForwardPass", List.class) || overrides(c, "onForwardPass", Map.class));
    }

    private static boolean overrides(Class<?> listener, String method, Class<?>... afterModel) {
        Class<?>[] parameters = new Class<?>[1 + afterModel.length];
        parameters[0] = Model.class;
        System.arraycopy(afterModel, 0, parameters, 1, afterModel.length);
        Class<?> declarer = Dl4jFields.declarer(listener, method, parameters);
        return declarer != BaseTrainingListener.class && declarer != TrainingListener.class;
    }
}
