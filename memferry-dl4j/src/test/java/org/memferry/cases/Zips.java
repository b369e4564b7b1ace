package org.memferry.cases;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.function.Function;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** Model files put together from parts of others. */
final class Zips {

    private Zips() {
    }

    /**
     * Writes a zip with the entries of another.
     *
     * @param source the file that each entry's bytes come from, by its name
     */
    static void copy(File names, File to, Function<String, File> source) throws IOException {
        try (ZipFile zip = new ZipFile(names); ZipOutputStream out = new ZipOutputStream(new FileOutputStream(to))) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                try (ZipFile from = new ZipFile(source.apply(entry.getName()));
                        InputStream in = from.getInputStream(from.getEntry(entry.getName()))) {
                    out.putNextEntry(new ZipEntry(entry.getName()));
                    in.transferTo(out);
                    out.closeEntry();
                }
            }
        }
    }
}
