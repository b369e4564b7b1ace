package org.memferry.network;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.Arrays;

/**
 * The size of the data that is trained or evaluated at once, as far as memory and time depend on it: how many examples, and how large each
 * input's part of one of them is. That is steps of time for a series, and elements for everything else, so that it does not matter in which
 * order an array has its dimensions. Masks do not count. Immutable; what takes arrays allocates nothing.
 */
final class DataShape {

    private final int batch;
    /** One per input; null if one of them is not known. */
    private final InputType[] types;
    /** Per input: steps of a series, or elements, of one example; below 1 where nobody has said how long a series is. */
    private final long[] places;

    private DataShape(int batch, InputType[] types, long[] places) {
        this.batch = batch;
        this.types = types;
        this.places = places;
    }

    /** What somebody says of the data. */
    static DataShape told(int batch, InputType[] types) {
        return new DataShape(batch, types.clone(), Arrays.stream(types).mapToLong(DataShape::places).toArray());
    }

    /**
     * What the network was given last, to train or to evaluate.
     *
     * @param like  the same kind of data as far as is known, whose formats are kept; null if nothing is
     * @param steps of time that are trained at once, so that what is seen of a series is a piece; 0 where all of it is
     */
    static DataShape present(NetworkAdapter adapter, DataShape like, int steps) {
        InputType[] types = new InputType[adapter.inputCount()];
        long[] places = new long[types.length];
        boolean known = true;
        for (int i = 0; i < types.length; i++) {
            INDArray a = adapter.input(i);
            InputType before = like == null || like.types == null || i >= like.types.length ? null : like.types[i];
            places[i] = a == null ? 0 : places(before, a);
            types[i] = a == null ? null : type(before, a, places[i], steps);
            known &= types[i] != null;
        }
        return new DataShape(examples(adapter), known ? types : null, places);
    }

    private static InputType type(InputType before, INDArray a, long places, int steps) {
        if (before instanceof InputType.InputTypeRecurrent) {
            InputType.InputTypeRecurrent series = (InputType.InputTypeRecurrent) before;
            boolean piece = steps > 0 && series.getTimeSeriesLength() > places;
            return piece ? before : InputType.recurrent(series.getSize(), places, series.getFormat());
        }
        if (before instanceof InputType.InputTypeConvolutional && a.rank() == 4) {
            InputType.InputTypeConvolutional image = (InputType.InputTypeConvolutional) before;
            boolean channelsFirst = a.size(1) == image.getChannels();
            return InputType.convolutional(a.size(channelsFirst ? 2 : 1), a.size(channelsFirst ? 3 : 2), image.getChannels(), image.getFormat());
        }
        if (before instanceof InputType.InputTypeConvolutional3D && a.rank() == 5) {
            InputType.InputTypeConvolutional3D volume = (InputType.InputTypeConvolutional3D) before;
            int first = a.size(1) == volume.getChannels() ? 2 : 1;
            return InputType.convolutional3D(volume.getDataFormat(), a.size(first), a.size(first + 1), a.size(first + 2), volume.getChannels());
        }
        return before != null && places(before) == places ? before : NetworkAdapter.typeOf(a);
    }

    private static long places(InputType type) {
        return type instanceof InputType.InputTypeRecurrent ? ((InputType.InputTypeRecurrent) type).getTimeSeriesLength()
                : type.arrayElementsPerExample();
    }

    /** @param type the kind of data; null to go by the array alone */
    private static long places(InputType type, INDArray a) {
        boolean recurrent = type == null ? a.rank() == 3 : type instanceof InputType.InputTypeRecurrent;
        if (recurrent && a.rank() == 3) {
            long size = type == null ? a.size(1) : ((InputType.InputTypeRecurrent) type).getSize();
            // Words may come by their number, one for each step.
            return a.size(1) == size ? a.size(2) : a.size(2) == size ? a.size(1) : Math.max(a.size(1), a.size(2));
        }
        return a.size(0) < 1 ? 0 : a.length() / a.size(0);
    }

    private static int examples(NetworkAdapter adapter) {
        INDArray first = adapter.inputCount() == 0 ? null : adapter.input(0);
        return first == null || first.rank() == 0 ? 0 : (int) Math.min(Integer.MAX_VALUE, first.size(0));
    }

    /** True if the data that the network was given last is nowhere larger. */
    boolean covers(NetworkAdapter adapter) {
        for (int i = 0; i < adapter.inputCount(); i++) {
            INDArray a = adapter.input(i);
            if (a != null && (a.size(0) > batch || i < places.length && places(types == null ? null : types[i], a) > places[i])) {
                return false;
            }
        }
        return true;
    }

    /** True if other data is nowhere larger. */
    boolean covers(DataShape other) {
        if (other.batch > batch) {
            return false;
        }
        for (int i = 0; i < Math.min(places.length, other.places.length); i++) {
            if (other.places[i] > places[i]) {
                return false;
            }
        }
        return true;
    }

    /** How many times as large as this the data is that the network was given last, by that input which has most. */
    double timesIn(NetworkAdapter adapter) {
        double most = 0;
        for (int i = 0; i < Math.min(places.length, adapter.inputCount()); i++) {
            INDArray a = adapter.input(i);
            if (a != null && places[i] > 0 && batch > 0) {
                most = Math.max(most, (double) a.size(0) * places(types == null ? null : types[i], a) / ((double) batch * places[i]));
            }
        }
        return most == 0 ? 1 : most;
    }

    /** The same for another number of examples. */
    DataShape of(int examples) {
        return new DataShape(examples, types, places);
    }

    /** The same with so many steps of each series at most; 0 for all of them. */
    DataShape cut(int steps) {
        return steps == 0 || types == null ? this : told(batch, TrainingMemory.segments(types, steps));
    }

    /** The same without a word of the kind of data, so that its memory is not estimated. */
    DataShape withoutTypes() {
        return new DataShape(batch, null, places);
    }

    /** Each input as it is in the one of two shapes where it is larger. */
    DataShape join(DataShape other) {
        if (types == null || other.types == null || types.length != other.types.length) {
            return types == null ? other : this;
        }
        InputType[] larger = types.clone();
        for (int i = 0; i < larger.length; i++) {
            larger[i] = other.places[i] > places[i] ? other.types[i] : larger[i];
        }
        return told(Math.max(batch, other.batch), larger);
    }

    int batch() {
        return batch;
    }

    /** One per input, not to be written to; null if they are not known. */
    InputType[] types() {
        return types;
    }

    @Override
    public String toString() {
        return batch + " examples of " + (types == null ? Arrays.toString(places) + " elements" : Arrays.toString(types));
    }
}
