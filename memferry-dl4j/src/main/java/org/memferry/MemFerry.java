package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.base.RefusedException;
import org.memferry.network.AttachRequest;
import org.memferry.network.Ferry;
import org.memferry.network.NetworkWork;
import org.memferry.network.Restore;
import org.memferry.plan.Hardware;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Timeline;
import org.memferry.plan.Workload;
import org.memferry.planner.Estimate;
import org.memferry.planner.Simulator;
import org.memferry.report.ForecastTable;
import org.memferry.report.TimelinePage;
import org.memferry.report.TraceJson;
import org.memferry.report.Verification;

import java.io.File;
import java.util.List;

/**
 * An attached network: its parameters, gradients and updater state live in host memory, its layers are served to the device as the plan
 * says, and its numbers are those of plain DL4J. {@code net.fit}, {@code net.output}, listeners, evaluation and saving go on as before.
 *
 * <pre>{@code
 * MultiLayerNetwork net = ...;
 * try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:512MB").build())) {
 *     net.fit(iterator, epochs);
 * }
 * }</pre>
 */
public final class MemFerry implements AutoCloseable {

    private final Ferry ferry;

    private MemFerry(Ferry ferry) {
        this.ferry = ferry;
    }

    /**
     * Attaches to an initialised network. Weights and updater state are kept.
     *
     * @param network a MultiLayerNetwork or ComputationGraph of FLOAT or DOUBLE parameters
     * @throws org.memferry.base.RefusedException     if the network is of a kind that is not served; it is as it was
     * @throws org.memferry.base.OutOfMemoryException if memory is short; the network is as it was
     */
    public static MemFerry attach(Model network, MemFerryConfig config) {
        return new MemFerry(Ferry.attach(network, request(config)));
    }

    private static AttachRequest request(MemFerryConfig config) {
        if (config == null) {
            throw new RefusedException("cannot attach with config null (expected: a configuration, such as MemFerryConfig.defaults())");
        }
        return config.request(null);
    }

    /**
     * Initialises and attaches a network, in place of {@code network.init()}: same initial weights for the same seed, without a copy of
     * them anywhere else.
     */
    public static MemFerry init(Model network, MemFerryConfig config) {
        return new MemFerry(Ferry.init(network, request(config)));
    }

    /**
     * Reads a model file into an attached network, as {@code ModelSerializer.restoreMultiLayerNetwork} does into a plain one.
     *
     * @param loadUpdater whether to read the updater state
     */
    public static MultiLayerNetwork restoreMultiLayerNetwork(File file, boolean loadUpdater, MemFerryConfig config) {
        return Restore.multiLayerNetwork(file, loadUpdater, request(config));
    }

    /**
     * Reads a model file into an attached graph, as {@code ModelSerializer.restoreComputationGraph} does into a plain one.
     *
     * @param loadUpdater whether to read the updater state
     */
    public static ComputationGraph restoreComputationGraph(File file, boolean loadUpdater, MemFerryConfig config) {
        return Restore.computationGraph(file, loadUpdater, request(config));
    }

    /**
     * What a network has to do in an iteration, told without running or initialising it: the input of
     * {@link org.memferry.planner.Forecast}.
     *
     * @param batch examples in an iteration
     * @param types one input type per network input, with the length of time where there is one
     * @throws org.memferry.base.RefusedException if the network is of a kind that is not served, or the types do not fit it
     */
    public static Workload describe(Model network, int batch, InputType... types) {
        return NetworkWork.of(network, batch, types);
    }

    /**
     * What training a network will take, on the device and on the host, under each strategy: without a GPU, and without initialising the
     * network or allocating anything of its size.
     *
     * <pre>{@code
     * Estimate estimate = MemFerry.estimate(net, 32, Hardware.named("RTX3060"), InputType.convolutional(224, 224, 3));
     * System.out.println(estimate.table());
     * }</pre>
     *
     * @param network  a MultiLayerNetwork or ComputationGraph, initialised or not
     * @param batch    examples in an iteration
     * @param hardware the device; {@link Hardware#withDeviceBytes} for another amount of memory
     * @param types    one input type per network input, with the length of time where there is one
     * @throws org.memferry.base.RefusedException if the network is of a kind that is not served, or the types do not fit it
     */
    public static Estimate estimate(Model network, int batch, Hardware hardware, InputType... types) {
        return NetworkWork.estimate(network, batch, hardware, types);
    }

