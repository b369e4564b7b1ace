package org.memferry.device.virtual;

import java.util.function.IntConsumer;

import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.NativeMemory;
import org.memferry.device.Region;
import org.memferry.device.Regions;
import org.memferry.device.Ticket;
import org.memferry.device.TimelineListener;

/**
 * An accelerator that is only a clock: regions have addresses without memory behind them, copies take their bytes over the link's
 * rate, and visits take what {@link VisitCosts} says. Its figures are simulated.
 *
 * <p>There is one clock, the training thread's: ND4J's operations block the thread that calls them, so computing, waiting for a copy and
 * {@linkplain #hostBusy working on the host} move it, and submitting takes no time. Beside it run the two directions of the link and one
 * worker that takes optimizer steps. Whatever these end while the clock moves is handled at its own time and in order: a copy that is
 * submitted when a step ends starts then, and not when the visit around it ends.
 *
 * <p>A copy starts when it has been submitted, the copies before it in its direction are done, and its tickets are done. Reads in place
 * have the direction to the device, writes in place the direction to the host, from the moment their layer is entered; they go first, and
 * a copy under way loses the link's {@linkplain LinkRates#share share} of the time that they take of it. A visit lasts
 * {@code max(waits within it + max(computing, direct time), direct bytes on the link)}, where computing is slowed down while copies or
 * steps run, by a copy that is slowed itself for the part of its pace that it has.
 *
 * <p>All methods are called by one thread, {@link #metrics()} by any.
 */
public final class VirtualDevice implements Device {

    private final String name;
    private final long budget;
    private final LinkRates rates;
    private final VisitCosts costs;
    private final TimelineListener listener;
    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions;
    private final CopyLane toDevice;
    private final CopyLane toHost;
    private final UpdateQueue updates;

    private long nextAddress = 1L << 32;
    private long now;
    private boolean visiting;
    private long visitStart;
    private long visitAwaitedFrom;
    private int visitLayer;
    private boolean visitBackward;
    private long visitLinkNanos;
    private long visitWaited;
    /** What the computation has waited since the visit before, for the one that begins: a gradient's slot is awaited on its threshold. */
    private long waitedBefore;

    /**
     * A device at time 0.
     *
     * @param bytes budget of device memory, more than 0
     * @param rates of the link
     * @param costs of the visits
     * @throws RefusedException if the budget is not more than 0
     */
    public VirtualDevice(long bytes, LinkRates rates, VisitCosts costs) {
        this(bytes, rates, costs, TimelineListener.NONE);
    }

    /**
     * As above, with somebody who keeps what took place when.
     *
     * @param listener told of every visit, copy and step
     */
    public VirtualDevice(long bytes, LinkRates rates, VisitCosts costs, TimelineListener listener) {
        if (bytes <= 0) {
            throw new RefusedException("virtual device memory: " + bytes + " (expected: more than 0 bytes, what the simulated device has)");
        }
        this.name = "virtual " + Sizes.format(bytes);
        this.budget = bytes;
        this.rates = rates;
        this.costs = costs;
        this.listener = listener;
        this.regions = new Regions(name, bytes, metrics);
        this.toDevice = new CopyLane(Direction.TO_DEVICE, rates.share(Direction.TO_DEVICE), listener);
        this.toHost = new CopyLane(Direction.TO_HOST, rates.share(Direction.TO_HOST), listener);
        this.updates = new UpdateQueue(listener);
    }

