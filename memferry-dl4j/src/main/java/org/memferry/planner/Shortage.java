package org.memferry.planner;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.plan.Budget;
import org.memferry.plan.Plan;

/** The words in which planners say that device memory is short: what was asked, what of it for what, what is there, and the way out. */
final class Shortage {

    private Shortage() {
    }

    /**
     * Refuses a device that does not even hold the activations.
     *
     * @throws OutOfMemoryException if the budget leaves less than nothing
     */
    static void requireRoom(Budget budget) {
        if (budget.slabLimit() < 0) {
            throw new OutOfMemoryException("the device has " + Sizes.exact(budget.deviceBytes()) + " but activations and working memory"
                    + " need " + Sizes.exact(budget.activationBytes()) + " (estimated) and "
                    + Sizes.exact(budget.headroomBytes()) + " are kept free, before any parameter. Train with a smaller batch, "
                    + (budget.headroomBytes() > 0 ? "keep less free (headroom), " : "") + "or give the device more memory (deviceMemory, --device-memory).", budget.activationBytes(), budget.deviceBytes());
        }
    }

    /**
     * The plan that takes least does not fit.
     *
     * @param what     what takes it, with the verb: {@code "the placements you fixed need"}
     * @param smallest the plan that takes least
     */
    static OutOfMemoryException of(String what, Plan smallest, Budget budget) {
        return new OutOfMemoryException(what + " " + Sizes.exact(smallest.slabBytes()) + " of device memory ("
                + Sizes.format(smallest.residentBytes()) + " resident, " + Sizes.format(smallest.parameterSlotBytes()) + " in "
                + smallest.parameterSlots().length + " parameter slots, " + Sizes.format(smallest.gradientSlotBytes()) + " in "
                + smallest.gradientSlots().length + " gradient slots) but " + Sizes.exact(budget.slabLimit()) + " of "
                + Sizes.format(budget.deviceBytes()) + " are left beside activations (" + Sizes.format(budget.activationBytes())
                + ", estimated) and headroom (" + Sizes.format(budget.headroomBytes()) + "). Place fewer layers RESIDENT, large ones"
                + " DIRECT, or give the device more memory (deviceMemory, --device-memory).", smallest.slabBytes(), Math.max(0, budget.slabLimit()));
    }
}
