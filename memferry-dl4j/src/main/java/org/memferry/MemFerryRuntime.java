package org.memferry;

import org.memferry.base.RefusedException;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.factory.Nd4jBackend;

import java.util.Map;
import java.util.TreeMap;

/**
 * Puts MemFerry's memory and workspace manager into ND4J. With them DL4J's workspaces keep within the budget of the device, MemFerry sees
 * every layer being entered and left, and networks can be attached without a line of code ({@link MemFerryProperties#ENABLED}). Without
 * them everything works, with workspaces estimated. The same is done by the properties
 * {@code -Dmemorymanager=org.memferry.nd4j.MemFerryMemoryManager -Dworkspacemanager=org.memferry.nd4j.MemFerryWorkspaceManager},
 * with {@code MemFerryCuda} in place of {@code MemFerry} for ND4J's CUDA backend.
 */
public final class MemFerryRuntime {

    // By name: of the two backends' classes only those of the one on the class path can be loaded.
    private static final Map<String, String> CPU = managers("MemFerry");
    private static final Map<String, String> CUDA = managers("MemFerryCuda");
    private static final String CUDA_BACKEND = "JCublasBackend";

    private MemFerryRuntime() {
    }

    private static Map<String, String> managers(String prefix) {
        return new TreeMap<>(Map.of("memorymanager", "org.memferry.nd4j." + prefix + "MemoryManager",
                "workspacemanager", "org.memferry.nd4j." + prefix + "WorkspaceManager"));
    }

    /** The managers for the backend that ND4J takes, or will. */
    private static Map<String, String> managers() {
        try {
            return Nd4jBackend.load().getClass().getSimpleName().equals(CUDA_BACKEND) ? CUDA : CPU;
        } catch (Nd4jBackend.NoAvailableBackendException e) {
            // ND4J says so itself, with what it looked for, as soon as it starts.
            return CPU;
        }
    }

    /**
     * Starts ND4J with MemFerry's managers. To be called before the program's first use of ND4J; a second call does nothing.
     *
     * @throws RefusedException if ND4J was in use already, or was told to use other managers; it is as it was
     */
    public static synchronized void install() {
        Map<String, String> managers = managers();
        managers.forEach((property, ours) -> {
            String other = System.getProperty(property);
            if (other != null && !other.equals(ours)) {
                throw new RefusedException("property " + property + " is " + other + " (expected: not set, or " + ours + "): ND4J has one "
                        + "manager of each kind. Leave the property unset to use MemFerry's.");
            }
        });
        managers.forEach(System::setProperty);
        if (!isInstalled()) {
            managers.keySet().forEach(System::clearProperty);
            throw new RefusedException("ND4J is in use already, with " + Nd4j.getMemoryManager().getClass().getSimpleName() + " and "
                    + Nd4j.getWorkspaceManager().getClass().getSimpleName() + " (expected: MemFerryRuntime.install() before the first use of "
                    + "ND4J or DL4J). Call it first in main, or set the properties " + managers + " on the command line.");
        }
    }

    /** True if this program's ND4J has MemFerry's managers. Starts ND4J if it was not in use yet. */
    public static boolean isInstalled() {
        Map<String, String> present = new TreeMap<>(Map.of("memorymanager", Nd4j.getMemoryManager().getClass().getName(),
                "workspacemanager", Nd4j.getWorkspaceManager().getClass().getName()));
        return present.equals(CPU) || present.equals(CUDA);
    }
}