    /** Virtual time since the device was made, in nanoseconds. */
    public long nowNanos() {
        return now;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean hasOwnMemory() {
        return true;
    }

    @Override
    public long totalBytes() {
        return budget;
    }

    @Override
    public long freeBytes() {
        return regions.freeBytes();
    }

    /** Takes a number, never memory: any size is there. */
    @Override
    public Region allocateHost(long bytes, String purpose) {
        return regions.openHost(bytes, purpose, this::takeAddress);
    }

    @Override
    public Region allocateSlab(long bytes, String purpose) {
        return regions.openSlab(bytes, purpose, this::takeAddress);
    }

    private Regions.Memory takeAddress(long bytes, String purpose) {
        long address = nextAddress;
        nextAddress = Math.addExact(address, Sizes.align(Math.max(bytes, 1), NativeMemory.ALIGNMENT));
        return new Regions.Memory() {
            @Override
            public long address() {
                return address;
            }

            @Override
            public void free() {
                // There is nothing behind the address, and addresses are not used twice.
            }
        };
    }

    @Override
    public Ticket newTicket() {
        regions.requireOpen();
        metrics.ticketMade();
        return new VirtualTicket(this);
    }

    @Override
    public void copyToDevice(Region host, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkHost(host, hostOffset, bytes);
        regions.checkSlab(slab, slabOffset, bytes);
        submit(Direction.TO_DEVICE, hostOffset, bytes, after, done);
        metrics.copiedToDevice(bytes);
    }

    @Override
    public void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkSlab(slab, slabOffset, bytes);
        regions.checkHost(host, hostOffset, bytes);
        submit(Direction.TO_HOST, hostOffset, bytes, after, done);
        metrics.copiedToHost(bytes);
    }

    private void submit(Direction direction, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        CopyLane lane = lane(direction);
        VirtualTicket behind = checked(done);
        long othersDone = 0;
        for (Ticket ticket : after) {
            VirtualTicket before = checked(ticket);
            // Copies of the same direction are done before this one starts anyway.
            if (before.lane() != null && before.lane() != lane) {
                othersDone = Math.max(othersDone, before.copy() + 1);
            }
        }
        behind.record(lane, lane.submit(rates.nanos(direction, bytes), othersDone, hostOffset, bytes));
        settleLanes();
    }

    private CopyLane lane(Direction direction) {
        return direction == Direction.TO_DEVICE ? toDevice : toHost;
    }

    private VirtualTicket checked(Ticket ticket) {
        if (ticket instanceof VirtualTicket && ((VirtualTicket) ticket).isOf(this)) {
            return (VirtualTicket) ticket;
        }
        throw new RefusedException(name + ": ticket " + ticket + " (expected: a ticket made by this device)");
    }

    /** Marks the ticket done: an operation is over when it returns. */
    @Override
    public void recordCompute(Ticket ticket) {
        regions.requireOpen();
        checked(ticket).recordDone();
    }

    /** Moves the clock to the ticket's time, as {@link #hostWaits} does. */
    @Override
    public void computeWaits(Ticket ticket) {
        long from = now;
        hostWaits(ticket);
        waitedBefore += visiting ? 0 : now - from;
    }

    /** Moves the clock to the ticket's time; what it moves by counts as waited. */
    @Override
    public void hostWaits(Ticket ticket) {
        regions.requireOpen();
        VirtualTicket until = checked(ticket);
        // The latest record at the time of the call counts: a step that ends meanwhile may record the ticket anew.
        CopyLane lane = until.lane();
        long copy = until.copy();
        long from = now;
        passTo(now);
        while (lane != null && !lane.isDone(copy)) {
            passToNextChange();
        }
        if (now > from) {
            metrics.waited(now - from);
            visitWaited += now - from;
        }
    }

    // -------------------------------------------------------------------------------------------------------------- beside it

    /**
     * Gives an optimizer step to the worker: it is taken when those given before are done and the gradient has arrived, while the clock
     * goes on.
     *
     * @param layer   index of the layer
     * @param nanos   how long it takes
     * @param arrived done once the gradient is on the host
     * @param ended   called at the virtual time of its end, in a call that moves the clock; may submit copies but must not wait
     */
    public void update(int layer, long nanos, Ticket arrived, IntConsumer ended) {
        regions.requireOpen();
        updates.add(layer, nanos, checked(arrived), ended);
        updates.settle(now);
    }

    /** Moves the clock to the end of the last step given to the worker. Returns by how much. */
    public long awaitUpdates() {
        regions.requireOpen();
        long from = now;
        passTo(now);
        while (!updates.isIdle()) {
            passToNextChange();
        }
        return now - from;
    }

