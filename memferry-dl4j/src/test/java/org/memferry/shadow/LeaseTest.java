package org.memferry.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.engine.GradientListener;
import org.memferry.engine.Program;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What a reader of parameters is handed, and how long it is good for. Real copies, poisoned slots. */
class LeaseTest {

    private static final int LAYERS = 4;

    private final EmulatedDevice device = EmulatedDevice.builder(1 << 20).poison().build();
    private final Region master = device.allocateHost(LAYERS * 8 * 4, "parameters");
    private final Region gradients = device.allocateHost(LAYERS * 8 * 4, "gradients");
    private final ShadowModel shadow = new ShadowModel(master, DataType.FLOAT);
    private Region slab;

    /** Layers of a weight [2, 3] in 'f' order and a bias [1, 2] that its readers keep. */
    private void start(Placement placement) {
        List<LayerDescription> layers = new ArrayList<>();
        List<LayerPlan> decisions = new ArrayList<>();
        int[] forward = new int[LAYERS];
        int[] backward = new int[LAYERS];
        for (int i = 0; i < LAYERS; i++) {
            int index = i;
            shadow.add("layer" + i, i * 8, List.of(new ParameterSlice("W", 0, new long[] {2, 3}, new long[] {1, 2}, 'f', false),
                    new ParameterSlice("b", 6, new long[] {1, 2}, new long[] {1, 1}, 'f', true)), () -> shadow.written(index));
            layers.add(LayerDescription.builder("layer" + i, "Dense").parameters(i * 8, 8).build());
            decisions.add(new LayerPlan(placement, placement, GradientHome.DIRECT, "test"));
            forward[i] = i;
            backward[i] = LAYERS - 1 - i;
        }
        NetworkDescription network = new NetworkDescription(layers, forward, backward, forward, LAYERS * 8, 0, 4);
        Plan plan = Plan.builder(network, decisions, new Budget(1 << 20, 0, true, 0, true))
                .parameterSlots(placement == Placement.PREFETCH ? new long[] {32, 32} : new long[0]).build();
        slab = plan.slabBytes() == 0 ? null : device.allocateSlab(plan.slabBytes(), "slots");
        for (int i = 0; i < LAYERS; i++) {
            shadow.layers().get(i).master(0).assign(i + 1);
            shadow.layers().get(i).master(1).assign(-i - 1);
        }
        shadow.start(Program.compile(plan), device, gradients, slab, null, GradientListener.NONE);
    }

    @AfterEach
    void close() {
        shadow.engine().close();
        for (Region region : slab == null ? List.of(gradients, master) : List.of(slab, gradients, master)) {
            region.close();
        }
        device.close();
    }

    private Lease read(int layer) {
        return shadow.read(shadow.layers().get(layer));
    }

    private static float[] filled(float value) {
        float[] all = new float[6];
        Arrays.fill(all, value);
        return all;
    }

    @Test
    void a_lease_shows_the_layers_parameters_until_the_layer_is_left_and_throws_from_then_on() {
        start(Placement.PREFETCH);
        shadow.engine().openTraining();
        Lease lease = read(0);
        assertThat(lease.isOpen()).isTrue();
        assertThat(lease.array(0).dup().data().asFloat()).containsExactly(filled(1));
        read(1);
        assertThat(lease.isOpen()).isFalse();
        assertThatThrownBy(() -> lease.array(0)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("layer layer0").hasMessageContaining("released when the layer was left")
                .hasMessageContaining("read the parameter again");
    }

    @Test
    void an_array_kept_longer_than_its_lease_shows_no_numbers_of_the_layer() {
        start(Placement.PREFETCH);
        shadow.engine().openTraining();
        INDArray kept = read(0).array(0);
        read(1);
        INDArray seen = kept.dup();
        for (int i = 0; i < seen.length(); i++) {
            assertThat(seen.getFloat(i)).as("poison, or what the next layer put there").isNotEqualTo(1);
        }
    }

    @Test
    void a_parameter_that_its_readers_keep_is_always_the_master() {
        start(Placement.PREFETCH);
        shadow.engine().openTraining();
        for (int layer = 0; layer < LAYERS; layer++) {
            Lease lease = read(layer);
            assertThat(lease.slot()).isNotNegative();
            assertThat(lease.array(1)).isSameAs(shadow.layers().get(layer).master(1));
        }
    }

    @Test
    void leases_are_made_once_and_handed_out_again() {
        start(Placement.PREFETCH);
        shadow.engine().openTraining();
        Lease first = read(0);
        assertThat(read(0)).isSameAs(first);
        read(1);
        shadow.engine().openTraining();
        assertThat(read(0)).isSameAs(first);
        assertThat(first.isOpen()).isTrue();
    }

    @Test
    void no_lease_outlives_the_iteration() {
        start(Placement.RESIDENT);
        shadow.engine().openTraining();
        for (int layer = 0; layer < LAYERS; layer++) {
            read(layer);
        }
        shadow.engine().forwardEnded();
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            read(layer);
        }
        shadow.engine().awaitGradients();
        Lease lastRead = read(LAYERS - 1);
        assertThat(lastRead.isOpen()).isTrue();
        shadow.closeTraining();
        assertThat(lastRead.isOpen()).isFalse();
        assertThatThrownBy(() -> lastRead.array(0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void a_lease_says_which_version_of_the_master_it_shows() {
        start(Placement.RESIDENT);
        shadow.engine().openTraining();
        long before = read(0).version();
        read(1);
        shadow.written(0);
        shadow.layers().get(0).master(0).assign(9);
        shadow.engine().openTraining();
        Lease lease = read(0);
        assertThat(lease.version()).isGreaterThan(before);
        assertThat(lease.array(0).dup().data().asFloat()).containsExactly(filled(9));
    }

    @Test
    void a_users_write_reaches_the_next_read_of_the_layer_and_of_no_other() {
        start(Placement.RESIDENT);
        shadow.engine().openInference();
        for (int layer = 0; layer < LAYERS; layer++) {
            read(layer);
        }
        long copies = shadow.engine().metrics().parameterCopies();
        shadow.forUser(shadow.layers().get(2), 0).muli(10);
        for (int layer = 0; layer < LAYERS; layer++) {
            float expected = layer == 2 ? 30 : layer + 1;
            assertThat(read(layer).array(0).dup().data().asFloat()).containsExactly(filled(expected));
        }
        assertThat(shadow.engine().metrics().parameterCopies() - copies).as("copies made for one write").isEqualTo(1);
    }

    @Test
    void a_layer_placed_DIRECT_is_read_from_the_master_itself() {
        start(Placement.DIRECT);
        shadow.engine().openTraining();
        Lease lease = read(0);
        assertThat(lease.slot()).isEqualTo(Program.MASTER);
        assertThat(lease.array(0)).isSameAs(shadow.layers().get(0).master(0));
        assertThat(lease.array(0).data().pointer().address()).isEqualTo(master.address());
        read(1);
        assertThatThrownBy(() -> lease.array(0)).isInstanceOf(IllegalStateException.class);
    }
}
