package org.memferry.device;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What the system lets this process have, read before anything is taken: a container kills a process that takes more, without a word, and
 * a limit of the shell refuses the one allocation that happens to come next. Each limit says how much is left of it, and is absent where
 * the system sets none or does not tell. Immutable.
 *
 * <p>Source: proc(5) ({@code /proc/meminfo}, {@code /proc/self/status}, {@code /proc/self/limits}), and the kernel's documentation of
 * control groups, version 1 ({@code memory.limit_in_bytes}) and version 2 ({@code memory.max}).
 */
public final class HostMemory {

    /** Control groups of version 1 without a limit show a number near 2^63. */
    private static final long NO_LIMIT = 1L << 60;

    /** The system tells no limit of locked memory. */
    public static final long NOT_TOLD = -1;

    private final long residentBytes;
    private final List<Limit> limits;
    private final long lockedBytes;
    private final boolean windows;

    /** One limit, and how much of it is left. */
    public static final class Limit {

        private final Kind kind;
        private final long totalBytes;
        private final long freeBytes;

        /**
         * @param kind       who sets it
         * @param totalBytes the limit
         * @param freeBytes  what is left of it
         */
        public Limit(Kind kind, long totalBytes, long freeBytes) {
            this.kind = kind;
            this.totalBytes = totalBytes;
            this.freeBytes = Math.max(0, freeBytes);
        }

        /** Who sets it. */
        public Kind kind() {
            return kind;
        }

        /** The limit. */
        public long totalBytes() {
            return totalBytes;
        }

        /** What is left of it. */
        public long freeBytes() {
            return freeBytes;
        }
    }

    /** Who sets a limit. */
    public enum Kind {

        /** The machine's memory, with what can be swapped out. */
        MACHINE("memory of the machine"),
        /** A container or a service: a control group of either version. */
        CONTROL_GROUP("control group (container)"),
        /** {@code ulimit -d}. */
        DATA("data size (ulimit -d)"),
        /** {@code ulimit -v}. */
        ADDRESS_SPACE("address space (ulimit -v)"),
        /** JavaCPP's {@code maxphysicalbytes}, against the whole process. */
        JAVACPP("JavaCPP's maxphysicalbytes");

        private final String title;

        Kind(String title) {
            this.title = title;
        }

        /** For a reader. */
        public String title() {
            return title;
        }
    }

    private HostMemory(long residentBytes, List<Limit> limits, long lockedBytes, boolean windows) {
        this.residentBytes = residentBytes;
        this.limits = List.copyOf(limits);
        this.lockedBytes = lockedBytes;
        this.windows = windows;
    }

    /**
     * Reads what the system says.
     *
     * @param root the root folder, {@code /} but in tests
     */
    public static HostMemory read(Path root) {
        Reader reader = new Reader(root);
        List<Limit> limits = new ArrayList<>();
        long total = reader.kilobytes("proc/meminfo", "MemTotal");
        if (total >= 0) {
            limits.add(new Limit(Kind.MACHINE, total, reader.kilobytes("proc/meminfo", "MemAvailable")
                    + Math.max(0, reader.kilobytes("proc/meminfo", "SwapFree"))));
        }
        reader.addControlGroups(limits);
        reader.addProcessLimit(limits, Kind.DATA, "Max data size", "VmData");
        reader.addProcessLimit(limits, Kind.ADDRESS_SPACE, "Max address space", "VmSize");
        boolean windows = reader.lines("proc/version").stream().anyMatch(line -> line.toLowerCase(Locale.ROOT).contains("microsoft"));
        return new HostMemory(Math.max(0, reader.kilobytes("proc/self/status", "VmRSS")), limits, reader.lockedBytes(), windows);
    }

    /** The same with one more limit. */
    public HostMemory with(Limit limit) {
        List<Limit> more = new ArrayList<>(limits);
        more.add(limit);
        return new HostMemory(residentBytes, more, lockedBytes, windows);
    }

    /** Physical memory of this process now; 0 if the system does not tell. */
    public long residentBytes() {
        return residentBytes;
    }

    /** All limits that are set. */
    public List<Limit> limits() {
        return limits;
    }

