package org.memferry.planner;

import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The time that no plan can go below: what a steady iteration takes at least under a profile, whatever is placed where and whenever the
 * steps are taken on the host, with device memory without end. Plans are compared with it. Every part holds by itself, and the bound is
 * their maximum.
 *
 * <p>Let {@code f(i)} and {@code b(i)} be the times of layer {@code i}'s visits with everything on the device, {@code p(i)} the time of
 * its parameters and {@code g(i)} that of its gradient on the link, {@code u(i)} its step, {@code F} and {@code B} the sums of {@code f}
 * and {@code b}, and {@code B(<i)} the sum over the visits of backward before that of {@code i}. Slow-downs only add to these.
 * <ul>
 * <li><b>Computation.</b> Visits and what lies between iterations follow one another: {@code F + B + between}.
 * <li><b>Link to the device.</b> Every layer with a step has new parameters in every iteration. They are copied at least once, or touched
 * in place by the visits, which takes of the copies' time what they lose to it: the sum of {@code min(p, share of the touches in place)},
 * where a share above 1 counts as 1, since copies may not be there to lose more.
 * <li><b>Link to the host.</b> Gradients cross in either home, none before its layer is entered by backward, and the iteration waits for
 * all of them and for the step of the last. For each place in backward: {@code F + B(<i)}, then {@code g} of this layer and those behind
 * it, or the share of it that a copy loses if they are written in place, then the shortest of their steps.
 * <li><b>Steps.</b> They are taken one after the other and the iteration waits for all (the barrier). Each begins when its gradient is
 * there, {@code F + B(<i) + min(b(i) + g(i), in place)} at the earliest, one of a layer read after backward not before {@code F + B}.
 * Taking them in this order is the fastest.
 * <li><b>Round trip.</b> Forward of layer {@code i}, backward down to it, its gradient, its step, and its new parameters, until forward
 * computes it again one period later: {@code f} from {@code i} on, {@code B(<i)}, its gradient and step as above, {@code p(i)}. Unless
 * forward reads it in place: then that visit lasts longer instead, and the period is at least the barrier after its step, with all of
 * {@code F} and {@code between}.
 * </ul>
 */
public final class LowerBound {

    /** Which part of the bound is the longest. */
    public enum Part {
        /** Visits, and what lies between iterations. */
        COMPUTATION,
        /** Parameters on their way to the device. */
        LINK_TO_DEVICE,
        /** Gradients on their way to the host. */
        LINK_TO_HOST,
        /** Optimizer steps behind the gradients. */
        STEPS,
        /** One layer's parameters from forward to the next forward. */
        ROUND_TRIP
    }

    private final NetworkDescription network;
    private final Profile profile;
    private final LinkRates rates;
    private final int[] forwardOrder;
    private final int[] backwardOrder;
    /** Per layer: it is reached by backward and has a step. */
    private final boolean[] stepped;
    private final long forwardNanos;
    private final long backwardNanos;
    private final long[] nanos = new long[Part.values().length];

    private LowerBound(NetworkDescription network, Profile profile) {
        this.network = network;
        this.profile = profile;
        this.rates = LinkRates.of(profile.bytesPerSecondToDevice(), profile.bytesPerSecondToHost())
                .shares(profile.readShare(), profile.writeShare());
        this.forwardOrder = network.forwardOrder();
        this.backwardOrder = network.backwardOrder();
        this.stepped = new boolean[network.layers().size()];
        for (int layer : backwardOrder) {
            stepped[layer] = layer(layer).gradientWritten() && layer(layer).gradientCount() > 0;
        }
        this.forwardNanos = Arrays.stream(forwardOrder).mapToLong(i -> times(i).forwardNanos()).sum();
        this.backwardNanos = Arrays.stream(backwardOrder).mapToLong(i -> times(i).backwardNanos()).sum();
        nanos[Part.COMPUTATION.ordinal()] = forwardNanos + backwardNanos + profile.betweenNanos();
        nanos[Part.LINK_TO_DEVICE.ordinal()] = linkToDevice();
        backward();
    }

    /**
     * The bound of a network.
     *
     * @throws IllegalArgumentException if the profile is of another number of layers
     */
    public static LowerBound of(NetworkDescription network, Profile profile) {
        Simulator.checkLayers(network, profile);
        return new LowerBound(network, profile);
    }

    /** Nanoseconds of a steady iteration at least. */
    public long stepNanos() {
        return nanos[part().ordinal()];
    }

    /** The part that {@link #stepNanos()} is of. */
    public Part part() {
        Part longest = Part.COMPUTATION;
        for (Part part : Part.values()) {
            longest = nanos[part.ordinal()] > nanos[longest.ordinal()] ? part : longest;
        }
        return longest;
    }

