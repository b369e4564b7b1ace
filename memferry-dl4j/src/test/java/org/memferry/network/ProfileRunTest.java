package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Span;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.PlacementRules;
import org.memferry.planner.Simulator;
import org.nd4j.linalg.api.buffer.DataType;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/** What is concluded from the rounds in which a network is measured; how long its visits last is made up. */
class ProfileRunTest {

    /** Layers of 4 MB whose parameters and gradients come through slots, over a link of 1 GB/s: 3.9 ms for each copy. */
    private static final long COUNT = 1 << 20;
    private static final long COPY = Math.round(4 * COUNT / (double) (1 << 30) * 1e9);
    private static final int LAYERS = 8;
    private static final NetworkDescription NETWORK = chain(LAYERS);

    private static NetworkDescription chain(int layers) {
        List<LayerDescription> all = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            all.add(LayerDescription.builder("" + i, "Dense").parameters(COUNT * i, COUNT).touches(1, 1).build());
        }
        int[] order = IntStream.range(0, layers).toArray();
        return new NetworkDescription(all, order, IntStream.range(0, layers).map(i -> layers - 1 - i).toArray(), order, layers * COUNT, 0, 4);
    }

    /**
     * Runs all rounds; every visit in forward lasts as the function says, in backward 10 ms longer; an iteration with a negative time is given up
     * in forward.
     */
    private static Profile measure(String device, ToLongFunction<Plan> forward) {
        return measure(Devices.open(device), forward);
    }

    private static Profile measure(Device device, ToLongFunction<Plan> forward) {
        return measure(device, NETWORK, (run, plan) -> {
            long nanos = forward.applyAsLong(plan);
            if (nanos > 0) {
                for (int layer = 0; layer < LAYERS; layer++) {
                    run.visited(layer, false, nanos, nanos);
                    run.visited(layer, true, nanos + 10_000_000, nanos + 10_000_000);
                }
                run.barrier();
                run.closed(layer -> 0);
            } else {
                run.visited(0, false, -nanos, -nanos);
            }
        });
    }

    /** Runs all rounds of a network whose layers are copied for each pass, with gradients in slots. */
    private static Profile measure(Device device, NetworkDescription network, BiConsumer<ProfileRun, Plan> iteration) {
        PlacementRules rules = PlacementRules.none();
        try (Device on = device; Region master = on.allocateHost(4 * COUNT, "parameters"); Region slab = on.allocateSlab(4 * COUNT, "slab")) {
            LinkProbe link = LinkProbe.measure(on, master, slab, DataType.FLOAT, true, 10_000_000, 7);
            Plan plan = DefaultPlanner.plan(network, new Budget(64 * COUNT, 0, true, 0, true), rules.place("*",
                    Placement.PREFETCH, Placement.PREFETCH), 2).withUpdateTiming(UpdateTiming.EAGER);
            ProfileRun run = new ProfileRun(on, rules, true, "test", link, new long[plan.network().layers().size()], plan);
            run.opened();
            while (!run.isComplete()) {
                iteration.accept(run, run.plan());
                run.opened();
            }
            return run.profile();
        }
    }

    private static boolean isInPlace(Plan plan) {
        return plan.parameterSlots().length == 0;
    }

    @Test
    void whatCopiesAddIsTakenOutOfTheTimesAndToldAsTheirSlowdown() {
        long pure = 10_000_000;
        // Beside forward are the copies of all layers but those that are there, two; beside backward the gradients of all layers but the last.
        // A computation that lasts half as long again beside them does two thirds of its work meanwhile: a third of their time is added.
        long added = (6 + 7) * COPY / 3;
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> isInPlace(plan) ? pure : pure + added / (2 * LAYERS));
        assertThat(profile.layers().get(0).forwardNanos()).isEqualTo(pure);
        assertThat(profile.layers().get(0).backwardNanos()).isEqualTo(pure + 10_000_000);
        assertThat(profile.copySlowdown()).isCloseTo(0.5, within(0.15));
    }

    @Test
    void theProfileHoldsTheLinkAsItWasMeasured() {
        Profile profile = measure(EmulatedDevice.builder(64 << 20).linkRates(LinkRates.of(1e9, 1e8).shares(0, 1)).build(), plan -> 10_000_000);
        assertThat(profile.bytesPerSecondToDevice()).isGreaterThan(2 * profile.bytesPerSecondToHost());
        assertThat(profile.readShare()).isCloseTo(0, within(0.3));
        assertThat(profile.writeShare()).isCloseTo(1, within(0.3));
    }

    @Test
    void whatTheVirtualMachineTakesToWarmUpIsNoSlowdown() {
        int[] iteration = {0};
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> iteration[0]++ < 4 ? 900_000_000 : 10_000_000);
        assertThat(profile.copySlowdown()).isZero();
        assertThat(profile.updateSlowdown()).isZero();
        assertThat(profile.layers().get(0).forwardNanos()).isEqualTo(10_000_000);
    }

    /** Half of all iterations are disturbed, at any time. */
    @Test
    void whatOtherProgramsTakeIsNoSlowdown() {
        int[] iteration = {0};
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> iteration[0]++ % 2 == 0 ? 10_000_000 : 17_000_000);
        assertThat(profile.copySlowdown()).isZero();
    }

    @Test
    void iterationsThatAreGivenUpDoNotCount() {
        int[] iteration = {0};
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> iteration[0]++ % 2 == 0 ? -3_000_000 : 10_000_000);
        assertThat(profile.layers().get(0).forwardNanos()).isEqualTo(10_000_000);
        assertThat(profile.layers().get(0).backwardNanos()).isEqualTo(20_000_000);
        assertThat(profile.copySlowdown()).isZero();
        assertThat(profile.updateSlowdown()).isZero();
    }

    @Test
    void noSlowdownIsLargerThanWhatCanBe() {
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> isInPlace(plan) ? 10_000_000
                : plan.updateTiming() == UpdateTiming.EAGER ? 19_000_000 : 18_000_000);
        assertThat(profile.copySlowdown()).isEqualTo(1);
    }

    /** On a machine that does much else no two iterations are alike: what they differ by is no copy's doing. */
    @Test
    void whatIsLessThanIterationsVaryByIsNotTold() {
        int[] iteration = {0};
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> (isInPlace(plan) ? 10_000_000 : 11_000_000) + iteration[0]++ % 4 * 900_000);
        assertThat(profile.copySlowdown()).isZero();
        Profile steady = measure("emulated:64MB,h2d=1,d2h=1", plan -> isInPlace(plan) ? 10_000_000 : 11_000_000);
        assertThat(steady.copySlowdown()).isGreaterThan(0.2);
    }

    /** Copies that are over in no time cannot be what makes iterations differ. */
    @Test
    void whatIsBesideTheComputationForAMomentIsNotTold() {
        Profile profile = measure("emulated:64MB,h2d=100,d2h=100", plan -> isInPlace(plan) ? 100_000_000 : 101_000_000);
        assertThat(profile.copySlowdown()).isZero();
    }

    @Test
    void theRoundThatShowsTheComputationAloneCopiesNothingEitherWay() {
        boolean[] seen = new boolean[1];
        measure("emulated:64MB,h2d=1,d2h=1", plan -> {
            seen[0] |= isInPlace(plan);
            if (isInPlace(plan)) {
                assertThat(plan.layers().get(0).gradientHome()).isEqualTo(GradientHome.DIRECT);
            }
            return 10_000_000L;
        });
        assertThat(seen[0]).isTrue();
    }

    /** The step of layer 1 has backward of layer 0 beside it; that of layer 0 begins when backward is over. */
    @Test
    void aStepSlowsTheLayersBehindItsOwn() {
        Profile profile = measure(Devices.open("emulated:64MB,h2d=1,d2h=1"), chain(2), (run, plan) -> {
            run.visited(0, false, 10_000_000, 10_000_000);
            run.visited(1, false, 10_000_000, 10_000_000);
            run.visited(1, true, 10_000_000, 10_000_000);
            // In the 6 ms of the step work of 4 ms is done.
            long last = plan.updateTiming() == UpdateTiming.EAGER ? 12_000_000 : 10_000_000;
            run.visited(0, true, last, last);
            run.barrier();
            run.closed(layer -> 6_000_000);
        });
        assertThat(profile.updateSlowdown()).isCloseTo(0.5, within(1e-9));
        assertThat(profile.copySlowdown()).isZero();
    }

    /** What the simulator makes of slow-downs is what is measured as such. */
    @ParameterizedTest
    @CsvSource({"0.3, 0", "0, 0.6", "0.2, 0.4", "0.8, 0"})
    void whatTheSimulatorIsToldComesBack(double byCopy, double byUpdate) {
        LayerProfile layer = LayerProfile.builder(9_000_000, 14_000_000).direct(0, 0).gradientDirect(0).update(6_000_000).build();
        double rate = 1 << 30;
        Profile told = Profile.builder("", Collections.nCopies(LAYERS, layer)).link(rate, rate).slowdown(byCopy, byUpdate).build();
        Profile profile = measure(Devices.open("emulated:64MB,h2d=1,d2h=1"), NETWORK, (run, plan) -> {
            for (Span visit : Simulator.simulate(plan, told).visits()) {
                long nanos = visit.nanos() - visit.waitedNanos();
                run.visited(visit.layer(), visit.kind() == Span.Kind.BACKWARD, nanos, nanos);
            }
            run.barrier();
            run.closed(i -> 6_000_000);
        });
        assertThat(profile.layers().get(3).forwardNanos()).isEqualTo(9_000_000);
        assertThat(profile.layers().get(3).backwardNanos()).isEqualTo(14_000_000);
        assertThat(profile.copySlowdown()).isCloseTo(byCopy, within(0.1));
        assertThat(profile.updateSlowdown()).isCloseTo(byUpdate, within(0.1));
    }
}
