package org.memferry;

import org.memferry.base.RefusedException;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.function.Function;

/**
 * Settings that can be made without a line of code, as system properties ({@code -Dorg.memferry.device=emulated:512MB}) or, where that
 * property is not set, as environment variables: the name without {@code org.}, in capitals and with an underscore for every point and
 * before every capital ({@code MEMFERRY_DEVICE}, {@code MEMFERRY_DEVICE_MEMORY}).
 *
 * <p>A network has those from {@link #DEVICE} to {@link #VERIFY_FIRST_STEPS} if it was attached by the agent, by {@link #ENABLED} or with
 * {@link MemFerryConfig#fromProperties()}. A configuration that a program makes otherwise leaves them out, with one warning.
 */
public final class MemFerryProperties {

    /**
     * Applicability: programs started with the agent or with MemFerry's ND4J managers<br>
     * Description: whether networks are attached that the program itself does not attach<br>
     * Default: false with the managers, true with the agent
     */
    public static final String ENABLED = "org.memferry.enabled";

    /**
     * Applicability: networks attached with {@link MemFerryConfig#fromProperties()}<br>
     * Description: the device, as in {@link MemFerryConfig.Builder#device(String)}; without its size if {@link #DEVICE_MEMORY} has it<br>
     * Default: {@value MemFerryConfig#DEFAULT_DEVICE}
     */
    public static final String DEVICE = "org.memferry.device";

    /**
     * Applicability: devices with memory of their own, such as {@code emulated}, whose size {@link #DEVICE} does not give<br>
     * Description: most bytes of device memory to use, such as {@code 6GB}<br>
     * Default: none
     */
    public static final String DEVICE_MEMORY = "org.memferry.deviceMemory";

    /**
     * Applicability: devices with memory of their own<br>
     * Description: device memory to leave alone, as in {@link MemFerryConfig.Builder#headroom(String)}<br>
     * Default: decided by the device
     */
    public static final String HEADROOM = "org.memferry.headroom";

    /**
     * Applicability: devices with memory of their own<br>
     * Description: how to plan from times, as in {@link MemFerryConfig.Builder#strategy}: {@code AUTO}, {@code MEMFERRY}, ...<br>
     * Default: none, the plan is made from sizes alone
     */
    public static final String STRATEGY = "org.memferry.strategy";

    /**
     * Applicability: networks planned by a {@link #STRATEGY}<br>
     * Description: file that keeps measured times, as in {@link MemFerryConfig.Builder#profile}<br>
     * Default: none
     */
    public static final String PROFILE = "org.memferry.profile";

    /**
     * Applicability: devices with memory of their own<br>
     * Description: {@code true} or {@code false} as in {@link MemFerryConfig.Builder#eagerUpdate}<br>
     * Default: decided by the listeners
     */
    public static final String EAGER_UPDATE = "org.memferry.eagerUpdate";

    /**
     * Applicability: devices with memory of their own, where MemFerry's ND4J managers are installed<br>
     * Description: {@code true} or {@code false} as in {@link MemFerryConfig.Builder#spillToHost}<br>
     * Default: false
     */
    public static final String SPILL_TO_HOST = "org.memferry.spillToHost";

    /**
     * Applicability: every attachment, on ND4J's CPU backends<br>
     * Description: iterations to train on a stock copy too and to compare, as in {@link MemFerryConfig.Builder#verifyFirstSteps}<br>
     * Default: 0
     */
    public static final String VERIFY_FIRST_STEPS = "org.memferry.verifyFirstSteps";

    /**
     * Applicability: every attachment<br>
     * Description: {@code warn} attaches although the host seems to have too little memory, with a warning<br>
     * Default: none, such an attachment is refused
     */
    public static final String PREFLIGHT = "org.memferry.preflight";

    /**
     * Applicability: every attachment whose configuration does not say {@link MemFerryConfig.Builder#updateThreads}<br>
     * Description: threads of the optimizer step; no environment twin<br>
     * Default: the processors that the program may use
     */
    public static final String UPDATE_THREADS = "org.memferry.update.threads";

    /**
     * Applicability: every attachment<br>
     * Description: the update kernel: {@code auto}, {@code native}, {@code native-avx512}, {@code native-avx2}, {@code native-baseline} or
     * {@code java}; no environment twin<br>
     * Default: {@code auto}
     */
    public static final String UPDATE_KERNEL = "org.memferry.update.kernel";

    private static final List<String> OF_CONFIGURATIONS = List.of(DEVICE, DEVICE_MEMORY, HEADROOM, STRATEGY, PROFILE, EAGER_UPDATE, SPILL_TO_HOST,
            VERIFY_FIRST_STEPS);
    private static final List<String> WITHOUT_ENVIRONMENT = List.of(PREFLIGHT, UPDATE_THREADS, UPDATE_KERNEL);

    private MemFerryProperties() {
    }

    /** All properties of this page. */
    public static List<String> names() {
        List<String> names = new ArrayList<>(List.of(ENABLED));
        names.addAll(OF_CONFIGURATIONS);
        names.addAll(WITHOUT_ENVIRONMENT);
        return names;
    }

    /** Those that {@link MemFerryConfig#fromProperties()} reads, and nothing else does. */
    static List<String> ofConfigurations() {
        return OF_CONFIGURATIONS;
    }

    /** Whether a property has an environment variable that stands for it. */
    public static boolean hasEnvironmentTwin(String property) {
        return names().contains(property) && !WITHOUT_ENVIRONMENT.contains(property);
    }

    /** The environment variable that stands for a property: {@code MEMFERRY_DEVICE_MEMORY} for {@code org.memferry.deviceMemory}. */
    public static String environmentName(String property) {
        return property.substring("org.".length()).replaceAll("([A-Z])", "_$1").replace('.', '_').toUpperCase(Locale.ROOT);
    }

    /**
     * What is spelt like a setting of MemFerry and is none, which nothing reads; attaching warns of it.
     *
     * @param properties  system properties
     * @param environment variables
     * @return for each, {@code -Dorg.memferry.devicMemory} for example, what to do about it; sorted by name
     */
    public static Map<String, String> unknown(Properties properties, Map<String, String> environment) {
        return UnknownSettings.find(properties, environment);
    }

    /** Value of a property, or else of its environment variable; null if neither is set or there is nothing in it. */
    static String value(String property) {
        return value(property, System::getProperty, System::getenv);
    }

    static String value(String property, Function<String, String> properties, Function<String, String> environment) {
        String value = properties.apply(property);
        String found = value != null ? value : environment.apply(environmentName(property));
        return found == null || found.isBlank() ? null : found.trim();
    }

    /**
     * Value of a property that is {@code true} or {@code false}.
     *
     * @return null if it is not set
     * @throws RefusedException if it is anything else
     */
    static Boolean flag(String property) {
        String value = value(property);
        if (value == null || value.equalsIgnoreCase("true") || value.equalsIgnoreCase("false")) {
            return value == null ? null : Boolean.valueOf(value);
        }
        throw new RefusedException(property + ": '" + value + "' (expected: true or false, or leave it unset)");
    }

    /**
     * Value of a property that is a whole number.
     *
     * @return null if it is not set
     * @throws RefusedException if it is anything else
     */
    static Integer count(String property) {
        String value = value(property);
        try {
            return value == null ? null : Integer.valueOf(value);
        } catch (NumberFormatException e) {
            throw new RefusedException(property + ": '" + value + "' (expected: a whole number, or leave it unset)");
        }
    }
}
