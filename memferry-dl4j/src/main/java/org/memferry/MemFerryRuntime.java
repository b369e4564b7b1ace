package org.memferry;

import org.memferry.base.RefusedException;
import org.memferry.nd4j.MemFerryMemoryManager;
import org.memferry.nd4j.MemFerryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;

import java.util.Map;
import java.util.TreeMap;

/**
 * Puts MemFerry's memory and workspace manager into ND4J. With them DL4J's workspaces keep within the budget of the device, MemFerry sees
 * every layer being entered and left, and networks can be attached without a line of code ({@link MemFerryProperties#ENABLED}). Without
 * them everything works, with workspaces estimated. The same is done by the properties
 * {@code -Dmemorymanager=org.memferry.nd4j.MemFerryMemoryManager -Dworkspacemanager=org.memferry.nd4j.MemFerryWorkspaceManager}.
 */
public final class MemFerryRuntime {

    private static final Map<String, String> MANAGERS = new TreeMap<>(Map.of(
            "memorymanager", "org.memferry.nd4j.MemFerryMemoryManager",
            "workspacemanager", "org.memferry.nd4j.MemFerryWorkspaceManager"));

    private MemFerryRuntime() {
    }

    /**
     * Starts ND4J with MemFerry's managers. To be called before the program's first use of ND4J; a second call does nothing.
     *
     * @throws RefusedException if ND4J was in use already, or was told to use other managers; it is as it was
     */
    public static synchronized void install() {
        MANAGERS.forEach((property, ours) -> {
            String other = System.getProperty(property);
            if (other != null && !other.equals(ours)) {
                throw new RefusedException("property " + property + " is " + other + " (expected: not set, or " + ours + "): ND4J has one "
                        + "manager of each kind. Leave the property unset to use MemFerry's.");
            }
        });
        MANAGERS.forEach(System::setProperty);
        if (!isInstalled()) {
            MANAGERS.keySet().forEach(System::clearProperty);
            throw new RefusedException("ND4J is in use already, with " + Nd4j.getMemoryManager().getClass().getSimpleName() + " and "
                    + Nd4j.getWorkspaceManager().getClass().getSimpleName() + " (expected: MemFerryRuntime.install() before the first use of "
                    + "ND4J or DL4J). Call it first in main, or set the properties " + MANAGERS + " on the command line.");
        }
    }

    /** True if this program's ND4J has MemFerry's managers. Starts ND4J if it was not in use yet. */
    public static boolean isInstalled() {
        return Nd4j.getMemoryManager() instanceof MemFerryMemoryManager && Nd4j.getWorkspaceManager() instanceof MemFerryWorkspaceManager;
    }
}
