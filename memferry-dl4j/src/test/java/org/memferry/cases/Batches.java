package org.memferry.cases;

import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

import java.util.List;

/** An iterator over given batches. DL4J's own moved between packages from 1.0.0-M1.1 to M2.1. */
final class Batches implements DataSetIterator {

    private static final long serialVersionUID = 1L;

    private final transient List<DataSet> batches;
    private int next;

    private Batches(List<DataSet> batches) {
        this.batches = batches;
    }

    /** The batches in their order, again after each reset. */
    static DataSetIterator of(DataSet... batches) {
        return new Batches(List.of(batches));
    }

    @Override
    public boolean hasNext() {
        return next < batches.size();
    }

    @Override
    public DataSet next() {
        DataSet batch = batches.get(next++);
        // DL4J's evaluation detaches what it gets: every caller has a batch of its own.
        return new DataSet(batch.getFeatures().dup(), batch.getLabels() == null ? null : batch.getLabels().dup());
    }

    @Override
    public DataSet next(int count) {
        throw new UnsupportedOperationException("batches have the size they were given with");
    }

    @Override
    public void reset() {
        next = 0;
    }

    @Override
    public boolean resetSupported() {
        return true;
    }

    @Override
    public boolean asyncSupported() {
        return false;
    }

    @Override
    public int inputColumns() {
        return (int) batches.get(0).getFeatures().size(1);
    }

    @Override
    public int totalOutcomes() {
        return (int) batches.get(0).getLabels().size(1);
    }

    @Override
    public int batch() {
        return (int) batches.get(0).getFeatures().size(0);
    }

    @Override
    public void setPreProcessor(DataSetPreProcessor preProcessor) {
        throw new UnsupportedOperationException("batches come as they were given");
    }

    @Override
    public DataSetPreProcessor getPreProcessor() {
        return null;
    }

    @Override
    public List<String> getLabels() {
        return null;
    }
}
