package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;
import org.memferry.device.HostMemory.Kind;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.PlacementRules;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** What the system says is read from a folder that stands for the root. Cases A05, A07, A80, B44. */
class PreflightTest {

    private static final long GB = 1L << 30;

    @TempDir
    Path root;

    private void file(String name, String... lines) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, List.of(lines));
    }

    /** A machine of 64 GB whose process holds 1 GB. */
    private void machine() throws IOException {
        file("proc/meminfo", "MemTotal:       67108864 kB", "MemAvailable:   62914560 kB", "SwapFree:              0 kB");
        file("proc/self/status", "Name:   java", "VmSize:  8388608 kB", "VmData:  2097152 kB", "VmRSS:   1048576 kB");
        file("proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     ",
                "Max data size             unlimited            unlimited            bytes     ",
                "Max address space         unlimited            unlimited            bytes     ");
    }

    /** 1.5 GB of parameters and as much of each gradients and one moment. */
    private static Plan plan(long deviceBytes) {
        long count = 3 * GB / 8;
        LayerDescription layer = LayerDescription.builder("0", "Dense").parameters(0, count).build();
        NetworkDescription network = new NetworkDescription(List.of(layer), new int[] {0}, new int[] {0}, new int[] {0}, count, count, 4);
        return DefaultPlanner.plan(network, new Budget(deviceBytes, deviceBytes == Long.MAX_VALUE ? 0 : 100 << 20, true, 0, true),
                PlacementRules.none(), 2);
    }

    private Preflight preflight(HostMemory memory) {
        return Preflight.of(plan(Long.MAX_VALUE), 0, true, "host", memory, false);
    }

    private static Optional<HostMemory.Limit> limit(HostMemory memory, Kind kind) {
        return memory.limits().stream().filter(limit -> limit.kind() == kind).findFirst();
    }

    @Test
    void a_machine_with_room_lets_a_plan_pass() throws IOException {
        machine();
        HostMemory memory = HostMemory.read(root);
        assertThat(memory.residentBytes()).isEqualTo(GB);
        assertThat(memory.limits()).extracting(HostMemory.Limit::kind).containsExactly(Kind.MACHINE);
        assertThatCode(() -> preflight(memory).check()).doesNotThrowAnyException();
        assertThat(preflight(memory).table().render()).contains("process now").contains("1.50 GB").contains("left of 64.0 GB")
                .doesNotContain("SHORT");
    }

    /** A80: VGG16 under Adam needs 2.1 GB of the host. */
    @Test
    void a_plan_that_the_host_has_no_room_for_is_refused_with_the_same_table_and_the_number_that_is_short() throws IOException {
        long count = 138_357_544;
        LayerDescription dense = LayerDescription.builder("fc1", "Dense").parameters(0, 102_764_544).build();
        LayerDescription rest = LayerDescription.builder("rest", "Dense").parameters(102_764_544, count - 102_764_544).build();
        NetworkDescription vgg16 = new NetworkDescription(List.of(dense, rest), new int[] {0, 1}, new int[] {1, 0}, new int[] {0, 1}, count,
                2 * count, 4);
        Plan plan = DefaultPlanner.plan(vgg16, new Budget(2 * GB, 300 << 20, true, 0, true), PlacementRules.none(), 2);
        machine();
        file("proc/meminfo", "MemTotal:        4194304 kB", "MemAvailable:    3145728 kB", "SwapFree:              0 kB");
        Preflight enough = Preflight.of(plan, 0, false, "gpu", HostMemory.read(root), false).check();
        file("proc/meminfo", "MemTotal:        4194304 kB", "MemAvailable:    1048576 kB", "SwapFree:              0 kB");
        Preflight shortOf = Preflight.of(plan, 0, false, "gpu", HostMemory.read(root), false);
        assertThatThrownBy(shortOf::check).isInstanceOf(OutOfMemoryException.class).hasMessageContaining(shortOf.table().render())
                .hasMessageContaining("leaves 1.00 GB (1,073,741,824 bytes)")
                .hasMessageContaining(String.format("%,d bytes) are needed", shortOf.neededBytes()));
        assertThat(enough.neededBytes()).isEqualTo(shortOf.neededBytes()).isBetween(16 * count, 16 * count + (64 << 20));
    }

    @Test
    void a_container_of_either_version_is_the_smaller_limit_and_is_named() throws IOException {
        machine();
        file("proc/self/cgroup", "0::/user/app");
        file("sys/fs/cgroup/user/app/memory.max", String.valueOf(6 * GB));
        file("sys/fs/cgroup/user/app/memory.current", String.valueOf(3 * GB));
        file("sys/fs/cgroup/user/app/memory.stat", "anon 1", "inactive_file " + GB);
        HostMemory memory = HostMemory.read(root);
        assertThat(limit(memory, Kind.CONTROL_GROUP).orElseThrow().freeBytes()).isEqualTo(4 * GB);
        assertThatThrownBy(() -> preflight(memory).check()).isInstanceOf(OutOfMemoryException.class)
                .hasMessageContaining("control group (container) leaves 4.00 GB").hasMessageContaining("docker run --memory=")
                .hasMessageContaining("SHORT").hasMessageContaining("updater state");
    }

    @Test
    void who_knows_better_than_the_system_is_warned_only() throws IOException {
        machine();
        HostMemory low = JavaCppLimits.addTo(HostMemory.read(root), 5 * GB, GB);
        System.setProperty(Preflight.PROPERTY, "warn");
        try {
            assertThatCode(() -> preflight(low).check()).doesNotThrowAnyException();
        } finally {
            System.clearProperty(Preflight.PROPERTY);
        }
        assertThatThrownBy(() -> preflight(low).check()).hasMessageContaining("-Dorg.memferry.preflight=warn");
    }

    @Test
    void the_tightest_group_above_the_process_counts_and_no_limit_is_none() throws IOException {
        machine();
        file("proc/self/cgroup", "4:memory:/a/b", "3:cpuset:/", "0::/");
        file("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712");
        file("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1");
        assertThat(limit(HostMemory.read(root), Kind.CONTROL_GROUP)).isEmpty();
        file("sys/fs/cgroup/memory/a/memory.limit_in_bytes", String.valueOf(4 * GB));
        file("sys/fs/cgroup/memory/a/memory.usage_in_bytes", String.valueOf(GB));
        assertThat(limit(HostMemory.read(root), Kind.CONTROL_GROUP).orElseThrow().freeBytes()).isEqualTo(3 * GB);
        // Inside a container the path is the machine's, and the files are at the mount.
        file("proc/self/cgroup", "0::/docker/4711");
        file("sys/fs/cgroup/memory.max", String.valueOf(2 * GB));
        file("sys/fs/cgroup/memory.current", "0");
        assertThat(limit(HostMemory.read(root), Kind.CONTROL_GROUP).orElseThrow().totalBytes()).isEqualTo(2 * GB);
        file("sys/fs/cgroup/memory.max", "max");
        assertThat(limit(HostMemory.read(root), Kind.CONTROL_GROUP)).isEmpty();
    }

    @Test
    void limits_of_the_shell_are_refused_with_a_value_that_works() throws IOException {
        machine();
        file("proc/self/limits", "Max data size             4294967296           unlimited            bytes     ",
                "Max address space         9663676416           unlimited            bytes     ");
        HostMemory memory = HostMemory.read(root);
        assertThat(limit(memory, Kind.DATA).orElseThrow().freeBytes()).isEqualTo(2 * GB);
        assertThat(limit(memory, Kind.ADDRESS_SPACE).orElseThrow().freeBytes()).isEqualTo(GB);
        long enough = 2 * GB + preflight(memory).neededBytes() >> 10;
        assertThatThrownBy(() -> preflight(memory).check()).hasMessageContaining("ulimit -d " + enough);
        file("proc/self/limits", "Max data size             " + (enough + 1 << 10) + "           unlimited            bytes     ");
        assertThatCode(() -> preflight(HostMemory.read(root)).check()).doesNotThrowAnyException();
    }

    @Test
    void javacpps_limit_counts_the_whole_process_and_is_refused_with_a_value_that_works() throws IOException {
        machine();
        HostMemory low = JavaCppLimits.addTo(HostMemory.read(root), 5 * GB, GB);
        OutOfMemoryException refusal = org.assertj.core.api.Assertions.catchThrowableOfType(() -> preflight(low).check(),
                OutOfMemoryException.class);
        assertThat(refusal.askedBytes()).isEqualTo(preflight(low).neededBytes());
        long enough = GB + refusal.askedBytes();
        assertThat(refusal).hasMessageContaining("-Dorg.bytedeco.javacpp.maxphysicalbytes=" + enough);
        assertThatCode(() -> preflight(JavaCppLimits.addTo(HostMemory.read(root), enough, GB)).check()).doesNotThrowAnyException();
        assertThatThrownBy(() -> preflight(JavaCppLimits.addTo(HostMemory.read(root), enough - 1, GB)).check()).isInstanceOf(OutOfMemoryException.class);
        assertThat(JavaCppLimits.addTo(HostMemory.read(root), 0, GB).limits()).hasSize(1);
    }

    @Test
    void an_emulated_device_and_its_activations_are_memory_of_the_process_and_the_networks_own_arrays_come_back() {
        HostMemory unknown = HostMemory.read(root.resolve("nowhere"));
        assertThat(unknown.limits()).isEmpty();
        Plan plan = plan(2 * GB);
        Preflight on = Preflight.of(plan, 0, true, "emulated 2 GB", unknown, false);
        Preflight off = Preflight.of(plan, 0, false, "gpu", unknown, false);
        assertThat(on.neededBytes() - off.neededBytes()).isEqualTo(plan.slabBytes() + plan.budget().activationBytes());
        assertThat(Preflight.of(plan, GB, true, "emulated 2 GB", unknown, false).neededBytes()).isEqualTo(on.neededBytes() - GB);
        assertThat(on.table().render()).contains("training and evaluation").contains("save, restore");
    }

    /** B44: what can be pinned is less than what there is. */
    @Test
    void where_host_memory_is_pinned_the_table_says_how_much_of_it_may_be() throws IOException {
        machine();
        Preflight anywhere = Preflight.of(plan(2 * GB), 0, false, "cuda:0", HostMemory.read(root), true);
        assertThat(anywhere.table().render()).contains("pinned memory").doesNotContain("locked memory", "Windows");
        file("proc/self/limits", "Max locked memory         65536                65536                bytes     ");
        assertThat(Preflight.of(plan(2 * GB), 0, false, "cuda:0", HostMemory.read(root), true).table().render())
                .contains("locked memory (ulimit -l)").contains("64.0 KB");
        assertThat(Preflight.of(plan(2 * GB), 0, false, "emulated", HostMemory.read(root), false).table().render())
                .doesNotContain("pinned", "locked");
    }

    @Test
    void in_windows_half_of_the_memory_counts_as_what_can_be_pinned() throws IOException {
        machine();
        file("proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2 (gcc 9.3.0)");
        assertThat(HostMemory.read(root).isInWindows()).isTrue();
        Preflight enough = Preflight.of(plan(2 * GB), 0, false, "cuda:0", HostMemory.read(root), true).check();
        assertThat(enough.table().render()).contains("pinned memory in Windows (WSL)").contains("32.0 GB").doesNotContain("SHORT");
        file("proc/meminfo", "MemTotal:       6291456 kB", "MemAvailable:   6029312 kB", "SwapFree:              0 kB");
        Preflight shortOf = Preflight.of(plan(2 * GB), 0, false, "cuda:0", HostMemory.read(root), true).check();
        assertThat(shortOf.table().render()).contains("SHORT").contains(".wslconfig");
    }
}
