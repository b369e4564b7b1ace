package org.memferry.device.virtual;

import org.memferry.base.MemFerryException;
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

/**
 * An accelerator that is only a clock: regions have addresses without memory behind them, copies take their bytes over the link's
 * rate, and visits take what {@link VisitCosts} says. Its figures are simulated.
 *
 * <p>There are two clocks, as beside a real accelerator. The host's stands still while it submits and moves only by
 * {@link #hostWaits}; the compute stream's moves by visits and {@link #computeWaits} and never lags behind the host's. A copy starts
 * when the host has submitted it, the copies before it in its direction are done, and its tickets are done. Reads in place occupy the
 * link to the device from the moment their layer is entered and go first; copies beside them are carried in the time they leave. A
 * visit lasts {@code max(waits within it + cost, direct bytes on the link)}.
 */
public final class VirtualDevice implements Device {

    private final String name;
    private final long budget;
    private final LinkRates rates;
    private final VisitCosts costs;
    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions;
    private final Timeline timeline = new Timeline();

    private long nextAddress = 1L << 32;
    private long hostNanos;
    private long computeNanos;
    private boolean visiting;
    private long visitStart;
    private int visitLayer;
    private boolean visitBackward;
    private long visitReadBytes;
    private long visitWrittenBytes;

    /**
     * A device at time 0.
     *
     * @param bytes budget of device memory, more than 0
     * @param rates of the link
     * @param costs of the visits
     * @throws RefusedException if the budget is not more than 0
     */
    public VirtualDevice(long bytes, LinkRates rates, VisitCosts costs) {
        if (bytes <= 0) {
            throw new RefusedException("virtual device memory: " + bytes + " (expected: more than 0 bytes, what the simulated device has)");
        }
        this.name = "virtual " + Sizes.format(bytes);
        this.budget = bytes;
        this.rates = rates;
        this.costs = costs;
        this.regions = new Regions(name, bytes, metrics);
    }

    /** Virtual time since the device was made, in nanoseconds: the later of the host's and the compute stream's clock. Moves neither. */
    public long nowNanos() {
        return Math.max(hostNanos, computeNanos);
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
        submit(Direction.TO_DEVICE, bytes, after, done);
        metrics.copiedToDevice(bytes);
    }

    @Override
    public void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkSlab(slab, slabOffset, bytes);
        regions.checkHost(host, hostOffset, bytes);
        submit(Direction.TO_HOST, bytes, after, done);
        metrics.copiedToHost(bytes);
    }

    private void submit(Direction direction, long bytes, Ticket[] after, Ticket done) {
        VirtualTicket behind = checked(done);
        timeline.begin(direction, hostNanos, rates.nanos(direction, bytes));
        for (Ticket ticket : after) {
            timeline.after(checked(ticket));
        }
        behind.recordCopy(timeline.submit());
    }

    private VirtualTicket checked(Ticket ticket) {
        if (ticket instanceof VirtualTicket && ((VirtualTicket) ticket).isOf(this)) {
            return (VirtualTicket) ticket;
        }
        throw new RefusedException(name + ": ticket " + ticket + " (expected: a ticket made by this device)");
    }

    @Override
    public void recordCompute(Ticket ticket) {
        regions.requireOpen();
        checked(ticket).recordTime(nowNanos());
    }

    /** Moves the compute stream's clock to the ticket's time; what it moves by counts as waited. */
    @Override
    public void computeWaits(Ticket ticket) {
        regions.requireOpen();
        computeNanos = waited(timeline.timeOf(checked(ticket)));
    }

    /** Moves the host's clock to the ticket's time; what the compute stream stands still for that counts as waited. */
    @Override
    public void hostWaits(Ticket ticket) {
        regions.requireOpen();
        long time = timeline.timeOf(checked(ticket));
        waited(time);
        hostNanos = Math.max(hostNanos, time);
        timeline.forget(hostNanos);
    }

    private long waited(long until) {
        long now = nowNanos();
        if (until > now) {
            metrics.waited(until - now);
        }
        return Math.max(now, until);
    }

    boolean isPast(VirtualTicket ticket) {
        return timeline.timeOf(ticket) <= hostNanos;
    }

    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        regions.requireOpen();
        visitEnded();
        visitStart = nowNanos();
        computeNanos = visitStart;
        timeline.reserve(visitStart, rates.nanos(Direction.TO_DEVICE, readBytes));
        metrics.direct(Math.addExact(readBytes, writtenBytes));
        visiting = true;
        visitLayer = layer;
        visitBackward = backward;
        visitReadBytes = readBytes;
        visitWrittenBytes = writtenBytes;
    }

    @Override
    public void visitEnded() {
        if (!visiting) {
            return;
        }
        visiting = false;
        long cost = costs.nanos(visitLayer, visitBackward, visitReadBytes + visitWrittenBytes);
        if (cost < 0) {
            throw new RefusedException(name + ": layer " + visitLayer + " costs " + cost + " ns (expected: at least 0, from VisitCosts)");
        }
        computeNanos = Math.max(nowNanos() + cost, visitStart + Math.max(rates.nanos(Direction.TO_DEVICE, visitReadBytes),
                rates.nanos(Direction.TO_HOST, visitWrittenBytes)));
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
