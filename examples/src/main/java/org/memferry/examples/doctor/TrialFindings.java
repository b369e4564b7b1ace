package org.memferry.examples.doctor;

import org.memferry.MemFerryConfig;
import org.memferry.base.MemFerryException;
import org.memferry.examples.bench.BackendRun;
import org.memferry.nd4j.RegionArrays;

import java.util.List;

/** Trains a small network on the device, in every placement beside plain DL4J: what works there, works. */
final class TrialFindings {

    private static final String THING = "training";

    private final String device;

    /** @param device to train on; null for the settings' */
    TrialFindings(String device) {
        this.device = device;
    }

    List<Finding> findings() {
        return List.of(trial());
    }

    private Finding trial() {
        boolean card = RegionArrays.computesOnCard();
        String on = device;
        try {
            if (on == null) {
                String configured = MemFerryConfig.fromProperties().device();
                on = card && configured.equals(MemFerryConfig.DEFAULT_DEVICE) ? "cuda" : configured;
            }
            List<BackendRun.Placed> all = BackendRun.small(on).placements();
            String compared = all.size() + " trainings of " + BackendRun.ITERATIONS + " iterations on " + on + " beside plain DL4J: ";
            if (!all.stream().allMatch(placed -> placed.isRight(!card))) {
                return Finding.fix(THING, compared + "the numbers differ", "Report it, with the output of: memferry bench backend --device " + on + ".");
            }
            return Finding.ok(THING, compared + (card ? "scores and gradients bit-identical" : "scores, gradients and parameters bit-identical"));
        } catch (MemFerryException e) {
            return Finding.fix(THING, on == null ? "not tried: the settings are wrong" : "refused on " + on, e.getMessage().lines().findFirst().orElse(""));
        }
    }
}
