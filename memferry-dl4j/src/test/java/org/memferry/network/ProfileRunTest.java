package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.PlacementRules;
import org.nd4j.linalg.api.buffer.DataType;

import java.util.List;
import java.util.function.ToLongFunction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/** What is concluded from the rounds in which a network is measured; how long its visits last is made up. */
class ProfileRunTest {

    /** One layer of 4 MB whose parameters and gradient come through slots, over a link of 1 GB/s: 4.2 ms for each copy. */
    private static final long COUNT = 1 << 20;
    private static final long COPY = Math.round(4 * COUNT / 1e9 * 1e9);
    private static final NetworkDescription NETWORK = network();

    private static NetworkDescription network() {
        LayerDescription layer = LayerDescription.builder("0", "Dense").parameters(0, COUNT).touches(1, 2).build();
        return new NetworkDescription(List.of(layer), new int[] {0}, new int[] {0}, new int[] {0}, COUNT, 0, 4);
    }

    /** Runs all rounds; forward and backward of an iteration last as the function says, one with a negative time is given up after forward. */
    private static Profile measure(String device, ToLongFunction<Plan> forward) {
        return measure(Devices.open(device), forward);
    }

    private static Profile measure(Device device, ToLongFunction<Plan> forward) {
        PlacementRules rules = PlacementRules.none();
        try (Device on = device; Region master = on.allocateHost(4 * COUNT, "parameters"); Region slab = on.allocateSlab(4 * COUNT, "slab");
                LayerSteps steps = new LayerSteps(on, 1, layer -> false, layer -> { })) {
            LinkProbe link = LinkProbe.measure(on, master, slab, DataType.FLOAT, true, 10_000_000, 7);
            Plan plan = DefaultPlanner.plan(NETWORK, new Budget(4 * 4 * COUNT, 0, true, 0, true), rules.place("0",
                    Placement.PREFETCH, Placement.PREFETCH), 2).withUpdateTiming(UpdateTiming.EAGER);
            ProfileRun run = new ProfileRun(on, rules, true, "test", link, plan);
            run.opened();
            while (!run.isComplete()) {
                long nanos = forward.applyAsLong(run.plan());
                if (nanos > 0) {
                    run.visited(0, false, nanos, nanos);
                    run.visited(0, true, 2 * nanos, 2 * nanos);
                    run.barrier();
                    run.closed(steps);
                } else {
                    run.visited(0, false, -nanos, -nanos);
                }
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
        // Both passes have one copy beside them: each adds half its own time.
        Profile profile = measure("emulated:64MB,h2d=1,d2h=1", plan -> isInPlace(plan) ? pure : pure + COPY / 3);
        assertThat(profile.layers().get(0).forwardNanos()).isEqualTo(pure);
        assertThat(profile.layers().get(0).backwardNanos()).isEqualTo(2 * pure);
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
                : plan.updateTiming() == UpdateTiming.EAGER ? 90_000_000 : 80_000_000);
        assertThat(profile.copySlowdown()).isEqualTo(1);
    }
}
