package org.memferry.parity;

import java.util.Map;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitUtil;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.shade.jackson.annotation.JsonProperty;

/**
 * A linear output layer under the mean squared error, as a user of DL4J writes one in SameDiff. Public, as DL4J reads it back from
 * JSON.
 */
public class UserOutputLayer extends SameDiffOutputLayer {

    private static final String WEIGHT = "weight";
    private static final String BIAS = "bias";
    private static final String ACTIVATIONS = "activations";

    @JsonProperty
    private long nIn;
    @JsonProperty
    private long nOut;

    /** For JSON. */
    protected UserOutputLayer() {
    }

    /** A layer of these sizes; DL4J does not infer the input's size for SameDiff layers. */
    public UserOutputLayer(long nIn, long nOut) {
        this.nIn = nIn;
        this.nOut = nOut;
    }

    @Override
    public String activationsVertexName() {
        return ACTIVATIONS;
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
        WeightInitUtil.initWeights(nIn, nOut, weight.shape(), WeightInit.XAVIER, null, 'c', weight);
    }

    @Override
    public SDVariable defineLayer(SameDiff sameDiff, SDVariable input, SDVariable labels, Map<String, SDVariable> params) {
        SDVariable activations = input.mmul(params.get(WEIGHT)).add(ACTIVATIONS, params.get(BIAS));
        SDVariable difference = activations.sub(labels);
        return difference.mul(difference).mean("loss", 0, 1);
    }
}
