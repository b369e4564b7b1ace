package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.samediff.AbstractSameDiffLayer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.optimize.api.TrainingListener;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a stock copy beside an attached network cannot be asked, told by name before it is: a copy that begins from the same parameters and the
 * same state only computes the same where nothing else is remembered from one iteration to the next, and nobody else takes part.
 */
final class Verifiable {

    private static final String DL4J = "org.deeplearning4j.";
    private static final String ND4J = "org.nd4j.";
    private static final Pattern CLASS_IN_JSON = Pattern.compile("\"@class\"\\s*:\\s*\"([^\"]+)\"");

    private Verifiable() {
    }

    /**
     * Why the iteration that opens cannot be verified; empty if it can.
     *
     * @param ours MemFerry's own listener
     */
    static Optional<String> obstacle(NetworkAdapter network, BaseMultiLayerUpdater<?> updater, BlockLayout layout, TrainingListener ours) {
        if (!Support.computesOnCpu()) {
            return Optional.of("ND4J computes on a card, and a stock copy would take its memory");
        }
        if (network.segmentSteps() > 0) {
            return Optional.of("truncated back-propagation carries the state of recurrent layers from one segment to the next");
        }
        if (!layout.fitsDl4j()) {
            return Optional.of("DL4J's own updater cannot hold " + layout.parameterCount() + " parameters and " + layout.stateCount()
                    + " values of state");
        }
        return ownLayer(network).or(() -> ownRule(updater)).or(() -> takesPart(network, ours));
    }

    private static Optional<String> ownLayer(NetworkAdapter network) {
        for (Layer layer : network.layers()) {
            if (Layers.any(layer, l -> l instanceof OCNNOutputLayer)) {
                return Optional.of("an OCNNOutputLayer remembers the epoch in which it last set its radius");
            }
            if (Layers.any(layer, l -> !isFrom(l, DL4J))) {
                return Optional.of("a layer is of the program's own " + layer.getClass().getName() + ", which may remember something");
            }
        }
        for (GraphVertex vertex : network.vertices()) {
            if (!isFrom(Layers.unfrozen(vertex), DL4J)) {
                return Optional.of("vertex " + vertex.getVertexName() + " is of the program's own " + vertex.getClass().getName()
                        + ", which may remember something");
            }
        }
        return Optional.empty();
    }

    private static Optional<String> ownRule(BaseMultiLayerUpdater<?> updater) {
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            if (block.getGradientUpdater() != null && !isFrom(block.getGradientUpdater(), ND4J)) {
                return Optional.of("an update rule is of the program's own " + block.getGradientUpdater().getClass().getName()
                        + ", which may remember something");
            }
        }
        return Optional.empty();
    }

    private static Optional<String> takesPart(NetworkAdapter network, TrainingListener ours) {
        for (TrainingListener l : network.listeners()) {
            if (l != ours && ListenerHabits.mayTakePart(l)) {
                return Optional.of("the listener " + l.getClass().getName() + " is called before the step, and may change what it is given");
            }
        }
        return Optional.empty();
    }

    /**
     * A class of the program's own among the parts of the configuration (activations, losses, drop-out, preprocessors...), which the copy
     * would have to share: it may remember something, and would be asked twice. Not those that only describe a SameDiff graph.
     */
    static Optional<String> ownPart(NetworkAdapter network) {
        Set<String> describing = new HashSet<>();
        for (NeuralNetConfiguration conf : network.configurations()) {
            if (conf.getLayer() instanceof AbstractSameDiffLayer) {
                describing.add(conf.getLayer().getClass().getName());
            }
        }
        for (GraphVertex vertex : network.vertices()) {
            GraphVertex inside = Layers.unfrozen(vertex);
            if (inside instanceof SameDiffGraphVertex) {
                describing.add(Dl4jFields.SAMEDIFF_VERTEX_CONFIG.get(inside).getClass().getName());
            }
        }
        Matcher classes = CLASS_IN_JSON.matcher(network.configurationJson());
        while (classes.find()) {
            String name = classes.group(1);
            if (!name.startsWith(DL4J) && !name.startsWith(ND4J) && !describing.contains(name)) {
                return Optional.of("the configuration has the program's own " + name + ", which may remember something and would be asked twice");
            }
        }
        return Optional.empty();
    }

    /** What differs between the rules of two updaters with the same blocks; empty if nothing does. */
    static Optional<String> otherRules(BaseMultiLayerUpdater<?> updater, BaseMultiLayerUpdater<?> stock) {
        List<UpdaterBlock> blocks = updater.getUpdaterBlocks();
        for (int i = 0; i < blocks.size(); i++) {
            Object rule = blocks.get(i).getGradientUpdater() == null ? null : blocks.get(i).getGradientUpdater().getConfig();
            UpdaterBlock other = stock.getUpdaterBlocks().get(i);
            Object now = other.getGradientUpdater() == null ? null : other.getGradientUpdater().getConfig();
            if (rule == null ? now != null : !rule.equals(now)) {
                return Optional.of("the network trains with " + rule + ", while its configuration has " + now + " now");
            }
        }
        return Optional.empty();
    }

    private static boolean isFrom(Object object, String packages) {
        return object.getClass().getName().startsWith(packages);
    }
}
