package org.memferry.network;

import org.memferry.nd4j.RegionArrays;
import org.memferry.update.ElementType;
import org.memferry.update.HostNorm;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm2;
import org.nd4j.linalg.factory.Nd4j;

/** Who takes the norms of gradient normalisation: on the CPU backend ND4J, whose bits parity asks for; on another our own reduction. */
interface GradientNorms {

    /** The norm that a layer's gradient, or a parameter's clipped one, is judged by. */
    double of(INDArray gradient);

    /** The norm that a parameter's gradient is renormalised by: DL4J asks for it by another of ND4J's operations. */
    double ofRenormalised(INDArray gradient);

    /**
     * The norms for a backend.
     *
     * @param backend simple name of ND4J's backend class
     * @param engine  whose threads our own reduction uses
     * @param type    type of the gradients
     */
    static GradientNorms of(String backend, UpdateEngine engine, ElementType type) {
        return Support.CPU_BACKEND.equals(backend) ? new OfNd4j() : new OfHost(new HostNorm(engine, type));
    }

    /** ND4J's own operations on the host view. */
    final class OfNd4j implements GradientNorms {

        @Override
        public double of(INDArray gradient) {
            return gradient.norm2Number().doubleValue();
        }

        @Override
        public double ofRenormalised(INDArray gradient) {
            return Nd4j.getExecutioner().execAndReturn(new Norm2(gradient)).getFinalResult().doubleValue();
        }
    }

    /** One reduction over the host gradients, whatever the threads. */
    final class OfHost implements GradientNorms {

        private final HostNorm norm;

        OfHost(HostNorm norm) {
            this.norm = norm;
        }

        @Override
        public double of(INDArray gradient) {
            return norm.of(RegionArrays.firstElement(gradient), gradient.length());
        }

        @Override
        public double ofRenormalised(INDArray gradient) {
            return of(gradient);
        }
    }
}
