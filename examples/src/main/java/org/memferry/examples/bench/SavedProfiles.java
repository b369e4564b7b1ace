package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/**
 * Measures a network's times on the emulated devices of a {@link Setting} and saves them, for another process to predict and to train from.
 * Runs in a process of its own; see {@link ChildProcess}.
 */
final class SavedProfiles {

    private SavedProfiles() {
    }

    /** Entry of the child process: model, transfer over compute, folder for the profiles. */
    public static void main(String[] arguments) throws IOException {
        OffloadModel model = OffloadModel.valueOf(arguments[0].toUpperCase(Locale.ROOT));
        System.out.println(measure(model, Double.parseDouble(arguments[1]), new File(arguments[2])));
    }

    /** Finds the setting, and saves a profile for each of its two devices; returns the setting's line. */
    static ResultLine measure(OffloadModel model, double transferOverCompute, File folder) throws IOException {
        List<DataSet> batches = model.batches();
        Setting setting = Setting.find(model, batches, transferOverCompute, new File(folder, "pace.json"));
        double ratio = Double.NaN;
        for (Strategy strategy : List.of(Strategy.NATIVE_OFFLOAD, Strategy.ZERO_OFFLOAD)) {
            try (Contestant measured = Contestant.attach(model, batches, strategy, setting.device(strategy), file(folder, strategy))) {
                ratio = setting.transferOverCompute(measured.plan().network(), measured.profile());
            }
        }
        return new ResultLine("setting").add("setting", setting).add("transfer_over_compute", String.format(Locale.ROOT, "%.3f", ratio));
    }

    /** Where the profile for the device of a strategy lies. */
    static File file(File folder, Strategy strategy) {
        return new File(folder, (strategy == Strategy.NATIVE_OFFLOAD ? "native" : "zero") + ".profile.json");
    }
}
