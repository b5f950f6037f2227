// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What tests take from the tree: the vectors of the specification, and tables of golden files. */
final class Spec {
    /** The top of the source tree, or of a copy that has the specification and the folders of tests. */
    static final Path TREE = Path.of(System.getProperty("bloomfile.tree", "../.."));
    static final Path GOLDEN = TREE.resolve("tests/golden");
    static final Path REFUSED = TREE.resolve("tests/golden-refused");

    private Spec() {
    }

    /** One vector of section 20.2. */
    static final class Vector {
        final String line;
        final String kind;
        /** Null of a kind that belongs to none. */
        final String layout;
        final Map<String, String> values = new LinkedHashMap<>();
        final String[] answer;

        private Vector(Map<String, String> row) {
            line = String.join(" ", row.values());
            kind = row.get("kind");
            layout = row.get("layout").isEmpty() ? null : row.get("layout");
            for (String word : row.get("input").split(" ")) {
                String[] pair = word.split("=", 2);
                values.put(pair[0], pair[1]);
            }
            answer = row.get("answer").split(" ");
        }

        boolean has(String name) {
            return values.containsKey(name);
        }

        String get(String name) {
            return values.get(name);
        }

        /** A decimal number. */
        long number(String name) {
            return Long.parseUnsignedLong(get(name));
        }

        int integer(String name) {
            return Integer.parseInt(get(name));
        }

        /** 16 hexadecimal digits. */
        long hex(String name) {
            return Spec.hex(get(name));
        }

        Layout layout() {
            return Layout.valueOf(layout.toUpperCase(java.util.Locale.ROOT));
        }

        @Override
        public String toString() {
            return line;
        }
    }

    static long hex(String digits) {
        return Long.parseUnsignedLong(digits, 16);
    }

    static byte[] bytes(String digits) {
        byte[] b = new byte[digits.length() / 2];
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return b;
    }

    /** All vectors of a kind, of which there is at least one. */
    static List<Vector> vectors(String kind) {
        List<Vector> found = new ArrayList<>();
        for (Map<String, String> row : table(TREE.resolve("tests/vectors.tsv"))) {
            if (row.get("kind").equals(kind)) {
                found.add(new Vector(row));
            }
        }
        if (found.isEmpty()) {
            throw new AssertionError("no vectors " + kind);
        }
        return found;
    }

    /** The rows of a table with a line of names. */
    static List<Map<String, String>> table(Path path) {
        List<Map<String, String>> rows = new ArrayList<>();
        String[] names = null;
        for (String line : lines(path)) {
            String[] cells = line.split("\t", -1);
            if (names == null) {
                names = cells;
                continue;
            }
            Map<String, String> row = new LinkedHashMap<>();
            for (int i = 0; i < names.length; i++) {
                row.put(names[i], cells[i]);
            }
            rows.add(row);
        }
        return rows;
    }

    static byte[] read(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> lines(Path path) {
        try {
            return Files.readAllLines(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The image of section 4. */
    static byte[] wholeFile() {
        return read(GOLDEN.resolve("whole-file-of-the-text.bloom"));
    }

    /** An image whose static header was changed: its checksum and those of its records made right. */
    static void mend(byte[] image) {
        int size = Header.u32(image, 12);
        Header.INT.set(image, size / 2 - 4, Header.crc(image, 0, size / 2 - 4));
        for (int at = size / 2; at < size; at += size / 4) {
            Header.INT.set(image, at + 60, Header.u32(image, size / 2 - 4));
            Header.INT.set(image, at + size / 4 - 4, Header.crc(image, at, size / 4 - 4));
        }
    }
}
