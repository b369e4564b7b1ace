package org.memferry.examples.bench;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.nd4j.linalg.dataset.DataSet;

import java.util.List;
import java.util.function.Supplier;

/** What both networks of {@link FitBench} are and learn from. */
final class FitTask {

    final String name;
    /** Makes a configuration; each network needs one of its own, as it counts iterations in it. */
    final Supplier<MultiLayerConfiguration> configuration;
    final InputType input;
    /** Taken in turns, each as often as needed. */
    final List<DataSet> batches;

    FitTask(String name, Supplier<MultiLayerConfiguration> configuration, InputType input, List<DataSet> batches) {
        this.name = name;
        this.configuration = configuration;
        this.input = input;
        this.batches = batches;
    }
}
