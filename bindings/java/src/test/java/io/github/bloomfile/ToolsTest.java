// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.Assume;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** What the tools make, this library makes too, byte for byte. Skipped where the tools are not built. */
public class ToolsTest {
    private static final String TOOLS = System.getProperty("bloomfile.tools", "");

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private Path root;

    @Before
    public void tools() {
        Assume.assumeTrue(Files.isExecutable(Path.of(TOOLS, "bfcreate")));
        root = folder.getRoot().toPath();
    }

    /** Runs a tool in the folder. Returns its exit status. */
    private int run(Object... command) throws IOException {
        List<String> words = new ArrayList<>();
        for (Object word : command) {
            words.add(word.toString());
        }
        words.set(0, Path.of(TOOLS, words.get(0)).toString());
        Process process = new ProcessBuilder(words).directory(root.toFile()).redirectErrorStream(true).start();
        process.getOutputStream().close();
        process.getInputStream().transferTo(new ByteArrayOutputStream());
        try {
            return process.waitFor();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Lines k0, k1, ... from one number to another. */
    private Path keys(String name, int from, int to) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (int i = from; i < to; i++) {
            lines.append('k').append(i).append('\n');
        }
        return Files.write(root.resolve(name), lines.toString().getBytes(StandardCharsets.UTF_8));
    }

    private byte[] build(Params params, int from, int to) throws IOException {
        try (Builder builder = new Builder(params.keyKind(from == to ? "text" : null))) {
            for (int i = from; i < to; i++) {
                builder.add("k" + i);
                builder.add("k" + (from + (i - from) / 2));
            }
            return builder.toBytes(WriteOption.OVERFULL);
        }
    }

    private void same(String what, byte[] java) throws IOException {
        assertArrayEquals(what, Files.readAllBytes(root.resolve("tool.bloom")), java);
    }

    @Test
    public void buildEqualsThatOfBfcreate() throws IOException {
        Random random = new Random(1);
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC, Layout.COUNTING}) {
            for (int i = 0; i < 12; i++) {
                int count = i == 0 ? 0 : i == 1 ? 1 : 1 + random.nextInt(6000);
                Path lines = keys("keys", 0, count);
                List<Object> command = new ArrayList<>(Arrays.asList("bfcreate", "-fq", "--allow-empty", "-l",
                        layout.name().toLowerCase(java.util.Locale.ROOT)));
                Params params = new Params().layout(layout);
                if (i % 3 == 1) {
                    command.addAll(Arrays.asList("-n", 2 * count, "-s", i));
                    params.capacity(2 * count).seed(i);
                }
                if (i % 4 == 2) {
                    command.addAll(Arrays.asList("-m", 20 * count + 1));
                    params.bits(20 * count + 1);
                } else if (i % 4 == 3) {
                    command.addAll(Arrays.asList("-p", "0.0003"));
                    params.fpr(0.0003);
                }
                if (i % 5 == 4) {
                    command.addAll(Arrays.asList("-k", 3, "--label", "žluťoučký"));
                    params.hashes(3).label("žluťoučký");
                }
                command.addAll(Arrays.asList("tool.bloom", lines));
                assertEquals(command.toString(), 0, run(command.toArray()));
                same(command.toString(), build(params, 0, count));
            }
        }
    }

    /** Pages that need other seeds, are not solved, or have no keys. */
    @Test
    public void ribbonBuildEqualsThatOfBfcreate() throws IOException {
        for (int[] size : new int[][] {{0, 1}, {10_000, 2}, {20_000, 2}, {31_000, 2}, {40_000, 2}, {40_000, 40}}) {
            long bits = 32768L * size[1] + 512 * 7;
            run("bfcreate", "-fq", "--overfull", "--allow-empty", "-l", "ribbon", "-m", bits, "-s", 3, "tool.bloom",
                    keys("keys", 0, size[0]));
            same(size[0] + " keys", build(new Params().layout(Layout.RIBBON).bits(bits).seed(3), 0, size[0]));
        }
    }

    /** What is too full for bfcreate is too full here. */
    @Test
    public void overfullIsRefusedExactlyLikeBfcreate() throws IOException {
        for (int capacity : new int[] {500, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 2000}) {
            for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
                for (int bits : new int[] {0, 12288}) {
                    Params params = new Params().layout(layout).capacity(capacity).bits(bits);
                    int status = run("bfcreate", "-fq", "-l", layout.name().toLowerCase(java.util.Locale.ROOT), "-n",
                            capacity, bits == 0 ? "-q" : "-m", bits == 0 ? "-q" : bits, "tool.bloom",
                            keys("keys", 0, 2000));
                    boolean thrown = false;
                    try (Builder builder = new Builder(params)) {
                        for (int i = 0; i < 2000; i++) {
                            builder.add("k" + i);
                        }
                        builder.toBytes();
                    } catch (BloomfileException e) {
                        assertEquals(ErrorCode.EFULL, e.code());
                        thrown = true;
                    }
                    assertEquals(layout + " " + capacity + " " + bits, status == 2, thrown);
                }
            }
        }
    }

    @Test
    public void slicesOfBfcreateAndJavaJoin() throws IOException {
        Path lines = keys("keys", 0, 30_000);
        List<Path> mixed = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            assertEquals(0, run("bfcreate", "-fq", "-n", 30_000, "--slice", i + 1 + "/5", "tool.bloom", lines));
            byte[] slice;
            try (Builder builder = new Builder(new Params().capacity(30_000).slice(i, 5))) {
                for (int key = 0; key < 30_000; key++) {
                    builder.add("k" + key);
                }
                slice = builder.toBytes();
            }
            same("slice " + i, slice);
            mixed.add(Files.write(root.resolve("slice" + i), slice));
        }
        assertEquals(0, run("bfmerge", "--slices", "--discard", "-fq", "tool.bloom", "slice3", "slice1", "slice0", "slice4", "slice2"));
        Path joined = root.resolve("joined.bloom");
        Slices.join(joined, mixed);
        same("joined", Files.readAllBytes(joined));
        assertEquals(0, run("bfcreate", "-fq", "-n", 30_000, "tool.bloom", lines));
        same("built", Files.readAllBytes(joined));
    }

    @Test
    public void mergeEqualsThatOfBfmerge() throws IOException {
        Path made = root.resolve("java.bloom");
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            for (int i = 0; i < 6; i++) {
                List<Path> sources = new ArrayList<>();
                for (int j = 0; j < 3; j++) {
                    Params params = new Params().layout(layout).bits(512L * 720 * (i % 2 == 0 ? 1 : j + 1)).hashes(5)
                            .capacity(20_000 + j).fpr(0.001 * (j + 1)).embedded(i > 3).label("not passed on");
                    byte[] image = i == 2 && j > 0 ? build(params, 0, 0) : build(params, 3000 * j, 3000 * j + 4000);
                    sources.add(Files.write(root.resolve("source" + j), image));
                }
                boolean disjoint = i == 3;
                Files.deleteIfExists(made);
                new Merge().disjoint(disjoint).label(i == 1 ? "all" : "").tag(new byte[] {(byte) i}).write(made, sources);
                assertEquals(0, run("bfmerge", "--discard", "-fq", disjoint ? "--disjoint" : "-q", "--label", i == 1 ? "all" : "",
                        "--tag", "0" + i, "tool.bloom", "source0", "source1", "source2"));
                same(layout + " " + i, Files.readAllBytes(made));
            }
        }
    }

    /** Nothing but ones, which tell little of how many keys there are. */
    @Test
    public void mergeOfFullFiltersEqualsThatOfBfmerge() throws IOException {
        for (int bits : new int[] {1, 2, 100, 512, 1024}) {
            for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
                Params params = new Params().layout(layout).bits(bits).hashes(20);
                Path a = Files.write(root.resolve("a"), build(params, 0, 3000));
                Path b = Files.write(root.resolve("b"), build(params, 9, 10));
                alike(layout + " " + bits, run("bfmerge", "--discard", "-fq", "tool.bloom", a, b), made -> Merge.union(made, List.of(a, b)));
            }
        }
    }

    private static List<Path> golden() throws IOException {
        List<Path> files = new ArrayList<>();
        for (Path folder : new Path[] {Spec.GOLDEN, Spec.REFUSED}) {
            try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.bloom")) {
                found.forEach(file -> files.add(file.toAbsolutePath()));
            }
        }
        Collections.sort(files);
        return files;
    }

    /** Whether an operation here ended as the tool did, with the same file. */
    private void alike(String what, int status, Operation operation) throws IOException {
        Path made = root.resolve("java.bloom");
        Files.deleteIfExists(made);
        try {
            operation.run(made);
        } catch (BloomfileException e) {
            // The tools also fold live filters.
            assertTrue(what + ": " + e.getMessage(), e.code() == ErrorCode.ELIVE || status == 2);
            assertFalse(Files.exists(made));
            return;
        }
        assertEquals(what, 0, status);
        same(what, Files.readAllBytes(made));
    }

    private interface Operation {
        void run(Path made) throws IOException;
    }

    /** Not counting or ribbon; nor those whose record has {@code writers} though it is sealed, which the tools heed. */
    private static boolean isCombined(Path file) throws IOException {
        if (file.getFileName().toString().startsWith("reserved-")) {
            return false;
        }
        int layout = Header.u32(Arrays.copyOf(Files.readAllBytes(file), 64), 32);
        return layout != Layout.COUNTING.number() && layout != Layout.RIBBON.number();
    }

    /** Headers that no writer makes, and files that must be refused. */
    @Test
    public void goldenFilesCombineLikeTheTools() throws IOException {
        Path previous = null;
        for (Path file : golden()) {
            if (!isCombined(file)) {
                continue;
            }
            String name = file.getFileName().toString();
            alike("fold " + name, run("bffold", "-fq", "--discard", "--factor", 1, file, "tool.bloom"),
                    made -> Fold.byFactor(made, file, 1));
            if (previous != null) {
                Path other = previous;
                alike("merge " + name + " and " + other.getFileName(), run("bfmerge", "--discard", "-fq", "-p", 1, "tool.bloom", file, other),
                        made -> new Merge().fpr(1).write(made, List.of(file, other)));
            }
            previous = file;
        }
    }

    @Test
    public void foldEqualsThatOfBffold() throws IOException {
        Path src = root.resolve("src.bloom");
        Path made = root.resolve("java.bloom");
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            for (int keys : new int[] {0, 1, 100, 3000, 9000, 20_000}) {
                Params params = new Params().layout(layout).capacity(20_000).label("fold").tag(new byte[] {1})
                        .embedded(keys == 100);
                Files.write(src, build(params, 0, keys));
                Files.deleteIfExists(made);
                Fold.fold(made, src);
                assertEquals(0, run("bffold", "-fq", "--discard", src, "tool.bloom"));
                same(layout + " " + keys, Files.readAllBytes(made));
                Fold.toRate(made, src, 0.2, WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
                assertEquals(0, run("bffold", "-fq", "--discard", "-p", "0.2", src, "tool.bloom"));
                same(layout + " to a rate " + keys, Files.readAllBytes(made));
                Fold.byFactor(made, src, 2, WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
                assertEquals(0, run("bffold", "-fq", "--discard", "--factor", 2, src, "tool.bloom"));
                same(layout + " by 2 " + keys, Files.readAllBytes(made));
                if (keys < 9000) {
                    Fold.toSize(made, src, 13_000, WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
                    assertEquals(0, run("bffold", "-fq", "--discard", "--max-bytes", 13_000, src, "tool.bloom"));
                    same(layout + " to a size " + keys, Files.readAllBytes(made));
                }
            }
            Files.write(src, build(new Params().layout(layout).bits(512 * 60).hashes(4), 0, 2000));
            Fold.fold(made, src, WriteOption.REPLACE);
            assertEquals(0, run("bffold", "-fq", "--discard", src, "tool.bloom"));
            same(layout + " no rate", Files.readAllBytes(made));
            assertThrows(BloomfileException.class, () -> Fold.toRate(made, src, 1e-5, WriteOption.REPLACE));
            assertEquals(2, run("bffold", "-fq", "--discard", "-p", "1e-5", src, "tool.bloom"));
        }
        assertTrue(Files.exists(made));
    }
}
