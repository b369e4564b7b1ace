package org.memferry.examples.finetune;

import org.memferry.examples.Digits;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.util.List;

/** What both runs are given: the saved network, and the same arrays of digits 5-9. */
final class Task {

    private static final int FIRST_NEW_DIGIT = 5;

    final Scale scale;
    final File model;
    final List<DataSet> train;
    final List<DataSet> test;

    Task(Scale scale, File model, Digits digits) {
        this.scale = scale;
        this.model = model;
        Digits wanted = digits.only(FIRST_NEW_DIGIT, FIRST_NEW_DIGIT + Networks.CLASSES - 1);
        this.train = wanted.train(Networks.SEED).batches(FIRST_NEW_DIGIT, Networks.CLASSES, scale.batch);
        this.test = wanted.test(Networks.SEED).batches(FIRST_NEW_DIGIT, Networks.CLASSES, scale.batch);
    }
}
