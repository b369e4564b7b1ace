package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.base.RefusedException;

import java.io.File;
import java.util.function.Function;

/** Model files to attached networks. */
public final class Restore {

    private Restore() {
    }

    /** Reads a MultiLayerNetwork; see {@code MemFerry.restoreMultiLayerNetwork}. */
    public static MultiLayerNetwork multiLayerNetwork(File file, boolean loadUpdater, AttachRequest request) {
        return (MultiLayerNetwork) restore(file, loadUpdater, request, false,
                json -> new MultiLayerNetwork(MultiLayerConfiguration.fromJson(json)));
    }

    /** Reads a ComputationGraph; see {@code MemFerry.restoreComputationGraph}. */
    public static ComputationGraph computationGraph(File file, boolean loadUpdater, AttachRequest request) {
        return (ComputationGraph) restore(file, loadUpdater, request, true,
                json -> new ComputationGraph(ComputationGraphConfiguration.fromJson(json)));
    }

    private static Model restore(File file, boolean loadUpdater, AttachRequest request, boolean graph, Function<String, Model> network) {
        try (ModelArchive archive = ModelArchive.open(file)) {
            if (archive.isGraph() != graph) {
                throw new RefusedException(file + " holds a " + (graph ? "MultiLayerNetwork" : "ComputationGraph") + ": restore it with "
                        + "MemFerry." + (graph ? "restoreMultiLayerNetwork" : "restoreComputationGraph"));
            }
            Model model = network.apply(archive.configurationJson());
            Ferry.restore(model, request, archive, loadUpdater);
            return model;
        }
    }
}
