package org.memferry.planner;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;

/** Networks to plan. Equal seeds give equal networks. */
final class RandomNetworks {

    private RandomNetworks() {
    }

    /** 1 to 15 layers between 4 bytes and 4 MB, some frozen, silent, or with a slot for good. */
    static NetworkDescription random(Random random) {
        List<LayerDescription> layers = new ArrayList<>();
        long offset = 0;
        int count = 1 + random.nextInt(15);
        for (int i = 0; i < count; i++) {
            long parameters = 1 + random.nextInt(1 << random.nextInt(21));
            boolean frozen = random.nextInt(6) == 0;
            layers.add(LayerDescription.builder(String.valueOf(i), "Random").parameters(offset, parameters)
                    .gradientWritten(!frozen).gradientCount(frozen ? 0 : parameters)
                    .gradientInPlace(!frozen && random.nextInt(8) == 0)
                    .fixedSlot(random.nextInt(8) == 0)
                    .touches(1, 1 + random.nextInt(4)).build());
            offset += parameters;
        }
        return network(layers);
    }

    /** A chain of dense layers of these sizes in parameters of 4 bytes. */
    static NetworkDescription chain(long... parameters) {
        List<LayerDescription> layers = new ArrayList<>();
        long offset = 0;
        for (int i = 0; i < parameters.length; i++) {
            layers.add(LayerDescription.builder(String.valueOf(i), "Dense").parameters(offset, parameters[i]).build());
            offset += parameters[i];
        }
        return network(layers);
    }

    /** A network that runs through these layers and back. */
    static NetworkDescription network(List<LayerDescription> layers) {
        int[] forward = new int[layers.size()];
        int[] backward = new int[layers.size()];
        long parameters = 0;
        for (int i = 0; i < forward.length; i++) {
            forward[i] = i;
            backward[i] = forward.length - 1 - i;
            parameters += layers.get(i).parameterCount();
        }
        return new NetworkDescription(layers, forward, backward, forward, parameters, 0, 4);
    }
}
