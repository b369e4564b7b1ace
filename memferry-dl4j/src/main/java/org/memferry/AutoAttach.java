package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.util.ModelSerializer;
import org.memferry.base.MemFerryException;
import org.memferry.network.AttachRequest;
import org.memferry.network.Ferry;
import org.nd4j.common.primitives.Pair;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;

/**
 * Attaches the networks of a program that knows nothing of MemFerry: the start-up agent tells it what DL4J does with networks, and it
 * decides which of them are to be attached, with the settings of {@link MemFerryProperties}. A network that cannot be served stays plain
 * DL4J's, with one warning; nothing is thrown.
 *
 * <p>Left plain are the copies that DL4J makes for itself: clones, the workers of {@code ParallelWrapper} and {@code ParallelInference}, and
 * the models that an early stopping's saver reads.
 */
public final class AutoAttach implements BiPredicate<String, Object[]> {

    private static final Logger LOG = LoggerFactory.getLogger(AutoAttach.class);
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static final String HOOK = "org.memferry.agent.Hook";
    private static final Set<Class<?>> NETWORKS = Set.of(MultiLayerNetwork.class, ComputationGraph.class);
    /** Methods of networks that make a copy, or are not done with a network when it has been initialised. */
    private static final Set<String> UNFINISHED = Set.of("clone", "convertDataType", "readObject", "setGradientsAccumulator");
    /** Parts of DL4J that make networks for themselves, or hand one out that the agent hears of when it is done. */
    private static final List<String> MAKERS = List.of("org.deeplearning4j.parallelism.", "org.deeplearning4j.spark.",
            "org.deeplearning4j.earlystopping.saver.", "org.deeplearning4j.nn.modelimport.keras.KerasModelImport");

    /** Called by the agent. The settings are read with each network: a program may set its properties before it makes one. */
    public AutoAttach() {
        LOG.debug("networks are attached as they are made");
    }

    /**
     * Something is done with a network.
     *
     * @param event {@code initialising}: a network without weights; {@code made}: a network, or a pair with it; {@code accumulator}: a network
     *              and the gradients accumulator it is given; {@code closing}: a network
     * @param about the objects named there
     * @return true if the network was initialised here, so that DL4J need not
     */
    @Override
    public boolean test(String event, Object[] about) {
        Object first = about[0] instanceof Pair ? ((Pair<?, ?>) about[0]).getFirst() : about[0];
        if (!(first instanceof Model)) {
            return false;
        }
        Model network = (Model) first;
        switch (event) {
            case "initialising":
                return isWanted() && !isInitialised(network) && attaches(network, () -> Ferry.init(network, request()));
            case "made":
                return isWanted() && Ferry.of(network) == null && attaches(network, () -> Ferry.attach(network, request()));
            case "accumulator":
                if (about[1] != null && Ferry.of(network) != null && !isOurs(about[1].getClass())) {
                    LOG.warn("the network goes on as plain DL4J's: it was given a gradients accumulator ({})", about[1].getClass().getName());
                    giveBack(network);
                }
                return false;
            default:
                giveBack(network);
                return false;
        }
    }

    private static AttachRequest request() {
        return MemFerryConfig.fromProperties().request(null).unattended();
    }

    private static boolean isInitialised(Model network) {
        return network instanceof MultiLayerNetwork ? ((MultiLayerNetwork) network).isInitCalled()
                : ((ComputationGraph) network).getVertices() != null;
    }

    private static boolean attaches(Model network, Runnable attach) {
        try {
            attach.run();
            return true;
        } catch (MemFerryException e) {
            LOG.warn("this {} stays plain DL4J's: {}", network.getClass().getSimpleName(), e.getMessage());
            return false;
        } catch (RuntimeException e) {
            LOG.warn("this {} stays plain DL4J's: attaching it failed", network.getClass().getSimpleName(), e);
            return false;
        }
    }

    private static void giveBack(Model network) {
        Ferry ferry = Ferry.of(network);
        if (ferry != null && ferry.isUnattended()) {
            ferry.close();
        }
    }

    /** True if a program's own network is made, and not one within a larger doing of DL4J or MemFerry, by the call stack. */
    private static boolean isWanted() {
        boolean off;
        try {
            off = Boolean.FALSE.equals(MemFerryProperties.flag(MemFerryProperties.ENABLED));
        } catch (MemFerryException e) {
            LOG.warn("networks stay plain DL4J's: {}", e.getMessage());
            off = true;
        }
        // The method of DL4J that tells of it is the first behind us.
        return !off && WALKER.walk(frames -> frames.dropWhile(AutoAttach::isHere).skip(1).noneMatch(AutoAttach::isPartOfMore));
    }

    private static boolean isHere(StackWalker.StackFrame frame) {
        return frame.getDeclaringClass() == AutoAttach.class || frame.getClassName().equals(HOOK);
    }

    private static boolean isPartOfMore(StackWalker.StackFrame frame) {
        Class<?> c = frame.getDeclaringClass();
        return NETWORKS.contains(c) && UNFINISHED.contains(frame.getMethodName())
                || c == ModelSerializer.class || c.getEnclosingClass() == TransferLearning.class || isOurs(c)
                || MAKERS.stream().anyMatch(c.getName()::startsWith);
    }

    private static boolean isOurs(Class<?> c) {
        return c == MemFerry.class || c.getPackageName().equals(Ferry.class.getPackageName());
    }
}
