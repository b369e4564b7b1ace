package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.LowerBound.Part;

/** No plan is faster than the bound, and each of its parts is reached by some network. */
class LowerBoundTest {

    @Property(tries = 3000, shrinking = ShrinkingMode.OFF)
    @Label("no random plan of a random network goes below the bound")
    void no_plan_goes_below_the_bound(@ForAll long seed) {
        Random random = new Random(seed);
        NetworkDescription network = someReadAfterBackward(RandomNetworks.random(random), random);
        Profile profile = RandomPlans.profile(network, random, random.nextInt(3) == 0);
        profile = random.nextInt(3) == 0 ? profile : RandomPlans.shared(profile, random);
        LowerBound bound = LowerBound.of(network, profile);
        for (int i = 0; i < 5; i++) {
            long step = Simulator.simulate(RandomPlans.plan(network, random), profile).stepNanos();
            assertThat(step).as("seed %d, plan %d, bound by %s", seed, i, bound.part()).isGreaterThanOrEqualTo(bound.stepNanos());
        }
    }

    private static NetworkDescription someReadAfterBackward(NetworkDescription network, Random random) {
        List<LayerDescription> layers = new ArrayList<>();
        for (LayerDescription d : network.layers()) {
            layers.add(LayerDescription.builder(d.name(), d.type()).parameters(d.offset(), d.parameterCount())
                    .gradientWritten(d.gradientWritten()).gradientCount(d.gradientCount()).gradientInPlace(d.gradientInPlace())
                    .fixedSlot(d.fixedSlot()).touches(random.nextInt(2), random.nextInt(3)).readAfterBackward(random.nextInt(5) == 0)
                    .build());
        }
        return RandomNetworks.network(layers);
    }

    // --------------------------------------------------------------------------------------------------- each part, by hand

    /** Two layers of 1,000 bytes, 500 ns in forward and 800 ns in backward, 100 ns between iterations. */
    private static LowerBound bound(double toDevice, double toHost, long updateNanos) {
        return LowerBound.of(RandomNetworks.chain(250, 250), profile(toDevice, toHost, updateNanos));
    }

    private static Profile profile(double toDevice, double toHost, long updateNanos) {
        LayerProfile layer = LayerProfile.builder(500, 800).update(updateNanos).build();
        return Profile.builder("two layers", Collections.nCopies(2, layer)).link(toDevice, toHost).between(100).build();
    }

    @Test
    void the_parts_are_as_worked_out_by_hand() {
        LowerBound bound = bound(1e9, 5e8, 300);
        assertThat(bound.nanos(Part.COMPUTATION)).isEqualTo(1000 + 1600 + 100);
        assertThat(bound.nanos(Part.LINK_TO_DEVICE)).isEqualTo(2000);
        // Both gradients from the start of backward, 2000 each; or the last alone from 1800 on.
        assertThat(bound.nanos(Part.LINK_TO_HOST)).isEqualTo(1000 + 4000 + 300 + 100);
        // In place a gradient is there after 2000: at 3000 and at 3800.
        assertThat(bound.nanos(Part.STEPS)).isEqualTo(3800 + 300 + 100);
        // Layer 0: 1000 + 800 + 2000 + 300, then 1000 to the device; or 500 more in forward, and 100.
        assertThat(bound.nanos(Part.ROUND_TRIP)).isEqualTo(4100 + 500 + 100);
        assertThat(bound.stepNanos()).isEqualTo(5400);
        assertThat(bound.part()).isEqualTo(Part.LINK_TO_HOST);
    }

    /** What is used in place may cross beside copies: then the link's parts are no longer than what copies lose to it. */
    @Test
    void where_copies_lose_less_to_what_is_used_in_place_the_parts_of_the_link_are_shorter() {
        NetworkDescription network = RandomNetworks.chain(250, 250);
        Profile profile = profile(1e9, 5e8, 300);
        LowerBound quarter = LowerBound.of(network, shares(profile, 0.25, 0.5));
        // Forward touches each layer once and backward twice: a quarter of 1000 for each of six touches.
        assertThat(quarter.nanos(Part.LINK_TO_DEVICE)).isEqualTo(6 * 250);
        // Half of both gradients from the start of backward on: 1000 + 2000; or of the last alone from 1800 on, 1800 + 1000.
        assertThat(quarter.nanos(Part.LINK_TO_HOST)).isEqualTo(1000 + 2000 + 300 + 100);
        assertThat(quarter.nanos(Part.STEPS)).as("a gradient crosses whatever copies do").isEqualTo(3800 + 300 + 100);
        LowerBound none = LowerBound.of(network, shares(profile, 0, 0));
        assertThat(none.nanos(Part.LINK_TO_DEVICE)).isZero();
        LowerBound more = LowerBound.of(network, shares(profile, 3, 3));
        assertThat(more.nanos(Part.LINK_TO_DEVICE)).as("there may be no copies to lose it").isEqualTo(2000);
        assertThat(more.nanos(Part.LINK_TO_HOST)).isEqualTo(5400);
    }

    private static Profile shares(Profile profile, double reads, double writes) {
        return Profile.builder(profile.key(), profile.layers()).link(profile.bytesPerSecondToDevice(), profile.bytesPerSecondToHost())
                .between(profile.betweenNanos()).shares(reads, writes).build();
    }

    @ParameterizedTest
    @EnumSource(Part.class)
    void each_part_can_be_the_longest(Part part) {
        assertThat(longestIn(part).part()).isEqualTo(part);
    }

    private static LowerBound longestIn(Part part) {
        switch (part) {
            case COMPUTATION:
                return LowerBound.of(RandomNetworks.chain(250), Profile.builder("", List.of(LayerProfile.builder(1, 1).build())).build());
            case LINK_TO_DEVICE:
                return bound(1e7, 1e12, 0);
            case LINK_TO_HOST:
                return bound(1e12, 1e7, 0);
            case STEPS:
                return bound(1e12, 1e12, 50_000);
            default:
                return bound(1e9, 1e12, 0);
        }
    }

    /** Nothing but computing is in the way: the whole network stays on the device. */
    @Test
    void a_plan_reaches_the_bound_where_the_link_and_the_steps_take_no_time() {
        NetworkDescription network = RandomNetworks.chain(250, 250);
        Profile profile = profile(Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY, 0);
        LayerPlan resident = new LayerPlan(Placement.RESIDENT, Placement.RESIDENT, GradientHome.SLOT, "");
        Plan plan = Plan.builder(network, List.of(resident, resident), new Budget(1 << 20, 0, true, 0, true)).gradientSlots(1000, 1000)
                .updateTiming(UpdateTiming.EAGER).build();
        assertThat(Simulator.simulate(plan, profile).stepNanos()).isEqualTo(LowerBound.of(network, profile).stepNanos()).isEqualTo(2700);
    }
}
