// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** operations.md: folding and uniting. That the tools make the same files: {@link ToolsTest}. */
public class CombineTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private Path root;
    private Path made;

    @Before
    public void root() {
        root = folder.getRoot().toPath();
        made = root.resolve("made.bloom");
    }

    private byte[] build(Params params, int from, int to) throws IOException {
        try (Builder builder = new Builder(params)) {
            for (int i = from; i < to; i++) {
                builder.add("k" + i);
            }
            return builder.toBytes(WriteOption.OVERFULL);
        }
    }

    private Path file(String name, Params params, int from, int to) throws IOException {
        return Files.write(root.resolve(name), build(params, from, to));
    }

    private static Params params(Layout layout) {
        return new Params().layout(layout).bits(512 * 360).hashes(5).fpr(0.5).capacity(9000).keyKind("text");
    }

    private static int start(byte[] image) {
        return Header.u32(image, 12);
    }

    /** A body from the start to the end of what m needs. */
    private static byte[] body(byte[] image) {
        return java.util.Arrays.copyOfRange(image, start(image), start(image) + (int) Header.u64(image, 48) / 8);
    }

    @Test
    public void unionEqualsBuildOfAllKeys() throws IOException {
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            Path a = file("a", params(layout), 0, 3000);
            Path b = file("b", params(layout).embedded(true), 2000, 5000);
            new Merge().label("both").watermark(new byte[] {7}).write(made, List.of(a, b), WriteOption.REPLACE);
            byte[] image = Files.readAllBytes(made);
            assertArrayEquals(body(build(params(layout), 0, 5000)), body(image));
            assertEquals(2, Header.u32(image, 28));
            assertEquals(5000, Header.u64(image, 2048 + 16), 150);
            try (Filter filter = Filter.open(made)) {
                assertTrue(filter.mayContain("k4999"));
                assertEquals(7, filter.info().watermark()[0]);
                filter.verify();
            }
        }
    }

    @Test
    public void foldEqualsBuildAtSmallerSize() throws IOException {
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            Path a = file("a", params(layout), 0, 3000);
            for (int factor : new int[] {1, 2, 5, 36, 360}) {
                Fold.byFactor(made, a, factor, WriteOption.REPLACE);
                assertArrayEquals(body(build(params(layout).bits(512 * 360 / factor), 0, 3000)),
                        body(Files.readAllBytes(made)));
            }
            assertEquals(ErrorCode.EFACTOR, assertThrows(BloomfileException.class,
                    () -> Fold.byFactor(made, a, 7, WriteOption.REPLACE)).code());
        }
    }

    /** A factor that is no power of two, and a number of bits that is no multiple of 64. */
    @Test
    public void foldWorksWithOddFactorsAndSizes() throws IOException {
        Params params = new Params().layout(Layout.CLASSIC).hashes(3).capacity(100);
        for (int[] size : new int[][] {{803, 11}, {100_001, 11}, {4001 * 13, 13}, {99_999, 99_999}, {8, 8}}) {
            Path a = file("a", params.bits(size[0]).embedded(size[0] == 803), 0, 100);
            Fold.byFactor(made, a, size[1], WriteOption.REPLACE);
            byte[] image = Files.readAllBytes(made);
            int m = size[0] / size[1];
            byte[] wanted = build(params.bits(m).embedded(false), 0, 100);
            assertEquals(size[0], Header.u64(image, 104));
            assertArrayEquals(java.util.Arrays.copyOfRange(wanted, 4096, wanted.length - 4),
                    java.util.Arrays.copyOfRange(image, 4096, image.length - 4));
        }
    }

    private void refused(ErrorCode code, ThrowingRunnable run) throws IOException {
        assertEquals(code, assertThrows(BloomfileException.class, run).code());
        assertFalse(Files.exists(made));
    }

    @Test
    public void damagedSourcesAreRefused() throws IOException {
        Path a = file("a", params(Layout.BLOCKED), 0, 3000);
        Path b = file("b", params(Layout.BLOCKED), 0, 10);
        byte[] good = Files.readAllBytes(a);
        for (int at = 4096; at < good.length; at += 997) {
            byte[] bad = good.clone();
            bad[at] ^= 1;
            Files.write(a, bad);
            refused(ErrorCode.EPAGE, () -> Fold.byFactor(made, a, 2));
            refused(ErrorCode.EPAGE, () -> Fold.fold(made, a));
            refused(ErrorCode.EPAGE, () -> Merge.union(made, List.of(b, a)));
        }
        Files.write(a, java.util.Arrays.copyOf(good, good.length - 1));
        refused(ErrorCode.ETRUNCATED, () -> Merge.union(made, List.of(b, a)));
        assertEquals(2, root.toFile().list().length);
        refused(ErrorCode.EBODY, () -> Fold.fold(made, Spec.REFUSED.resolve("bit-beyond-m-counted.bloom")));
    }

    @Test
    public void incompatibleSourcesAreRefused() throws IOException {
        Path a = file("a", params(Layout.BLOCKED), 0, 10);
        refused(ErrorCode.EDIFFERENTLAYOUT, () -> Merge.union(made, List.of(a, file("b", params(Layout.CLASSIC), 0, 1))));
        refused(ErrorCode.EDIFFERENTHASHCOUNT,
                () -> Merge.union(made, List.of(a, file("b", params(Layout.BLOCKED).hashes(4), 0, 1))));
        refused(ErrorCode.EDIFFERENTSEED,
                () -> Merge.union(made, List.of(a, file("b", params(Layout.BLOCKED).seed(4), 0, 1))));
        refused(ErrorCode.EVALUE, () -> Merge.union(made, List.of(a, a)));
        refused(ErrorCode.EVALUE, () -> Merge.union(made, List.of()));
        refused(ErrorCode.EVALUE, () -> new Merge().label("\n").write(made, List.of(a)));
        refused(ErrorCode.EDIFFERENTHASH, () -> Merge.union(made,
                List.of(Spec.GOLDEN.resolve("application-blocked.bloom"), Spec.GOLDEN.resolve("unknown-compat.bloom"))));
        for (ErrorCode code : new ErrorCode[] {ErrorCode.EISSLICE, ErrorCode.EISRIBBON, ErrorCode.EISSERIES, ErrorCode.ELAYOUT}) {
            Path golden = Spec.GOLDEN.resolve(code == ErrorCode.EISSLICE ? "slice-first.bloom"
                    : code == ErrorCode.EISRIBBON ? "ribbon-file.bloom" : code == ErrorCode.EISSERIES ? "series-1.bloom"
                    : "counting-file.bloom");
            refused(code, () -> Merge.union(made, List.of(golden)));
            refused(code, () -> Fold.fold(made, golden));
        }
        String counting = assertThrows(BloomfileException.class, () -> Fold.fold(made, Spec.GOLDEN.resolve("counting-file.bloom"))).getMessage();
        assertTrue(counting, counting.contains("a counting filter (use bffold or bfmerge)"));
    }

    @Test
    public void resultOverTheTargetRateIsRefused() throws IOException {
        Path a = file("a", params(Layout.BLOCKED).fpr(0.01), 0, 9000);
        Path b = file("b", params(Layout.BLOCKED).fpr(0.001), 9000, 20_000);
        refused(ErrorCode.EOVERRATE, () -> Merge.union(made, List.of(a, b)));
        refused(ErrorCode.EOVERRATE, () -> Fold.toRate(made, a, 1e-6));
        refused(ErrorCode.EVALUE, () -> Fold.toRate(made, a, 1));
        refused(ErrorCode.EFACTOR, () -> Fold.toSize(made, a, 8000));
        Path c = file("c", params(Layout.BLOCKED), 0, 30_000);
        refused(ErrorCode.EOVERRATE, () -> Fold.toSize(made, c, 8200));
        Merge.union(made, List.of(a, b), WriteOption.OVERFULL);
        assertThrows(FileAlreadyExistsException.class, () -> Merge.union(made, List.of(a, b), WriteOption.OVERFULL));
    }

    /** A filter may take the place of its source. */
    @Test
    public void foldReplacesItsSource() throws IOException {
        Path a = file("a", params(Layout.CLASSIC), 0, 100);
        assertTrue(Fold.fold(a, a, WriteOption.REPLACE) > 10);
        assertEquals(1, root.toFile().list().length);
    }
}