    /** Moves the clock by work of the training thread that is no visit of a layer. */
    public void hostBusy(long nanos) {
        regions.requireOpen();
        waitedBefore = 0;
        passTo(Math.addExact(now, nanos));
    }

    /**
     * The copies submitted and not done, in the order in which they run: of each the offset of its first byte in the host region and what it
     * still needs of its direction, in nanoseconds.
     */
    public long[] pending(Direction direction) {
        return lane(direction).pending();
    }

    // ------------------------------------------------------------------------------------------------------------------ visits

    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        regions.requireOpen();
        visitEnded();
        visitStart = now;
        visitWaited = waitedBefore;
        visitAwaitedFrom = now - waitedBefore;
        waitedBefore = 0;
        long readNanos = rates.nanos(Direction.TO_DEVICE, readBytes);
        long writtenNanos = rates.nanos(Direction.TO_HOST, writtenBytes);
        toDevice.reserve(now, readNanos);
        toHost.reserve(now, writtenNanos);
        visitLinkNanos = Math.max(readNanos, writtenNanos);
        metrics.direct(Math.addExact(readBytes, writtenBytes));
        visiting = true;
        visitLayer = layer;
        visitBackward = backward;
    }

    @Override
    public boolean modelsInPlace() {
        return true;
    }

    @Override
    public long visitEnded() {
        if (!visiting) {
            return 0;
        }
        visiting = false;
        long cost = costs.nanos(visitLayer, visitBackward);
        if (cost < 0) {
            throw new RefusedException(name + ": layer " + visitLayer + " costs " + cost + " ns (expected: at least 0, from VisitCosts)");
        }
        long notBefore = Math.max(visitStart + visitLinkNanos, now + costs.directNanos(visitLayer, visitBackward));
        long from = now;
        compute(cost);
        long computed = now - from;
        passTo(Math.max(now, notBefore));
        listener.visited(visitLayer, visitBackward, visitAwaitedFrom, now, visitWaited);
        return computed;
    }

    /** Computes for a time that is stretched while copies or steps run beside it. */
    private void compute(long nanos) {
        double left = nanos;
        passTo(now);
        // What rounding leaves of the last part is no nanosecond more.
        while (left > 1e-3) {
            double stretch = stretch();
            long end = now + (long) Math.ceil(left * stretch);
            long change = nextChange();
            if (end <= change) {
                left = 0;
                passTo(end);
            } else {
                left -= (change - now) / stretch;
                passTo(change);
            }
        }
    }

    private double stretch() {
        double copying = Math.max(toDevice.pace(now), toHost.pace(now));
        return 1 + copying * costs.copySlowdown() + (updates.isRunning() ? costs.updateSlowdown() : 0);
    }

    // ------------------------------------------------------------------------------------------------------------------- clock

    /** When a copy or a step ends or a copy goes on, if nothing new comes in. */
    private long nextChange() {
        updates.settle(now);
        return Math.min(updates.nextChange(), Math.min(toDevice.nextChange(now), toHost.nextChange(now)));
    }

    private void passToNextChange() {
        long change = nextChange();
        if (change == CopyLane.NEVER) {
            throw new IllegalStateException(name + " waits for something that never ends");
        }
        passTo(change);
    }

    /** Lets time pass, handling what ends on the way in order. */
    private void passTo(long time) {
        updates.finish(now);
        while (now < time) {
            long until = Math.min(time, nextChange());
            toDevice.pass(now, until);
            toHost.pass(now, until);
            now = until;
            settleLanes();
            updates.finish(now);
        }
    }

    private void settleLanes() {
        long before;
        do {
            before = toDevice.done() + toHost.done();
            toDevice.settle(now, toHost);
            toHost.settle(now, toDevice);
        } while (toDevice.done() + toHost.done() != before);
    }

    @Override
    public void released(Region slab, long offset, long bytes) {
        regions.checkSlab(slab, offset, bytes);
    }

    @Override
    public DeviceMetrics metrics() {
        return metrics;
    }

    @Override
    public void close() {
        regions.close();
    }
}
