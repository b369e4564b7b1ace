package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.memferry.plan.LayerDescription;
import org.memferry.plan.Plan;

/**
 * What must hold for every compiled program, judged by brute force: for every visit and every copy all others of the pass are looked
 * at, without the bookkeeping that the compiler uses.
 */
final class ProgramCheck {

    private final Program program;
    private final Plan plan;

    private ProgramCheck(Program program) {
        this.program = program;
        this.plan = program.plan();
    }

    /** Fails with the reason if the program breaks a rule. */
    static void check(Program program) {
        ProgramCheck check = new ProgramCheck(program);
        check.slotsFitTheSlab();
        check.pass(program.training());
        check.pass(program.inference());
        check.gradientSlots();
    }

    private void slotsFitTheSlab() {
        for (int a = 0; a < program.slots(); a++) {
            assertThat(program.slotOffset(a)).as("offset of slot %d", a).isNotNegative();
            assertThat(program.slotOffset(a) % Plan.SLOT_ALIGNMENT).as("alignment of slot %d", a).isZero();
            assertThat(program.slotOffset(a) + program.slotBytes(a)).as("end of slot %d", a).isLessThanOrEqualTo(plan.slabBytes());
            for (int b = 0; b < a; b++) {
                boolean apart = program.slotOffset(a) >= program.slotOffset(b) + program.slotBytes(b)
                        || program.slotOffset(b) >= program.slotOffset(a) + program.slotBytes(a);
                assertThat(apart).as("slots %d and %d do not overlap", a, b).isTrue();
            }
        }
    }

    private void pass(Pass pass) {
        for (int v = 0; v < pass.visits.length; v++) {
            visit(pass, v);
        }
        int need = 0;
        for (Copy copy : pass.copies) {
            copy(pass, copy);
            assertThat(copy.visit).as("copies stand in the order of need").isGreaterThanOrEqualTo(need);
            need = copy.visit;
        }
    }

    private void visit(Pass pass, int index) {
        Visit visit = pass.visits[index];
        if (visit.slot < 0) {
            assertThat(copyFor(pass, index)).as("a copy for visit %d, which has no slot", index).isNull();
            return;
        }
        LayerDescription layer = plan.network().layers().get(visit.layer);
        assertThat(layer.parameterBytes()).as("layer %s in slot %d", layer, visit.slot).isLessThanOrEqualTo(program.slotBytes(visit.slot));
        int former = formerReader(pass, visit.slot, index);
        if (copyFor(pass, index) == null) {
            assertThat(former).as("visit %d has no copy and needs an earlier one", index).isNotNegative();
            assertThat(pass.visits[former].layer).as("slot %d at visit %d", visit.slot, index).isEqualTo(visit.layer);
            assertThat(pass.visits[former].lastUse).as("visit %d lets its slot go but visit %d reads it", former, index).isFalse();
        } else if (former >= 0) {
            assertThat(pass.visits[former].lastUse).as("visit %d keeps its slot but visit %d overwrites it", former, index).isTrue();
        }
    }

    private void copy(Pass pass, Copy copy) {
        Visit visit = pass.visits[copy.visit];
        assertThat(copy.layer).as("the copy for visit %d", copy.visit).isEqualTo(visit.layer);
        assertThat(copy.slot).as("the copy for visit %d", copy.visit).isEqualTo(visit.slot);
        int former = formerReader(pass, copy.slot, copy.visit);
        assertThat(copy.afterVisit).as("the copy for visit %d must not start before visit %d has been left", copy.visit, former)
                .isGreaterThanOrEqualTo(former);
        assertThat(copy.afterVisit).as("the copy for visit %d must start before it", copy.visit).isLessThan(copy.visit);
    }

    /** Index of the last visit before this one that reads the slot, whatever it holds; -1 if there is none. */
    private static int formerReader(Pass pass, int slot, int before) {
        int last = -1;
        for (int i = 0; i < before; i++) {
            if (pass.visits[i].slot == slot) {
                last = i;
            }
        }
        return last;
    }

    private static Copy copyFor(Pass pass, int visit) {
        Copy found = null;
        for (Copy copy : pass.copies) {
            if (copy.visit == visit) {
                assertThat(found).as("two copies for visit %d", visit).isNull();
                found = copy;
            }
        }
        return found;
    }

    private void gradientSlots() {
        int lastSlot = -1;
        for (Visit visit : program.training().visits) {
            if (visit.gradientSlot < 0) {
                continue;
            }
            assertThat(visit.backward).as("only backward writes gradients").isTrue();
            LayerDescription layer = plan.network().layers().get(visit.layer);
            assertThat(layer.gradientBytes()).isLessThanOrEqualTo(program.slotBytes(visit.gradientSlot));
            assertThat(plan.gradientSlots().length > 1 && visit.gradientSlot == lastSlot).as("neighbours share gradient slot %d", lastSlot)
                    .isFalse();
            lastSlot = visit.gradientSlot;
            for (Pass pass : new Pass[] {program.training(), program.inference()}) {
                for (Visit other : pass.visits) {
                    assertThat(other.slot).as("slot of gradients and parameters").isNotEqualTo(visit.gradientSlot);
                }
            }
        }
    }
}
