package org.memferry.network;

import org.memferry.plan.IterationMemory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The data that a plan leaves room for: all that was told or seen so far, of which only the largest is kept. One shape may have more
 * examples and another longer series, so that there can be several. Immutable; what is asked in every iteration allocates nothing.
 */
final class PlannedShapes {

    private final int segmentSteps;
    private final int evaluation;
    private final List<DataShape> trained;
    private final List<DataShape> evaluated;
    /** What may be evaluated. What is trained need not be among it: DL4J keeps other arrays when it evaluates, which may be more. */
    private final DataShape[] inference;
    private final DataShape[] training;

    private PlannedShapes(int segmentSteps, int evaluation, List<DataShape> trained, List<DataShape> evaluated) {
        this.segmentSteps = segmentSteps;
        this.evaluation = evaluation;
        this.trained = trained;
        this.evaluated = evaluated;
        List<DataShape> all = new ArrayList<>(evaluated);
        if (evaluation > 0) {
            // A series that is trained in segments may be evaluated whole.
            trained.forEach(shape -> all.add(shape.cut(segmentSteps).of(evaluation)));
        }
        this.inference = all.toArray(new DataShape[0]);
        this.training = trained.toArray(new DataShape[0]);
    }

    /**
     * Nothing is known yet.
     *
     * @param segmentSteps see {@link NetworkAdapter#segmentSteps()}
     * @param evaluation   examples that are evaluated at once, of the shapes that are trained; 0 if that is not said
     */
    static PlannedShapes none(int segmentSteps, int evaluation) {
        return new PlannedShapes(segmentSteps, evaluation, List.of(), List.of());
    }

    PlannedShapes withTrained(DataShape shape) {
        return new PlannedShapes(segmentSteps, evaluation, with(trained, shape), evaluated);
    }

    PlannedShapes withEvaluated(DataShape shape) {
        boolean covered = Arrays.stream(inference).anyMatch(other -> other.covers(shape));
        return covered ? this : new PlannedShapes(segmentSteps, evaluation, trained, with(evaluated, shape));
    }

    private static List<DataShape> with(List<DataShape> shapes, DataShape more) {
        List<DataShape> all = new ArrayList<>(shapes);
        all.removeIf(more::covers);
        all.add(more);
        return List.copyOf(all);
    }

    /** True if there is room to train on what the network was given last. */
    boolean coverTraining(NetworkAdapter adapter) {
        return cover(training, adapter);
    }

    /** True if there is room to evaluate what the network was given last. */
    boolean coverEvaluation(NetworkAdapter adapter) {
        return cover(inference, adapter);
    }

    private static boolean cover(DataShape[] shapes, NetworkAdapter adapter) {
        for (DataShape shape : shapes) {
            if (shape.covers(adapter)) {
                return true;
            }
        }
        return false;
    }

    /** True if the kind of data that is trained is known. */
    boolean isKnown() {
        return longest() != null && longest().types() != null;
    }

    /** Each input as it is where it is largest, whether or not all of them are in the same iteration; null if none is known. */
    DataShape longest() {
        return trained.stream().reduce(DataShape::join).orElse(null);
    }

    /** What is trained, for a reader. */
    String trained() {
        return String.valueOf(trained);
    }

    /**
     * What DL4J comes to hold on the device for all of them.
     *
     * @throws RuntimeException whatever DL4J throws where the types do not fit the network
     */
    IterationMemory memory(NetworkAdapter adapter) {
        TrainingMemory.Sum sum = new TrainingMemory.Sum();
        for (DataShape shape : trained) {
            if (shape.types() != null) {
                TrainingMemory memory = TrainingMemory.of(adapter, shape.types());
                memory.train(sum, shape.batch());
                memory.evaluate(sum, evaluation);
            }
        }
        for (DataShape shape : evaluated) {
            if (shape.types() != null) {
                TrainingMemory.inOne(adapter, shape.types()).evaluate(sum, shape.batch());
            }
        }
        return sum.memory();
    }
}
