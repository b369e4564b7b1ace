package org.memferry.network;

import org.memferry.device.HostBytes;
import org.memferry.device.Region;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Compares parameters and updater state of a network bit for bit with stock DL4J's, and tells the first element that differs by its name. */
final class StepComparison {

    private final BlockLayout layout;
    private final int width;
    /** For each parameter in the order of the flat vector, such as {@code parameter W of layer 1 (DenseLayer)}. */
    private final List<String> names = new ArrayList<>();
    private final HostBytes bytes = new HostBytes();

    /**
     * @param units  of the stock network, whose parameter tables are read
     * @param layout of the updater state
     * @param width  bytes of one element
     */
    StepComparison(List<NetworkUnit> units, BlockLayout layout, int width) {
        this.layout = layout;
        this.width = width;
        for (NetworkUnit unit : units) {
            for (Map.Entry<String, INDArray> e : unit.trainable.paramTable(false).entrySet()) {
                names.add("parameter " + e.getKey() + " of layer " + unit.name + " (" + unit.type() + ")");
            }
        }
    }

    /** The first difference with the score too; null if all is the same. */
    String difference(Region params, Region stockParams, Region state, Region stockState, double score, double stockScore) {
        boolean same = Double.doubleToRawLongBits(score) == Double.doubleToRawLongBits(stockScore);
        String scores = "the score is " + score + ", in stock DL4J " + stockScore;
        String values = difference(params, stockParams, state, stockState);
        return same ? values : values == null ? scores + ", while parameters and updater state are equal" : values + "; " + scores;
    }

    /** The first difference; null if all is the same. */
    String difference(Region params, Region stockParams, Region state, Region stockState) {
        long parameter = first(params, stockParams);
        long inState = first(state, stockState);
        if (parameter < 0 && inState < 0) {
            return null;
        }
        String first = parameter >= 0 ? parameterName(parameter) + values(params, stockParams, parameter)
                : stateName(inState) + values(state, stockState, inState);
        return first + "; " + count(params, stockParams) + " of " + layout.parameterCount() + " parameters and " + count(state, stockState)
                + " of " + layout.stateCount() + " values of updater state differ";
    }

    private long first(Region a, Region b) {
        long found = bytes.firstDifference(a.address(), b.address(), b.bytes());
        return found < 0 ? -1 : found / width;
    }

    private String parameterName(long element) {
        int p = parameterAt(element);
        return names.get(p) + " differs first at element " + (element - layout.parameterStart(p)) + " of " + length(p);
    }

    /** A block's state holds one component after another, each with the block's parameters in their order. */
    private String stateName(long element) {
        int block = 0;
        while (element >= layout.stateEnd(block)) {
            block++;
        }
        long inBlock = layout.blockEnd(block) - layout.blockStart(block);
        long into = element - layout.stateStart(block);
        long at = layout.blockStart(block) + into % inBlock;
        int p = parameterAt(at);
        return "updater state " + (into / inBlock + 1) + " of " + layout.components(block) + " of " + names.get(p)
                + " differs first at element " + (at - layout.parameterStart(p)) + " of " + length(p);
    }

    private int parameterAt(long element) {
        int p = 0;
        while (element >= layout.parameterEnd(p)) {
            p++;
        }
        return p;
    }

    private long length(int parameter) {
        return layout.parameterEnd(parameter) - layout.parameterStart(parameter);
    }

    private String values(Region a, Region b, long element) {
        return ": " + value(a, element) + ", in stock DL4J " + value(b, element);
    }

    private String value(Region region, long element) {
        long bits = bytes.bits(region.address() + element * width, width);
        return (width == Float.BYTES ? String.valueOf(Float.intBitsToFloat((int) bits)) : String.valueOf(Double.longBitsToDouble(bits)))
                + " (bits " + Long.toHexString(bits) + ")";
    }

    private long count(Region a, Region b) {
        long count = 0;
        for (long at = 0; at < b.bytes(); at += width) {
            if (bytes.bits(a.address() + at, width) != bytes.bits(b.address() + at, width)) {
                count++;
            }
        }
        return count;
    }
}
