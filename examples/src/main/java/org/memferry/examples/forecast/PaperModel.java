package org.memferry.examples.forecast;

import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Workload;

import java.util.ArrayList;
import java.util.List;

/**
 * The models of the MemFerry paper by their published shapes, in FP32 with Adam. A block is four layers: the projections for queries, keys
 * and values with the attention itself, the output projection, and the two feed-forward ones; biases and layer normalisations count with
 * them. Backward takes twice the operations of forward and reads the weights once: these are not DL4J's layers, which compute the
 * pre-activation again.
 *
 * <p>Shapes: BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019), GPT-2 (Radford et al. 2019). The paper's Transformer-XL sizes are known by
 * their parameter counts only: here layers and widths of that size are those of table 2.1 of Brown et al. 2020, plus Transformer-XL's
 * projection of relative positions in each block, and GPT-2's vocabulary. Batch and sequence are assumptions throughout.
 */
enum PaperModel {

    BERT_BASE("bert-base", 12, 768, 12, 30_522, 512, 8, 0),
    BERT_LARGE("bert-large", 24, 1024, 16, 30_522, 512, 8, 0),
    ROBERTA_BASE("roberta-base", 12, 768, 12, 50_265, 512, 8, 0),
    GPT2_MEDIUM("gpt2-medium", 24, 1024, 16, 50_257, 1024, 4, 0),
    TXL_700M("txl-0.7b", 24, 1536, 16, 50_257, 512, 4, 1),
    TXL_1300M("txl-1.3b", 24, 2048, 16, 50_257, 512, 4, 1),
    TXL_2700M("txl-2.7b", 32, 2560, 32, 50_257, 512, 4, 1),
    TXL_6700M("txl-6.7b", 32, 4096, 32, 50_257, 512, 4, 1);

    static final int ELEMENT_BYTES = 4;

    private final String title;
    private final int blocks;
    private final long width;
    private final long heads;
    private final long vocabulary;
    private final long steps;
    private final long batch;
    /** Further square projections in a block. */
    private final int extra;

    PaperModel(String title, int blocks, long width, long heads, long vocabulary, long steps, long batch, int extra) {
        this.title = title;
        this.blocks = blocks;
        this.width = width;
        this.heads = heads;
        this.vocabulary = vocabulary;
        this.steps = steps;
        this.batch = batch;
        this.extra = extra;
    }

    String title() {
        return title;
    }

    /** The model as published. */
    Workload workload() {
        return workload(blocks);
    }

    /** The model with another number of blocks. */
    Workload workload(int depth) {
        Layers layers = new Layers();
        long square = width * width;
        // The table is read by rows; positions and, in BERT, segments are part of it.
        layers.add("embedding", "Embedding", (vocabulary + steps + 2) * width, 0, width, 0);
        for (int block = 0; block < depth; block++) {
            String name = "block " + block + " ";
            double attention = 4.0 * steps * steps * width;
            layers.add(name + "qkv", "Attention", (3 + extra) * square + 3 * width, attention, 3 * width + 2 * heads * steps, 1);
            layers.add(name + "out", "Dense", square + 3 * width, 0, 3 * width, 1);
            layers.add(name + "ff1", "Dense", 4 * square + 4 * width, 0, 8 * width, 1);
            layers.add(name + "ff2", "Dense", 4 * square + 3 * width, 0, 3 * width, 1);
        }
        return layers.workload(depth);
    }

    /** Collects layers in execution order. */
    private final class Layers {

        private final List<LayerDescription> layers = new ArrayList<>();
        private final List<LayerWork> work = new ArrayList<>();
        private long parameters;
        private long activations;
        private long largest;

        /**
         * @param more        operations of forward per example beside the weights' products
         * @param activation  elements per step that stay until backward
         * @param touches     0 for a table that is read by rows
         */
        void add(String name, String type, long count, double more, long activation, int touches) {
            layers.add(LayerDescription.builder(name, type).parameters(parameters, count).touches(touches, touches).build());
            parameters += count;
            double forward = batch * (touches * 2.0 * count * steps + more);
            long bytes = batch * steps * activation * ELEMENT_BYTES;
            work.add(new LayerWork(forward, 2 * forward, bytes));
            activations += bytes;
            largest = Math.max(largest, bytes);
        }

        Workload workload(int depth) {
            int[] forward = new int[layers.size()];
            int[] backward = new int[layers.size()];
            for (int i = 0; i < forward.length; i++) {
                forward[i] = i;
                backward[i] = forward.length - 1 - i;
            }
            NetworkDescription network = new NetworkDescription(layers, forward, backward, forward, parameters, 2 * parameters, ELEMENT_BYTES);
            return new Workload(title + " of " + depth + " blocks, batch " + batch + " of " + steps + " steps", network, work,
                    new IterationMemory(0, activations, 2 * largest, 0, "kept outputs of all layers and twice the largest"));
        }
    }
}