    /** Nanoseconds of one part. */
    public long nanos(Part part) {
        return nanos[part.ordinal()];
    }

    private LayerDescription layer(int i) {
        return network.layers().get(i);
    }

    private LayerProfile times(int i) {
        return profile.layers().get(i);
    }

    private long parameterNanos(int i, long touches) {
        return rates.nanos(Direction.TO_DEVICE, Math.multiplyExact(layer(i).parameterBytes(), touches));
    }

    private long gradientNanos(int i) {
        return rates.nanos(Direction.TO_HOST, layer(i).gradientBytes());
    }

    /** What the copies of a direction lose at least to a time of reads or writes in place, where they have no time to spare. */
    private long taken(Direction direction, long inPlaceNanos) {
        return Math.round(Math.min(1, rates.share(direction)) * inPlaceNanos);
    }

    private long linkToDevice() {
        long[] inPlace = new long[stepped.length];
        for (int i : forwardOrder) {
            inPlace[i] += taken(Direction.TO_DEVICE, parameterNanos(i, layer(i).forwardTouches()));
        }
        for (int i : backwardOrder) {
            inPlace[i] += taken(Direction.TO_DEVICE, parameterNanos(i, layer(i).backwardTouches()));
        }
        long sum = 0;
        for (int i = 0; i < stepped.length; i++) {
            sum += stepped[i] ? Math.min(parameterNanos(i, 1), inPlace[i]) : 0;
        }
        return sum;
    }

    /** The parts that follow a gradient: walks up from the end of backward, so that what is behind a layer is known. */
    private void backward() {
        long before = forwardNanos + backwardNanos;
        long linkBehind = 0;
        long shortestStep = Long.MAX_VALUE;
        List<long[]> steps = new ArrayList<>();
        long[] fromLayerOn = forwardFromLayerOn();
        for (int k = backwardOrder.length - 1; k >= 0; k--) {
            int i = backwardOrder[k];
            before -= times(i).backwardNanos();
            if (stepped[i]) {
                long updateNanos = times(i).updateNanos();
                linkBehind += taken(Direction.TO_HOST, gradientNanos(i));
                shortestStep = Math.min(shortestStep, updateNanos);
                raise(Part.LINK_TO_HOST, before + linkBehind + shortestStep + profile.betweenNanos());
                long start = stepStart(i, before);
                steps.add(new long[] {start, updateNanos});
                raise(Part.ROUND_TRIP, roundTrip(i, start + updateNanos, fromLayerOn[i]));
            }
        }
        raise(Part.STEPS, endOf(steps) + profile.betweenNanos());
    }

    private void raise(Part part, long atLeast) {
        nanos[part.ordinal()] = Math.max(nanos[part.ordinal()], atLeast);
    }

    /** When a layer's step can begin, counted from the start of the iteration, if backward enters it at a time. */
    private long stepStart(int i, long entered) {
        long inPlace = Math.max(times(i).gradientDirectNanos(), gradientNanos(i));
        long arrival = entered + Math.min(times(i).backwardNanos() + gradientNanos(i), inPlace);
        return layer(i).readAfterBackward() ? Math.max(arrival, forwardNanos + backwardNanos) : arrival;
    }

    /** The end of steps given as earliest start and length, taken one at a time. */
    private static long endOf(List<long[]> steps) {
        steps.sort(Comparator.comparingLong(step -> step[0]));
        long end = 0;
        for (long[] step : steps) {
            end = Math.max(end, step[0]) + step[1];
        }
        return end;
    }

    /** Per layer the forward time from its first visit on; 0 where forward does not read it. */
    private long[] forwardFromLayerOn() {
        long[] sums = new long[stepped.length];
        long sum = 0;
        for (int k = forwardOrder.length - 1; k >= 0; k--) {
            sum += times(forwardOrder[k]).forwardNanos();
            sums[forwardOrder[k]] = sum;
        }
        return sums;
    }

    /** From a forward visit of a layer to the same visit one iteration later, if its step ends at a time at the earliest. */
    private long roundTrip(int i, long stepEnd, long forwardFromLayer) {
        long copied = stepEnd - (forwardNanos - forwardFromLayer) + parameterNanos(i, 1);
        long inPlace = Math.max(times(i).forwardDirectNanos(), parameterNanos(i, layer(i).forwardTouches()));
        long direct = stepEnd + inPlace - times(i).forwardNanos() + profile.betweenNanos();
        return forwardFromLayer == 0 ? 0 : Math.min(copied, direct);
    }
}
