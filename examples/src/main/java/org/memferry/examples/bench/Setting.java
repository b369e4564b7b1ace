package org.memferry.examples.bench;

import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.Strategy;
import org.memferry.planner.StrategyPlanner;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The emulated devices that a network's strategies compete on: one of the smallest size in which ZERO_OFFLOAD runs, activations included,
 * for all strategies but NATIVE_OFFLOAD, which needs more and gets the smallest in which it runs itself; a link that is as slow beside
 * the network's computation as asked for; and the pace of one first run, stretched by the dilation, for each layer in all of them: else they
 * would differ by what other programs do meanwhile.
 */
final class Setting {

    private static final double BYTES_PER_GB = 1L << 30;
    /** Holds every network of the bench as a whole. */
    private static final String ROOM = "1GB";

    private final double dilation;
    private final double gigabytesPerSecond;
    private final long zeroBytes;
    private final long nativeBytes;
    private final File pace;
    private final double computeMillis;

    private Setting(double dilation, double gigabytesPerSecond, long zeroBytes, long nativeBytes, File pace, double computeMillis) {
        this.dilation = dilation;
        this.gigabytesPerSecond = gigabytesPerSecond;
        this.zeroBytes = zeroBytes;
        this.nativeBytes = nativeBytes;
        this.pace = pace;
        this.computeMillis = computeMillis;
    }

    /**
     * Trains the network a few times on a device with room and a link without limits, and derives sizes and link rate from what was seen.
     *
     * @param transferOverCompute time of all parameters on the link over the time of forward and backward
     * @param pace                where to keep the times seen, which those devices go by; its path has no comma
     */
    static Setting find(OffloadModel model, List<DataSet> batches, double transferOverCompute, File pace) throws IOException {
        try (Contestant scout = Contestant.attach(model, batches, Strategy.ZERO_OFFLOAD, "emulated:" + ROOM + ",dilation=" + model.dilation, null)) {
            Plan plan = scout.plan();
            NetworkDescription network = plan.network();
            long activations = plan.budget().activationBytes();
            ProfileFile.write(scout.profile(), pace);
            double seconds = transferOverCompute * computeNanos(scout.profile()) / 1e9;
            return new Setting(model.dilation, network.parameterBytes() / seconds / BYTES_PER_GB,
                    activations + StrategyPlanner.smallestBudget(Strategy.ZERO_OFFLOAD, network, scout.profile()),
                    activations + StrategyPlanner.smallestBudget(Strategy.NATIVE_OFFLOAD, network, scout.profile()), pace,
                    computeNanos(scout.profile()) / 1e6);
        }
    }

    /** Reads what {@link #toString} wrote. */
    static Setting parse(String text) {
        Map<String, String> fields = ChildProcess.parse(text.replace(';', ' '));
        return new Setting(Double.parseDouble(fields.get("dilation")), Double.parseDouble(fields.get("link")),
                Long.parseLong(fields.get("zero")), Long.parseLong(fields.get("native")),
                new File(fields.get("pace")), Double.parseDouble(fields.get("compute")));
    }

    /** Forward and backward of all layers. */
    static long computeNanos(Profile profile) {
        return profile.layers().stream().mapToLong(Setting::computeNanos).sum();
    }

    private static long computeNanos(LayerProfile layer) {
        return layer.forwardNanos() + layer.backwardNanos();
    }

    /** Time of all parameters on the link, over forward and backward as a profile has them. */
    double transferOverCompute(NetworkDescription network, Profile profile) {
        return network.parameterBytes() / (gigabytesPerSecond * BYTES_PER_GB) * 1e9 / computeNanos(profile);
    }

    /** Rate of the link either way, 1 GB = 2^30 bytes. */
    double gigabytesPerSecond() {
        return gigabytesPerSecond;
    }

    /** Forward and backward of all layers, by the pace. */
    double computeMillis() {
        return computeMillis;
    }

    /** How many times as long as measured each layer lasts. */
    double dilation() {
        return dilation;
    }

    /** Bytes of the device of a strategy. */
    long bytes(Strategy strategy) {
        return strategy == Strategy.NATIVE_OFFLOAD ? nativeBytes : zeroBytes;
    }

    /** Specification of the device of a strategy. */
    String device(Strategy strategy) {
        return device(Long.toString(bytes(strategy)));
    }

    /** Specification of a device that holds the network as a whole, with the same link and pace. */
    String roomyDevice() {
        return device(ROOM);
    }

    private String device(String bytes) {
        return String.format(Locale.ROOT, "emulated:%s,h2d=%.9f,d2h=%2$.9f,pace=%s", bytes, gigabytesPerSecond, pace);
    }

    @Override
    public String toString() {
        return "dilation=" + dilation + ";link=" + gigabytesPerSecond + ";zero=" + zeroBytes + ";native=" + nativeBytes + ";pace=" + pace + ";compute=" + computeMillis;
    }
}
