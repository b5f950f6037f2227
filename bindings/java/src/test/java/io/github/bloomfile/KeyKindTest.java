// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** Kinds of keys: the table of section 6, in lookups and in builds. */
public class KeyKindTest {
    private static final byte[] EIGHT = "12345678".getBytes(StandardCharsets.UTF_8);
    private static final byte[] THREE = "Abc".getBytes(StandardCharsets.UTF_8);

    /** The keys, and the filters that accept them. */
    private static final Map<Object, List<String>> ACCEPTED = Map.of(
            "Abc", List.of("unknown", "text", "lower"),
            7L, List.of("unknown", "integers"),
            EIGHT, List.of("unknown", "text", "lower", "bytes", "fixed 8"),
            THREE, List.of("unknown", "text", "lower", "bytes", "fixed 3"));

    private static byte[] build(String kind, Object... keys) throws IOException {
        try (Builder b = new Builder(new Params().fpr(1e-9).keyKind(kind))) {
            for (Object key : keys) {
                add(b, key);
            }
            return b.toBytes();
        }
    }

    private static void add(Builder b, Object key) throws IOException {
        if (key instanceof Long) {
            b.add((long) key);
        } else if (key instanceof String) {
            b.add((String) key);
        } else {
            b.add((byte[]) key);
        }
    }

    private static boolean asks(Filter f, Object key) {
        if (key instanceof Long) {
            assertTrue(f.mayContainDigest(f.digest((long) key)));
            return f.mayContain((long) key);
        }
        if (key instanceof String) {
            assertTrue(f.mayContainDigest(f.digest((String) key)));
            return f.mayContain((String) key);
        }
        assertTrue(f.mayContainDigest(f.digest((byte[]) key)));
        return f.mayContain((byte[]) key);
    }

    private static void refused(ErrorCode code, Filter f, Object key) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> asks(f, key));
        assertEquals(code, ((BloomfileException) e.getCause()).code());
    }

    @Test
    public void filterAcceptsOnlyItsKindsOfKeys() throws IOException {
        for (String kind : List.of("unknown", "text", "lower", "integers", "bytes", "fixed 8", "fixed 3")) {
            for (Map.Entry<Object, List<String>> row : ACCEPTED.entrySet()) {
                Object key = row.getKey();
                if (row.getValue().contains(kind)) {
                    assertTrue(kind, asks(Filter.of(build(kind, key)), key));
                } else {
                    refused(ErrorCode.EKEYKIND, Filter.of(build(kind)), key);
                    assertEquals(ErrorCode.EKEYKIND,
                            assertThrows(BloomfileException.class, () -> build(kind, key)).code());
                }
            }
        }
    }

    @Test
    public void firstKeyDecidesTheKind() throws IOException {
        assertEquals("text", Filter.of(build(null, "a", THREE)).info().keyKind());
        assertEquals("integers", Filter.of(build(null, 7L, 8L)).info().keyKind());
        assertEquals("bytes", Filter.of(build(null, THREE, EIGHT)).info().keyKind());
        assertEquals("unknown", Filter.of(build(null)).info().keyKind());
        assertThrows(BloomfileException.class, () -> build(null, "a", 7L));
        assertThrows(BloomfileException.class, () -> build(null, EIGHT, 7L));
        assertThrows(BloomfileException.class, () -> build(null, 7L, EIGHT));
        assertThrows(BloomfileException.class, () -> build(null, THREE, "a"));
        assertArrayEquals(build("text", "a", "b"), build(null, "b", "a"));
    }

    @Test
    public void addThatFailsDecidesNoKind() throws IOException {
        try (Builder b = new Builder(new Params())) {
            assertThrows(NullPointerException.class, () -> b.add((CharSequence) null));
            assertThrows(IndexOutOfBoundsException.class, () -> b.add(THREE, 1, 3));
            b.add(7L);
            assertEquals("integers", Filter.of(b.toBytes()).info().keyKind());
        }
    }

    @Test
    public void integersOfEveryWidthAreEqualKeys() throws IOException {
        Filter f = Filter.of(build(null, -1L, 7L));
        assertTrue(f.mayContain((byte) 7) && f.mayContain((short) -1) && f.mayContain(7) && f.mayContain(-1L));
        assertFalse(f.mayContain(8));
        f.checkKeys("integers");
        assertThrows(IllegalArgumentException.class, () -> f.checkKeys("bytes"));
        assertThrows(IllegalArgumentException.class, () -> f.checkKeys("text"));
    }

    @Test
    public void lowerCaseFiltersFoldAscii() throws IOException {
        Filter f = Filter.of(build("lower", "GROẞ-Ä", THREE));
        assertTrue(f.mayContain("groẞ-Ä") && f.mayContain("ABC") && f.mayContain("abc".getBytes(StandardCharsets.UTF_8)));
        assertTrue(f.mayContainDigest(Xxh3.hash("abc".getBytes(StandardCharsets.UTF_8), 0)));
    }

    @Test
    public void typedKeysAreRefusedForKindsOfLaterVersions() throws IOException {
        for (String name : List.of("key-kind-newer-6", "key-kind-newer-text-with-a-size", "key-kind-newer-all-ones")) {
            Path path = Spec.GOLDEN.resolve(name + ".bloom");
            Filter f = Filter.of(Files.readAllBytes(path));
            for (Object key : ACCEPTED.keySet()) {
                refused(ErrorCode.EFEATURE, f, key);
            }
            f.mayContainDigest(1);
        }
    }
}
