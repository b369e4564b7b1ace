package org.memferry.examples.finetune;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.Sizes;
import org.memferry.device.DeviceMetrics;
import org.memferry.examples.HostScope;
import org.memferry.examples.Screen;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.plan.Placement;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Fine-tunes with MemFerry on a small device: restore, transfer, train the new output layer, open all layers, train on.
 *
 * <p>The peak counts everything on the device from before the restore to after the last evaluation: slab, ordinary arrays (the data sets
 * among them), workspaces, garbage. Giving the networks back as ordinary ones comes after that, as it takes stock DL4J's memory by
 * its nature.
 */
final class FerryRun {

    /** One part in so many of the device is kept free. */
    private static final int HEADROOM_SHARE = 8;

    private final Task task;
    private final Screen screen;
    private final Training training;
    private final RunRecord record = new RunRecord();
    private final List<DeviceMetrics> devices = new CopyOnWriteArrayList<>();

    FerryRun(Task task, Screen screen) {
        this.task = task;
        this.screen = screen;
        this.training = new Training(screen);
    }

    /** @param bytes device memory */
    Outcome run(long bytes) {
        DeviceMeter.settle();
        try (DeviceMeter meter = DeviceMeter.start(this::slabBytes)) {
            // Without shapes the plan stays provisional, and takes no device memory: this network is only read.
            MemFerryConfig config = MemFerryConfig.builder().device("emulated:" + bytes).build();
            MultiLayerNetwork trained = MemFerry.restoreMultiLayerNetwork(task.model, false, config);
            screen.line("   restored %s: %,d parameters, all in host memory; on the device: %s", task.model.getName(),
                    trained.numParams(), meter.current());
            try (MemFerry restored = MemFerry.of(trained); MemFerry head = transfer(trained, bytes)) {
                devices.add(head.metrics().device());
                MultiLayerNetwork frozen = trainHead(head, meter);
                try (MemFerry all = open(frozen, bytes - slabBytes())) {
                    devices.add(all.metrics().device());
                    double accuracy = trainAll(all, meter);
                    return new Outcome(record, accuracy, meter.peak(), all.network().numParams());
                }
            }
        }
    }

    private long slabBytes() {
        return devices.stream().mapToLong(DeviceMetrics::slabBytes).sum();
    }

    /** The plan leaves room for activations and working memory; the headroom is for garbage between collections and data sets. */
    private MemFerryConfig.Builder on(long bytes) {
        return MemFerryConfig.builder().device("emulated:" + bytes).headroom(String.valueOf(bytes / HEADROOM_SHARE))
                .expect(task.scale.batch, Networks.INPUT);
    }

    /**
     * The transferred network, attached. TransferLearning takes several copies of the network as ordinary arrays: in host memory here.
     *
     * <p>A frozen layer is read once per iteration and never written. Read in place ({@code DIRECT}), it moves the bytes that a copy to
     * the device would move, and the device stays free for the next network.
     */
    private MemFerry transfer(MultiLayerNetwork trained, long bytes) {
        MemFerryConfig config = on(bytes).place("*", Placement.DIRECT).place(String.valueOf(trained.getnLayers() - 1), Placement.RESIDENT)
                .build();
        return HostScope.inside(() -> {
            MultiLayerNetwork frozen = Networks.transferred(trained, task.scale);
            return HostScope.outside(() -> MemFerry.attach(frozen, config));
        });
    }

    private MultiLayerNetwork trainHead(MemFerry head, DeviceMeter meter) {
        screen.line("   TransferLearning: trained layers frozen and read in host memory, a new output layer for the digits 5-9:");
        printPlan(head);
        MultiLayerNetwork frozen = (MultiLayerNetwork) head.network();
        training.fit(frozen, task.train, task.scale.frozenEpochs, "new output layer", record, meter);
        screen.line("   accuracy on held-out digits %.4f", training.accuracy(frozen, task.test));
        return frozen;
    }

    /** The network with all layers open, attached with the weights so far. Neither network has an ordinary array of its own. */
    private MemFerry open(MultiLayerNetwork frozen, long bytes) {
        MultiLayerNetwork open = Networks.opened(frozen);
        MemFerry ferry = MemFerry.init(open, on(bytes).build());
        open.params().assign(frozen.params());
        return ferry;
    }

    private double trainAll(MemFerry ferry, DeviceMeter meter) {
        screen.line("   All layers open, smaller learning rate. The plan that MemFerry made for the budget:");
        printPlan(ferry);
        MultiLayerNetwork open = (MultiLayerNetwork) ferry.network();
        training.fit(open, task.train, task.scale.openEpochs, "all layers", record, meter);
        double accuracy = training.accuracy(open, task.test);
        screen.line("   accuracy on held-out digits %.4f; %s copied to the device, %s back; most on the device: %s", accuracy,
                Sizes.format(ferry.metrics().device().bytesToDevice()), Sizes.format(ferry.metrics().device().bytesToHost()),
                meter.peak());
        return accuracy;
    }

    private void printPlan(MemFerry ferry) {
        for (String row : ferry.planTable().split("\\R")) {
            screen.line("   | " + row);
        }
    }
}
