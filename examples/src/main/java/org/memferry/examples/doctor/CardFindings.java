package org.memferry.examples.doctor;

import org.memferry.base.RefusedException;
import org.memferry.examples.GraphicsCards;
import org.memferry.nd4j.CudaBuild;
import org.memferry.nd4j.Nd4jBuild;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Cards, their driver, and ND4J's CUDA backend for them. Looks at the driver's files and asks {@code nvidia-smi}: the CUDA runtime is not
 * touched, so that nothing is taken on a card that is at work.
 */
final class CardFindings {

    /** NVIDIA's display controllers, as the bus lists them. */
    private static final String NVIDIA = "0x10de";
    private static final String DISPLAY = "0x03";
    private static final Pattern VERSION = Pattern.compile("\\s(\\d{3,})\\.(\\d+)(\\.\\d+)*\\s");
    /** The oldest driver that CUDA 11.1 and later run on (NVIDIA, CUDA compatibility): 450.80. */
    private static final int OLDEST_DRIVER = 450;
    private static final String RECORD = "--query-gpu=name,compute_cap,memory.total,driver_version";
    private static final List<String> FOLDERS = List.of("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/nvidia/lib64",
            "usr/lib/wsl/lib", "usr/local/cuda/compat");

    private final Surroundings surroundings;
    private final Optional<String> cuda;
    private final String nd4j;
    private final List<String> asked;

    CardFindings(Surroundings surroundings) {
        this(surroundings, Nd4jBuild.version(), Nd4jBuild.cuda());
    }

    /**
     * @param nd4j release of ND4J
     * @param cuda version of CUDA that the CUDA backend on the class path is for; empty without one
     */
    CardFindings(Surroundings surroundings, String nd4j, Optional<String> cuda) {
        this.surroundings = surroundings;
        this.nd4j = nd4j;
        this.cuda = cuda;
        this.asked = surroundings.output("nvidia-smi", RECORD, "--format=csv,noheader");
    }

    List<Finding> findings() {
        List<Finding> all = new ArrayList<>();
        if (!cards().isEmpty()) {
            all.add(driver());
        }
        all.add(card());
        all.add(backend());
        return all;
    }

    /** Whether the driver shows a card. */
    boolean hasCard() {
        return !cards().isEmpty();
    }

    private List<String> cards() {
        List<String> names = new ArrayList<>();
        asked.forEach(line -> names.add(field(line, 0)));
        return names.isEmpty() ? GraphicsCards.names(surroundings.root()) : names;
    }

    private static String field(String line, int index) {
        String[] fields = line.split(",");
        return index < fields.length ? fields[index].trim() : "";
    }

    private Finding card() {
        List<String> cards = cards();
        if (!asked.isEmpty()) {
            return count(cards.size(), String.join("; ", asked));
        }
        if (!cards.isEmpty()) {
            return count(cards.size(), String.join("; ", cards) + "; nvidia-smi is not there to say more");
        }
        if (isCardOnBus()) {
            return Finding.note("card", "a card of NVIDIA is on the bus, but no driver shows it",
                    "Install NVIDIA's driver (in a container: start it with the NVIDIA container toolkit, --gpus) to train on the card.");
        }
        return Finding.note("card", "none: training is on the CPU",
                "Devices host and emulated:<size> need none; to train on a card, install one of NVIDIA's and its driver (in a container: --gpus).");
    }

    private static Finding count(int cards, String found) {
        return cards == 1 ? Finding.ok("card", found)
                : Finding.note("card", found, "ND4J must see one card: set CUDA_VISIBLE_DEVICES=0 in the environment.");
    }

    private boolean isCardOnBus() {
        return surroundings.folder("sys/bus/pci/devices").stream().anyMatch(device -> surroundings.firstLine(device + "/vendor").equals(NVIDIA)
                && surroundings.firstLine(device + "/class").startsWith(DISPLAY));
    }

    private Finding driver() {
        String version = asked.isEmpty() ? driverFile() : field(asked.get(0), 3);
        boolean library = hasLibrary();
        String found = "version " + (version.isEmpty() ? "unknown" : version) + ", libcuda.so.1 " + (library ? "found" : "not found");
        if (!version.isEmpty() && Integer.parseInt(version.split("\\.")[0]) < OLDEST_DRIVER) {
            return Finding.note("driver", found, "CUDA 11 needs driver 450.80 or later: update it to train on the card.");
        }
        return library ? Finding.ok("driver", found) : Finding.note("driver", found,
                "Install the driver's CUDA part (libcuda1, or --gpus with NVIDIA_DRIVER_CAPABILITIES=compute,utility in a container).");
    }

    private String driverFile() {
        Matcher matcher = VERSION.matcher(" " + surroundings.firstLine("proc/driver/nvidia/version") + " ");
        return matcher.find() ? matcher.group().trim() : "";
    }

    private boolean hasLibrary() {
        List<String> folders = new ArrayList<>(FOLDERS);
        for (String folder : surroundings.environment().getOrDefault("LD_LIBRARY_PATH", "").split(":")) {
            folders.add(folder.replaceFirst("^/+", ""));
        }
        return folders.stream().filter(folder -> !folder.isEmpty()).anyMatch(folder -> surroundings.exists(folder + "/libcuda.so.1"));
    }

    private Finding backend() {
        String found = cuda.map(version -> "nd4j-cuda-" + version + " is on the class path").orElse("nd4j-cuda is not on the class path");
        int[] capabilities = asked.stream().map(line -> field(line, 1)).filter(text -> text.matches("\\d+\\.\\d"))
                .mapToInt(text -> Integer.parseInt(text.replace(".", ""))).toArray();
        if (!hasCard()) {
            return cuda.isEmpty() ? Finding.ok("CUDA backend", found)
                    : Finding.note("CUDA backend", found + ", and there is no card", "ND4J takes nd4j-native where it is beside it; leave nd4j-cuda"
                            + " out where there is no card.");
        }
        if (cuda.isEmpty()) {
            return Finding.note("CUDA backend", found + ": the card is not used", advice(capabilities));
        }
        return judged(found, capabilities);
    }

    private Finding judged(String found, int... capabilities) {
        try {
            for (int capability : capabilities) {
                if (CudaBuild.check(nd4j, capability) == CudaBuild.Support.COMPILED_AT_FIRST_USE) {
                    return Finding.note("CUDA backend", found + ": the driver compiles it for this card at first use, tens of minutes",
                            "Set CUDA_CACHE_MAXSIZE=4294967296 in the environment, so that the result is kept.");
                }
            }
            return Finding.ok("CUDA backend", found + (capabilities.length == 0 ? "; the card's compute capability is not known" : ""));
        } catch (RefusedException e) {
            return Finding.fix("CUDA backend", found + ": nothing in it runs on this card", e.getMessage());
        }
    }

    /** The newest build that has code for all cards. */
    private static String advice(int... capabilities) {
        if (Arrays.stream(capabilities).allMatch(card -> CudaBuild.M2_1.supports(card) != CudaBuild.Support.NONE)) {
            return "Put nd4j-cuda-11.6 of 1.0.0-M2.1 in place of nd4j-native to train on it.";
        }
        return Arrays.stream(capabilities).allMatch(card -> CudaBuild.M1_1.supports(card) != CudaBuild.Support.NONE)
                ? "Put nd4j-cuda-11.2 with DL4J and ND4J 1.0.0-M1.1 in place of nd4j-native to train on it."
                : "No release of ND4J has a build for this card: stay with nd4j-native.";
    }
}
