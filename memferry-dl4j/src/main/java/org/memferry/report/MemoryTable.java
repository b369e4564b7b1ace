package org.memferry.report;

import org.memferry.base.Sizes;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Amounts of memory for a reader, one to a line, each with a word on what is counted in it. A preflight and an estimate are such tables;
 * a refusal carries one in its text. Immutable.
 */
public final class MemoryTable {

    private final List<String[]> rows;

    private MemoryTable(Builder b) {
        this.rows = List.copyOf(b.rows);
    }

    /** Starts a table. */
    public static Builder builder() {
        return new Builder();
    }

    /** The table in columns: what, amount, exact bytes, remark. Lines end with a line feed. */
    public String render() {
        int[] width = new int[3];
        for (String[] row : rows) {
            for (int c = 0; c < width.length; c++) {
                width[c] = Math.max(width[c], row.length == 1 ? 0 : row[c].length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (String[] row : rows) {
            if (row.length == 1) {
                text.append(row[0]).append('\n');
                continue;
            }
            String line = String.format("  %-" + width[0] + "s  %" + width[1] + "s  %" + width[2] + "s  %s", (Object[]) row);
            text.append(line.stripTrailing()).append('\n');
        }
        return text.toString();
    }

    @Override
    public String toString() {
        return render();
    }

    /** Collects lines. */
    public static final class Builder {

        private final List<String[]> rows = new ArrayList<>();

        private Builder() {
        }

        /** A heading, or a sentence of its own. */
        public Builder text(String line) {
            rows.add(new String[] {line});
            return this;
        }

        /**
         * An amount.
         *
         * @param what   what it is of
         * @param bytes  the amount
         * @param remark what is counted, or where it is from; may be empty
         */
        public Builder row(String what, long bytes, String remark) {
            rows.add(new String[] {what, Sizes.format(bytes), String.format(Locale.ROOT, "%,d", bytes), remark});
            return this;
        }

        /** A line whose amount is not known or has no limit, said in a word. */
        public Builder row(String what, String amount, String remark) {
            rows.add(new String[] {what, amount, "", remark});
            return this;
        }

        /** The table. */
        public MemoryTable build() {
            return new MemoryTable(this);
        }
    }
}
