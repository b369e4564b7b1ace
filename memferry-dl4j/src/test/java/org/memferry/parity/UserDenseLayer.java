package org.memferry.parity;

import java.util.Map;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitUtil;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.shade.jackson.annotation.JsonProperty;

/** A dense layer with tanh, as a user of DL4J writes one in SameDiff. Public, as DL4J reads it back from JSON. */
public class UserDenseLayer extends SameDiffLayer {

    private static final String WEIGHT = "weight";
    private static final String BIAS = "bias";

    @JsonProperty
    private long nIn;
    @JsonProperty
    private long nOut;

    /** For JSON. */
    protected UserDenseLayer() {
    }

    /** A layer of these sizes; DL4J does not infer the input's size for SameDiff layers. */
    public UserDenseLayer(long nIn, long nOut) {
        this.nIn = nIn;
        this.nOut = nOut;
        this.weightInit = WeightInit.XAVIER;
    }

    @Override
    public InputType getOutputType(int layerIndex, InputType inputType) {
        return InputType.feedForward(nOut);
    }

    @Override
    public void defineParameters(SDLayerParams params) {
        params.clear();
        params.addWeightParam(WEIGHT, nIn, nOut);
        params.addBiasParam(BIAS, 1, nOut);
    }

    @Override
    public void initializeParameters(Map<String, INDArray> params) {
        params.get(BIAS).assign(0);
        INDArray weight = params.get(WEIGHT);
        WeightInitUtil.initWeights(nIn, nOut, weight.shape(), weightInit, null, 'c', weight);
    }

    @Override
    public SDVariable defineLayer(SameDiff sameDiff, SDVariable input, Map<String, SDVariable> params, SDVariable mask) {
        return sameDiff.math().tanh(input.mmul(params.get(WEIGHT)).add(params.get(BIAS)));
    }
}
