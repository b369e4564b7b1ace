package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** An attached network's layers as its {@link HostUpdate} sees them, for as long as the ferry lives: what is said once is kept here. */
final class UpdateUnits implements HostUpdate.Units {

    private static final Logger LOG = LoggerFactory.getLogger(UpdateUnits.class);

    private final List<NetworkUnit> units;
    private final GradientHomes homes;
    private final UnaryOperator<Trainable> onHost;
    private final Map<Trainable, Integer> index = new IdentityHashMap<>();
    private final Set<Integer> reached = new HashSet<>();
    private boolean notFiniteSaid;

    /**
     * @param units         the network's units
     * @param homes         their gradients
     * @param backwardOrder indices of those that the backward pass reaches
     * @param onHost        a layer with its gradients on the host
     */
    UpdateUnits(List<NetworkUnit> units, GradientHomes homes, int[] backwardOrder, UnaryOperator<Trainable> onHost) {
        this.units = units;
        this.homes = homes;
        this.onHost = onHost;
        for (int i = 0; i < units.size(); i++) {
            index.put(units.get(i).trainable, i);
        }
        for (int unit : backwardOrder) {
            reached.add(unit);
        }
    }

    @Override
    public String name(Trainable layer) {
        return units.get(index.get(layer)).name;
    }

    @Override
    public Trainable onHost(Trainable layer) {
        return onHost.apply(layer);
    }

    @Override
    public boolean reached(Trainable layer) {
        return reached.contains(index.get(layer));
    }

    @Override
    public boolean idle(Trainable layer) {
        int unit = index.get(layer);
        return Layers.frozen(units.get(unit)) && homes.host(unit).ameanNumber().doubleValue() == 0;
    }

    /** Steps of layers may be taken on several threads. */
    @Override
    public synchronized void notFinite(Trainable layer, String parameter, int iteration) {
        if (!notFiniteSaid) {
            notFiniteSaid = true;
            LOG.warn("layer {} ({}), parameter {}: a gradient or value is infinite or not a number in iteration {}. It is passed on, as"
                    + " DL4J does. Said once; lower the learning rate, clip gradients, or look at this iteration's data.", name(layer),
                    units.get(index.get(layer)).type(), parameter, iteration);
        }
    }
}
