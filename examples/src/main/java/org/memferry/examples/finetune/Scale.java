package org.memferry.examples.finetune;

/** How large the example is. */
enum Scale {

    /** 21 million parameters. */
    FULL(32, 2048, 64, 2, 3, 5),
    /** 3 million parameters, for a quick look. */
    SMALL(8, 768, 32, 2, 2, 4);

    /** Channels of the first convolution; the second has twice as many. */
    final int channels;
    /** Outputs of the wide dense layers. */
    final int width;
    final int batch;
    final int pretrainEpochs;
    /** Epochs of the new output layer alone. */
    final int frozenEpochs;
    /** Epochs of all layers after that. */
    final int openEpochs;

    Scale(int channels, int width, int batch, int pretrainEpochs, int frozenEpochs, int openEpochs) {
        this.channels = channels;
        this.width = width;
        this.batch = batch;
        this.pretrainEpochs = pretrainEpochs;
        this.frozenEpochs = frozenEpochs;
        this.openEpochs = openEpochs;
    }
}
