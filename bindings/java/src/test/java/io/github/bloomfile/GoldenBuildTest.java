// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.Test;

/** Golden files are made anew from their keys, byte for byte: section 20.1. */
public class GoldenBuildTest {
    /** The words of a command, some in single quotes. */
    private static List<String> words(String command) {
        List<String> words = new ArrayList<>();
        Matcher word = Pattern.compile("'([^']*)'|(\\S+)").matcher(command);
        while (word.find()) {
            words.add(word.group(1) != null ? word.group(1) : word.group(2));
        }
        return words;
    }

    private static Params params(String command) {
        Params p = new Params().keyKind("unknown");
        List<String> words = words(command);
        for (int i = 0; i < words.size(); i += 2) {
            String value = words.get(i + 1);
            switch (words.get(i)) {
                case "-l":
                    p.layout(Layout.valueOf(value.toUpperCase(java.util.Locale.ROOT)));
                    break;
                case "-m":
                    p.bits(Long.parseLong(value));
                    break;
                case "-k":
                    p.hashes(Integer.parseInt(value));
                    break;
                case "--fpr":
                    p.fpr(Double.parseDouble(value));
                    break;
                case "--capacity":
                    p.capacity(Long.parseLong(value));
                    break;
                case "--seed":
                    p.seed(Long.parseUnsignedLong(value));
                    break;
                case "--label":
                    p.label(value);
                    break;
                case "--tag":
                    p.tag(Spec.bytes(value));
                    break;
                case "--slice":
                    String[] of = value.split("/");
                    p.slice(Integer.parseInt(of[0]) - 1, Integer.parseInt(of[1]));
                    break;
                default:
                    throw new AssertionError(words.get(i));
            }
        }
        return p;
    }

    @Test
    public void builderMakesTheFilesOfBfcreate() throws IOException {
        int made = 0;
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("index.tsv"))) {
            if (row.get("bfcreate").equals("-")) {
                continue;
            }
            byte[] wanted = Spec.read(Spec.GOLDEN.resolve(row.get("file")));
            try (Builder builder = new Builder(params(row.get("bfcreate")))) {
                add(builder, Spec.read(Spec.GOLDEN.resolve(row.get("keys"))));
                assertArrayEquals(row.get("file"), wanted, builder.toBytes(WriteOption.OVERFULL));
            }
            made++;
        }
        assertTrue(made + " files", made >= 23);
    }

    private static void add(Builder builder, byte[] keys) throws IOException {
        int from = 0;
        for (int i = 0; i < keys.length; i++) {
            if (keys[i] == '\n') {
                builder.add(keys, from, i - from);
                from = i + 1;
            }
        }
        assertEquals(from, keys.length);
    }
}