    /**
     * What {@code ulimit -l} lets this process lock, {@link Long#MAX_VALUE} where it is unlimited, {@link #NOT_TOLD} where the system does not
     * say. None of {@link #limits()}, since drivers of cards mostly pin outside of it.
     */
    public long lockedBytes() {
        return lockedBytes;
    }

    /** Whether this Linux runs in Windows (WSL), which lets about half of its memory be pinned. */
    public boolean isInWindows() {
        return windows;
    }

    /** Reads single numbers; -1 where there is none. */
    private static final class Reader {

        private final Path root;

        Reader(Path root) {
            this.root = root;
        }

        private List<String> lines(String file) {
            try {
                return Files.readAllLines(root.resolve(file), StandardCharsets.UTF_8);
            } catch (IOException e) {
                // Another system, or a container that hides it: the limit is not known.
                return List.of();
            }
        }

        /** A number in a file of {@code name: value kB}. */
        long kilobytes(String file, String name) {
            for (String line : lines(file)) {
                if (line.startsWith(name + ":")) {
                    return number(line.substring(name.length() + 1).replace("kB", "")) << 10;
                }
            }
            return -1;
        }

        private static long number(String text) {
            try {
                return Long.parseLong(text.trim());
            } catch (NumberFormatException e) {
                return -1;
            }
        }

        void addProcessLimit(List<Limit> limits, Kind kind, String name, String used) {
            for (String line : lines("proc/self/limits")) {
                if (line.startsWith(name)) {
                    long limit = number(line.substring(name.length()).trim().split("\\s+")[0]);
                    if (limit >= 0) {
                        limits.add(new Limit(kind, limit, limit - Math.max(0, kilobytes("proc/self/status", used))));
                    }
                }
            }
        }

        long lockedBytes() {
            String name = "Max locked memory";
            for (String line : lines("proc/self/limits")) {
                if (line.startsWith(name)) {
                    String limit = line.substring(name.length()).trim().split("\\s+")[0];
                    return limit.equals("unlimited") ? Long.MAX_VALUE : number(limit);
                }
            }
            return NOT_TOLD;
        }

        /** The tightest of the process's own groups and those above it, of either version. */
        void addControlGroups(List<Limit> limits) {
            Limit tightest = null;
            for (String line : lines("proc/self/cgroup")) {
                String[] fields = line.split(":", 3);
                if (fields.length == 3 && fields[1].isEmpty()) {
                    tightest = tighter(tightest, groups("sys/fs/cgroup", fields[2], "memory.max", "memory.current"));
                } else if (fields.length == 3 && List.of(fields[1].split(",")).contains("memory")) {
                    tightest = tighter(tightest, groups("sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes", "memory.usage_in_bytes"));
                }
            }
            if (tightest != null) {
                limits.add(tightest);
            }
        }

        private Limit groups(String mount, String group, String limitFile, String usageFile) {
            Limit tightest = null;
            String path = group.replaceAll("/+$", "");
            while (true) {
                // Inside a container the group's path is that of the machine, and its files are at the mount itself.
                tightest = tighter(tightest, group(mount + path, limitFile, usageFile));
                if (path.isEmpty()) {
                    return tightest;
                }
                path = path.substring(0, path.lastIndexOf('/'));
            }
        }

        private Limit group(String folder, String limitFile, String usageFile) {
            long limit = first(folder + "/" + limitFile);
            if (limit < 0 || limit >= NO_LIMIT) {
                return null;
            }
            long reclaimable = 0;
            for (String line : lines(folder + "/memory.stat")) {
                // Files that were read once: the kernel drops them before it kills anybody.
                if (line.toLowerCase(Locale.ROOT).startsWith("inactive_file ")) {
                    reclaimable = Math.max(0, number(line.substring("inactive_file ".length())));
                }
            }
            return new Limit(Kind.CONTROL_GROUP, limit, limit - Math.max(0, first(folder + "/" + usageFile)) + reclaimable);
        }

        private long first(String file) {
            List<String> lines = lines(file);
            return lines.isEmpty() ? -1 : number(lines.get(0));
        }

        private static Limit tighter(Limit a, Limit b) {
            return a == null || b != null && b.freeBytes < a.freeBytes ? b : a;
        }
    }
}
