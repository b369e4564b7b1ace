package org.memferry.examples.gpucheck;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What the check found, for people (Markdown) and for programs (JSON): the same tables. */
final class Report {

    private final String title;
    private final Map<String, String> facts = new LinkedHashMap<>();
    private final List<Table> tables = new ArrayList<>();
    private final List<String> unproven = new ArrayList<>();

    Report(String title) {
        this.title = title;
    }

    /** A fact about the machine or the run. */
    void fact(String name, Object value) {
        facts.put(name, String.valueOf(value));
    }

    /** Something that this run could not show. */
    void unproven(String sentence) {
        unproven.add(sentence);
    }

    /** Begins a table; the first columns name what was measured. */
    Table table(String heading, String note, String... columns) {
        Table table = new Table(heading, note, List.of(columns));
        tables.add(table);
        return table;
    }

    /** One table. */
    static final class Table {

        private final String heading;
        private final String note;
        private final List<String> columns;
        private final List<List<Object>> rows = new ArrayList<>();

        private Table(String heading, String note, List<String> columns) {
            this.heading = heading;
            this.note = note;
            this.columns = columns;
        }

        /** Adds a row, one value per column; numbers are rounded for Markdown only. */
        void row(Object... values) {
            if (values.length != columns.size()) {
                throw new IllegalArgumentException(values.length + " values for " + columns.size() + " columns of " + heading);
            }
            rows.add(List.of(values));
        }

        List<List<Object>> rows() {
            return rows;
        }
    }

    String markdown() {
        StringBuilder text = new StringBuilder("# ").append(title).append("\n\n");
        facts.forEach((name, value) -> text.append("* ").append(name).append(": ").append(value).append('\n'));
        for (Table table : tables) {
            text.append("\n## ").append(table.heading).append("\n\n").append(table.note).append("\n\n");
            line(text, table.columns);
            text.append("|").append("---|".repeat(table.columns.size())).append('\n');
            table.rows.forEach(row -> line(text, row));
        }
        text.append("\n## Not shown by this run\n\n");
        unproven.forEach(sentence -> text.append("* ").append(sentence).append('\n'));
        return text.toString();
    }

    private static void line(StringBuilder text, List<?> cells) {
        text.append('|');
        cells.forEach(cell -> text.append(' ').append(cell instanceof Double ? rounded((Double) cell) : cell).append(" |"));
        text.append('\n');
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, Math.abs(value) >= 100 ? "%.0f" : Math.abs(value) >= 1 ? "%.2f" : "%.4f", value);
    }

    String json() {
        ObjectMapper mapper = new ObjectMapper();
        ObjectNode root = mapper.createObjectNode().put("format", "memferry-gpu-check").put("version", 1);
        facts.forEach(root.putObject("facts")::put);
        ArrayNode all = root.putArray("tables");
        for (Table table : tables) {
            ArrayNode rows = all.addObject().put("heading", table.heading).putArray("rows");
            for (List<Object> row : table.rows) {
                ObjectNode node = rows.addObject();
                for (int i = 0; i < row.size(); i++) {
                    node.putPOJO(table.columns.get(i), row.get(i));
                }
            }
        }
        unproven.forEach(root.putArray("unproven")::add);
        try {
            return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of plain values could not be written", e);
        }
    }
}
