package org.memferry.examples.gpucheck;

import org.memferry.device.cuda.ComputeStream;

/**
 * What the check lets a card compute, on one stream, asynchronously: the products that a dense layer is made of. Addresses of weights and
 * gradients may be device memory or pinned host memory; activations are the kernels' own, in device memory.
 */
interface Kernels extends ComputeStream, AutoCloseable {

    /** What computes, for the report. */
    String name();

    /** False where something else stands in for arithmetic, so that rates of arithmetic mean nothing. */
    boolean compute();

    /** Activations of a layer from its weights. */
    void forward(long weights, Shape shape);

    /** Gradient of the layer's input from its weights. */
    void inputGradient(long weights, Shape shape);

    /** Gradient of the weights. */
    void weightGradient(long gradient, Shape shape);

    /**
     * Collects rows of a table, as an embedding does.
     *
     * @param table address of the first row
     * @param rows  indices of the rows wanted
     * @param width floats in a row
     */
    void gather(long table, int[] rows, int width);

    /** Waits until everything given to the stream is done. */
    void synchronize();

    @Override
    void close();

    /** A dense layer on a batch: weights of {@code outputs * inputs} floats, activations of so many columns. */
    final class Shape {

        final int outputs;
        final int inputs;
        final int columns;

        Shape(int outputs, int inputs, int columns) {
            this.outputs = outputs;
            this.inputs = inputs;
            this.columns = columns;
        }

        /** The squarest layer of so many parameters. */
        static Shape of(long parameters, int columns) {
            int outputs = Math.max(1, (int) Math.sqrt(parameters));
            return new Shape(outputs, Math.toIntExact(parameters / outputs), columns);
        }

        long weightBytes() {
            return (long) outputs * inputs * Float.BYTES;
        }

        long activationBytes() {
            return (long) Math.max(outputs, inputs) * columns * Float.BYTES;
        }

        double flops() {
            return 2.0 * outputs * inputs * columns;
        }

        @Override
        public String toString() {
            return outputs + "x" + inputs + ", batch " + columns;
        }
    }
}