    /** {@link #estimate(Model, int, Hardware, InputType...)} for a configuration. */
    public static Estimate estimate(MultiLayerConfiguration network, int batch, Hardware hardware, InputType... types) {
        return NetworkWork.estimate(new MultiLayerNetwork(network), batch, hardware, types);
    }

    /** {@link #estimate(Model, int, Hardware, InputType...)} for a configuration. */
    public static Estimate estimate(ComputationGraphConfiguration network, int batch, Hardware hardware, InputType... types) {
        return NetworkWork.estimate(new ComputationGraph(network), batch, hardware, types);
    }

    /** The attachment of a network, or null if it has none. */
    public static MemFerry of(Model network) {
        Ferry ferry = Ferry.of(network);
        return ferry == null ? null : new MemFerry(ferry);
    }

    /** The attached network. */
    public Model network() {
        return ferry.network();
    }

    /**
     * Writes the network in DL4J's own format, straight from host memory. The old file is replaced only by a complete new one.
     *
     * @param saveUpdater whether to write the updater state
     */
    public void save(File file, boolean saveUpdater) {
        ferry.save(file, saveUpdater);
    }

    /** Sets one learning rate for all layers, without a second copy of the updater state. */
    public void setLearningRate(double learningRate) {
        ferry.setLearningRate(learningRate);
    }

    /** The plan; provisional until the shapes that are trained are known. */
    public Plan plan() {
        return ferry.plan();
    }

    /** The times that the plan was made from, measured or read from a file; null where it was made from sizes alone. */
    public Profile profile() {
        return ferry.profile();
    }

    /**
     * The plan as a table; where it was made from times, with what each layer is predicted to take, and after a run what it took. To be asked
     * between two iterations.
     */
    public String planTable() {
        Plan plan = ferry.plan();
        Profile profile = ferry.profile();
        if (profile == null) {
            return ferry.planTable();
        }
        return ferry.planTable() + "\n"
                + ForecastTable.render(plan, profile, Simulator.simulate(plan, profile), ferry.measuredRun().orElse(null));
    }

    /**
     * What this attachment holds where, in the form of DL4J's {@code net.memoryInfo}, which shows the same block among the network's
     * listeners.
     */
    public String memoryInfo() {
        return ferry.memoryInfo();
    }

    /**
     * Records what takes place in the next iterations: visits, copies each way, optimizer steps. The memory for it is taken now and does not
     * grow; without this call nothing is recorded. Another call begins anew.
     *
     * @param iterations how many, at least 1
     */
    public void recordTimeline(int iterations) {
        ferry.recordTimeline(iterations);
    }

    /** The iterations that were recorded and are complete, in order; empty if {@link #recordTimeline} was not called. */
    public List<Timeline> timelines() {
        return ferry.timelines();
    }

    /**
     * A recorded iteration as a picture: one HTML page that needs nothing beside it, with the plan, and what was predicted above what was
     * measured.
     *
     * @param timeline one of {@link #timelines()}
     */
    public String timelinePage(Timeline timeline) {
        return TimelinePage.render(network().getClass().getSimpleName() + " on " + ferry.device().name(), plan(), withForecast(timeline));
    }

    /**
     * A recorded iteration in the trace format that {@code chrome://tracing} and Perfetto open.
     *
     * @param timeline one of {@link #timelines()}
     */
    public String timelineTrace(Timeline timeline) {
        return TraceJson.render(plan(), withForecast(timeline));
    }

    /** What the plan's own times predict, where there are any, before what was measured. */
    private List<Timeline> withForecast(Timeline timeline) {
        return profile() == null ? List.of(timeline) : List.of(Timeline.of(Simulator.simulate(plan(), profile())), timeline);
    }

    /** What attaching needed of the host and what the host had, added up before anything was taken. */
    public String preflightTable() {
        return ferry.preflight().render();
    }

    /**
     * What came of {@link MemFerryConfig.Builder#verifyFirstSteps} so far: how many iterations were those of stock DL4J bit for bit, and what
     * differed or why no more were verified. Stays readable after {@link #close()}.
     */
    public Verification verification() {
        return ferry.verification();
    }

    /** What this attachment holds and did. */
    public MemFerryMetrics metrics() {
        return new MemFerryMetrics(ferry);
    }

    /** True until {@link #close()}. */
    public boolean isOpen() {
        return ferry.isOpen();
    }

    /**
     * Gives the network back: ordinary arrays with the latest values, usable as before. While another thread trains the network, waits until
     * that thread begins its next iteration; its {@code fit} goes on as plain DL4J. A second call does nothing.
     */
    @Override
    public void close() {
        ferry.close();
    }
}
