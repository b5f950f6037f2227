// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** slices.md 1: cutting and joining. */
public class SlicesTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void cutsMatchTheVectors() throws BloomfileException {
        for (Spec.Vector v : Spec.vectors("cut")) {
            long blocks = v.number("m") / 512;
            int slices = v.integer("slices");
            int slice = Slices.sliceOf(512 * blocks, slices, v.hex("digest"));
            Slices.Range range = Slices.range(512 * blocks, slices, slice);
            assertEquals(v.line, v.answer[0], Integer.toString(slice));
            assertEquals(v.line, v.answer[1], Long.toString(range.firstBlock));
            assertEquals(v.line, v.answer[2], Long.toString(range.blocks * 512));
        }
    }

    @Test
    public void rangesAgreeWithSliceOf() throws BloomfileException {
        for (long blocks : new long[] {1, 64, 65, 6400, 64001, 1L << 51}) {
            int slices = (int) Math.min(7, (blocks + 63) / 64);
            long next = 0;
            for (int i = 0; i < slices; i++) {
                Slices.Range range = Slices.range(512 * blocks, slices, i);
                assertEquals(next, range.lowest);
                assertEquals(i, Slices.sliceOf(512 * blocks, slices, range.lowest));
                assertEquals(i, Slices.sliceOf(512 * blocks, slices, range.highest));
                next = range.highest + 1;
            }
            assertEquals(0, next);
        }
    }

    @Test
    public void invalidSliceNumbersAreRefused() {
        assertEquals(ErrorCode.EVALUE, assertThrows(BloomfileException.class, () -> Slices.range(512 * 64, 2, 0)).code());
        assertEquals(ErrorCode.EVALUE, assertThrows(BloomfileException.class, () -> Slices.range(512 * 640, 2, 2)).code());
        assertEquals(ErrorCode.EVALUE,
                assertThrows(BloomfileException.class, () -> new Builder(new Params().slice(0, 1))).code());
        assertEquals(1, Slices.sliceOf(512 * 640, 2, -1));
        for (long bits : new long[] {0, -512, 640, 512 * 64}) {
            assertThrows(IllegalArgumentException.class, () -> Slices.sliceOf(bits, 2, 1));
        }
        assertThrows(IllegalArgumentException.class, () -> Slices.sliceOf(512 * 640, 0, 1));
    }

    private static List<SliceSource> golden(String names) {
        List<SliceSource> sources = new ArrayList<>();
        for (String name : names.split(",")) {
            Path path = Spec.GOLDEN.resolve(name);
            sources.add(SliceSource.of(Files.exists(path) ? path : Spec.REFUSED.resolve(name)));
        }
        return sources;
    }

    @Test
    public void goldenSlicesJoin() throws Exception {
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("slices.tsv"))) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Slices.join(out, golden(row.get("slices")));
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(out.toByteArray())) {
                hex.append(String.format("%02x", b));
            }
            assertEquals(row.get("slices"), row.get("sha256"), hex.toString());
        }
    }

    @Test
    public void refusedSlicesHaveTheirErrors() {
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("slices.tsv"))) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            BloomfileException e = assertThrows(row.get("slices"), BloomfileException.class,
                    () -> Slices.join(out, golden(row.get("slices"))));
            assertEquals(row.get("slices"), row.get("error"), e.code().fullName());
            assertEquals(0, out.size());
        }
    }

    private static final int KEYS = 50_000;

    private static Params params() {
        return new Params().capacity(KEYS).fpr(0.001).seed(5).label("slices");
    }

    private static long[] digests() {
        long[] digests = new Random(1).longs(KEYS).toArray();
        digests[0] = 0;
        digests[1] = -1;
        digests[2] = digests[3];
        return digests;
    }

    private static byte[][] slices(int count) throws IOException {
        byte[][] slices = new byte[count][];
        for (int i = 0; i < count; i++) {
            try (Builder builder = new Builder(params().slice(i, count))) {
                builder.addDigests(digests());
                slices[i] = builder.toBytes();
            }
        }
        return slices;
    }

    @Test
    public void joinedSlicesEqualOneBuild() throws IOException {
        Path whole = folder.getRoot().toPath().resolve("whole.bloom");
        try (Builder builder = new Builder(params())) {
            builder.addDigests(digests());
            builder.finish(whole);
        }
        for (int count : new int[] {1, 2, 7, 20}) {
            List<Path> files = new ArrayList<>();
            int number = 0;
            for (byte[] slice : slices(count)) {
                files.add(Files.write(folder.getRoot().toPath().resolve("slice" + number++), slice));
            }
            Collections.shuffle(files, new Random(count));
            Path joined = folder.getRoot().toPath().resolve("joined" + count);
            Slices.join(joined, files);
            assertArrayEquals(Files.readAllBytes(whole), Files.readAllBytes(joined));
        }
    }

    private static SliceSource source(byte[] bytes) {
        return new SliceSource() {
            @Override
            public InputStream open() {
                return new ByteArrayInputStream(bytes);
            }

            @Override
            public long length() {
                return bytes.length;
            }

            @Override
            public String name() {
                return "a slice";
            }
        };
    }

    /** Each byte of the middle slice in turn, wrong: found, and nothing is published. */
    @Test
    public void everyDamagedByteIsFoundAndNothingIsPublished() throws IOException {
        byte[][] slices = slices(3);
        Path joined = folder.getRoot().toPath().resolve("joined");
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            files.add(folder.getRoot().toPath().resolve("slice" + i));
            Files.write(files.get(i), slices[i]);
        }
        byte[] good = slices[1];
        for (int at = 0; at < good.length; at += at > good.length - 20 ? 1 : 97) {
            byte[] bad = good.clone();
            bad[at] ^= 0x10;
            Files.write(files.get(1), bad);
            BloomfileException e = assertThrows("byte " + at, BloomfileException.class, () -> Slices.join(joined, files));
            assertTrue(e.getMessage(), e.getMessage().contains("slice1"));
            assertEquals(at < 4096, e.code() != ErrorCode.EPAGE);
            if (at >= 4096 && at < Header.u64(good, 80) + 4096) {
                assertTrue(e.getMessage(), e.getMessage().contains("page " + (at - 4096) / 4096));
            }
            assertFalse(Files.exists(joined));
        }
        assertEquals(3, folder.getRoot().list().length);
        Files.write(files.get(1), Arrays.copyOf(good, good.length - 1));
        assertEquals(ErrorCode.ETRUNCATED,
                assertThrows(BloomfileException.class, () -> Slices.join(joined, files)).code());
    }

    @Test
    public void missingForeignOrRepeatedSlicesAreRefused() throws IOException {
        byte[][] slices = slices(3);
        byte[] foreign;
        try (Builder builder = new Builder(params().seed(6).slice(1, 3))) {
            foreign = builder.toBytes();
        }
        byte[][][] sets = {{slices[0], slices[2]}, {slices[0], foreign, slices[2]},
            {slices[0], slices[1], slices[1], slices[2]}, {slices[2], slices[1], slices[0], foreign}, {}};
        for (byte[][] set : sets) {
            List<SliceSource> sources = new ArrayList<>();
            for (byte[] slice : set) {
                sources.add(source(slice));
            }
            assertEquals(ErrorCode.EINCOMPLETE, assertThrows(BloomfileException.class,
                    () -> Slices.join(new ByteArrayOutputStream(), sources)).code());
        }
    }

    /** Slices that were each given a part of the keys: those that each left out are in none. */
    @Test
    public void slicesOfDifferentKeysAreRefused() throws IOException {
        List<SliceSource> sources = new ArrayList<>();
        long left = 0;
        for (int i = 0; i < 2; i++) {
            try (Builder builder = new Builder(params().slice(i, 2))) {
                long[] part = Arrays.copyOfRange(digests(), i * KEYS / 2, (i + 1) * KEYS / 2);
                builder.addDigests(part);
                byte[] slice = builder.toBytes();
                sources.add(source(slice));
                try (Filter f = Filter.of(slice)) {
                    assertEquals(KEYS / 2, f.info().keysRead());
                    assertEquals(Arrays.stream(part).sum(), f.info().digestSum());
                    left += f.info().keysElsewhere();
                }
            }
        }
        assertEquals(KEYS / 2, left, 1000);
        assertEquals(ErrorCode.EINCOMPLETE, assertThrows(BloomfileException.class,
                () -> Slices.join(new ByteArrayOutputStream(), sources)).code());
        Slices.join(new ByteArrayOutputStream(), sources, WriteOption.ACCEPT_INCOMPLETE);
    }

    /** A body of another slice with the header of this one. */
    @Test
    public void sliceChangedBetweenTwoReadsIsRefused() throws IOException {
        byte[][] slices = slices(1);
        byte[] other = slices[0].clone();
        other[100] ^= 1;
        SliceSource changing = new SliceSource() {
            private int opened;

            @Override
            public InputStream open() {
                return new ByteArrayInputStream(opened++ == 0 ? slices[0] : other);
            }

            @Override
            public long length() {
                return other.length;
            }

            @Override
            public String name() {
                return "it";
            }
        };
        assertEquals(ErrorCode.ECHANGED, assertThrows(BloomfileException.class,
                () -> Slices.join(new ByteArrayOutputStream(), List.of(changing))).code());
    }

    /** A source that promises more bytes than it has. */
    @Test
    public void truncatedSliceIsRefused() throws IOException {
        byte[] slice;
        try (Builder builder = new Builder(new Params().capacity(10_000).slice(0, 2))) {
            slice = builder.toBytes();
        }
        for (int length : new int[] {0, 1, 15, 16, 512, 2048, 4095}) {
            SliceSource source = new SliceSource() {
                @Override
                public InputStream open() {
                    return new ByteArrayInputStream(slice, 0, length);
                }

                @Override
                public long length() {
                    return slice.length;
                }

                @Override
                public String name() {
                    return "short";
                }
            };
            assertEquals(ErrorCode.ETRUNCATED, assertThrows(BloomfileException.class,
                    () -> Slices.join(OutputStream.nullOutputStream(), List.of(source))).code());
        }
    }

    /** It would wait for a writer. */
    @Test(timeout = 30_000)
    public void pipesAreRefused() throws Exception {
        Path pipe = folder.getRoot().toPath().resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        assertEquals(ErrorCode.ENOTREGULAR, assertThrows(BloomfileException.class,
                () -> Slices.join(OutputStream.nullOutputStream(), List.of(SliceSource.of(pipe)))).code());
        Path made = pipe.resolveSibling("made");
        for (ThrowingRunnable open : new ThrowingRunnable[] {() -> Filter.open(pipe), () -> Fold.fold(made, pipe),
            () -> Merge.union(made, List.of(pipe, pipe))}) {
            assertEquals(ErrorCode.ENOTREGULAR, assertThrows(BloomfileException.class, open).code());
        }
        try (Builder builder = new Builder(new Params())) {
            assertThrows(FileSystemException.class, () -> builder.finish(pipe, WriteOption.REPLACE));
        }
    }
}
