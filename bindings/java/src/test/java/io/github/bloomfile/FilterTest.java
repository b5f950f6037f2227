// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.ArrayList;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Sections 10, 11 and 14, ribbon.md 4, and what befalls files that are open. */
public class FilterTest {
    private static final long C = 0x9E3779B97F4A7C15L;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    static long[] digests(int count, long seed) {
        return new SplittableRandom(seed).longs(count).toArray();
    }

    private static boolean[] answers(Filter f, long[] digests) {
        boolean[] answers = new boolean[digests.length];
        for (int i = 0; i < digests.length; i++) {
            answers[i] = f.mayContainDigest(digests[i]);
        }
        boolean[] batch = new boolean[digests.length];
        f.mayContainDigests(digests, batch);
        assertArrayEquals(answers, batch);
        return answers;
    }

    /** An image with this body, nothing of which is checked. */
    private static Image image(Layout layout, long m, int k, byte[] body) {
        Header h = new Header();
        h.headerSize = Header.EMBEDDED;
        h.layout = layout;
        h.m = m;
        h.k = k;
        h.bodySize = layout.bodySize(m, h.headerSize);
        return new Image(h, new ByteBuffer[] {ByteBuffer.wrap(Arrays.copyOf(body, (int) h.bodySize))}, true, 0,
                (code, detail) -> { });
    }

    private static boolean both(Image image, long digest) {
        boolean one = image.mayContain(digest);
        boolean[] batch = new boolean[1];
        image.mayContain(new long[] {digest}, 0, 1, batch, 0);
        assertEquals(one, batch[0]);
        return one;
    }

    private static final int PAGES = 3;

    /** A blocked image of empty pages, with right checksums, in these bytes. */
    private static Image empty(byte[] bytes, List<ErrorCode> found) {
        Header h = new Header();
        h.headerSize = Header.EMBEDDED;
        h.layout = Layout.BLOCKED;
        h.m = PAGES * Header.PAGE * 8L;
        h.k = 4;
        h.bodySize = PAGES * Header.PAGE;
        for (int i = 0; i < PAGES; i++) {
            Header.INT.set(bytes, PAGES * Header.PAGE + 4 * i, Header.crc(bytes, i * Header.PAGE, Header.PAGE));
        }
        return new Image(h, new ByteBuffer[] {ByteBuffer.wrap(bytes)}, false, 0, (code, detail) -> found.add(code));
    }

    private static long digestIn(int page) {
        return (2L * page + 1) * (Long.MAX_VALUE / PAGES); // the middle of it
    }

    /** A thread may have read a page before a write, and report it right after another one has noticed the write. */
    @Test
    public void pagesReadBeforeAWriteAreCheckedAgain() {
        for (int page = 0; page < PAGES; page++) {
            byte[] bytes = new byte[PAGES * (Header.PAGE + 4)];
            List<ErrorCode> found = new ArrayList<>();
            Image image = empty(bytes, found);
            int before = image.forgotten();
            image.forget();
            bytes[page * Header.PAGE] ^= 1;
            for (int i = 0; i < PAGES; i++) {
                image.mark(i, true, before);
            }
            for (int i = 0; i < PAGES; i++) {
                assertEquals(i == page, both(image, digestIn(i)));
            }
            assertEquals(List.of(ErrorCode.ECHANGED), found);
            assertEquals(1, image.wrongPages());
        }
    }

    @Test
    public void pagesFoundRightAreNotCheckedAgainUntilTheyAreForgotten() {
        byte[] bytes = new byte[PAGES * (Header.PAGE + 4)];
        List<ErrorCode> found = new ArrayList<>();
        Image image = empty(bytes, found);
        for (int i = 0; i < PAGES; i++) {
            assertFalse(both(image, digestIn(i)));
            bytes[i * Header.PAGE] ^= 1;
            assertFalse(both(image, digestIn(i)));
        }
        image.recheck();
        assertEquals(List.of(), found);
        image.forget();
        image.recheck();
        assertEquals(List.of(ErrorCode.ECHANGED, ErrorCode.ECHANGED, ErrorCode.ECHANGED), found);
        for (int i = 0; i < PAGES; i++) {
            assertTrue(both(image, digestIn(i)));
        }
    }

    @Test
    public void positionsMatchTheVectors() {
        int asked = 0;
        for (Spec.Vector v : Spec.vectors("positions")) {
            long m = v.number("m");
            Layout layout = v.layout();
            if (m > 1 << 24) {
                if (layout != Layout.BLOCKED) {
                    long g = v.hex("digest");
                    for (String position : v.answer) {
                        assertEquals(v.line, Long.parseLong(position), Image.reduce(g, m));
                        g *= C;
                    }
                }
                continue;
            }
            int width = layout == Layout.COUNTING ? 4 : 1;
            byte[] body = new byte[(int) layout.bodySize(m, Header.EMBEDDED)];
            for (String position : v.answer) {
                long x = width * Long.parseLong(position);
                body[(int) (x / 8)] |= 1 << x % 8;
            }
            assertTrue(v.line, both(image(layout, m, v.integer("k"), body), v.hex("digest")));
            for (String position : v.answer) {
                long x = width * Long.parseLong(position);
                byte[] less = body.clone();
                less[(int) (x / 8)] &= ~(1 << x % 8);
                assertFalse(v.line, both(image(layout, m, v.integer("k"), less), v.hex("digest")));
            }
            asked++;
        }
        assertTrue(asked > 20);
    }

    /** The page of each vector, with its key's equations made true by what the vector says of them. */
    @Test
    public void ribbonLookupsMatchTheVectors() {
        for (Spec.Vector v : Spec.vectors("lookup")) {
            int lines = v.integer("lines");
            int q = v.integer("groups");
            int words = 16 * lines - 2;
            int r = Math.min(32, words / q);
            int few = r == 32 ? q : q * (r + 1) - words;
            int b = Integer.parseInt(v.answer[1]);
            int c = b < few ? r : r + 1;
            byte[] body = new byte[64 * lines];
            Header.LONG.set(body, 0, q | v.number("page_seed") << 16);
            for (int i = 0; i < words; i++) {
                Header.INT.set(body, 8 + 4 * i, (int) ((i + 1) * C >>> 32));
            }
            long h = Spec.hex(v.answer[0]);
            long a = Spec.hex(v.answer[2]);
            long parities = Spec.hex(v.answer[3]);
            int column = 8 + 4 * (b * r + Math.max(0, b - few));
            int coefficient = a == 0 ? 0 : Long.numberOfTrailingZeros(a);
            int at = coefficient < 32 ? column : column + 4 * c;
            for (int j = 0; j < c; j++) {
                if (((h ^ parities) >>> j & 1) != 0) {
                    int word = at + 4 * j;
                    Header.INT.set(body, word, Header.u32(body, word) ^ 1 << coefficient);
                }
            }
            assertTrue(v.line, both(image(Layout.RIBBON, 512L * lines, 0, body), v.hex("digest")));
            for (int j = 0; j < c; j++) {
                byte[] wrong = body.clone();
                Header.INT.set(wrong, at + 4 * j, Header.u32(wrong, at + 4 * j) ^ 1 << coefficient);
                assertFalse(v.line, both(image(Layout.RIBBON, 512L * lines, 0, wrong), v.hex("digest")));
            }
        }
    }

    @Test
    public void damagedPageAnswersMaybe() throws IOException {
        for (String file : new String[] {"blocked-seed", "classic-m480833", "counting-two-pages-embedded",
            "ribbon-two-pages", "series-3", "slice-middle"}) {
            byte[] image = Spec.read(Spec.GOLDEN.resolve(file + ".bloom"));
            long[] digests = digests(2000, 1);
            boolean[] right = answers(Filter.of(image), digests);
            int header = Header.u32(image, 12);
            int changed = 0;
            for (int at = header; at < image.length; at += 1021) {
                byte[] bad = image.clone();
                bad[at] ^= 0x10;
                Filter f;
                try {
                    f = Filter.of(bad);
                } catch (BloomfileException e) {
                    continue; // A header of a later layer.
                }
                boolean[] now = answers(f, digests);
                for (int i = 0; i < now.length; i++) {
                    assertTrue(file, now[i] || !right[i]);
                }
                if (!Arrays.equals(now, right)) {
                    assertEquals(file, ErrorCode.EPAGE, f.error().code());
                    assertEquals(file, 1, f.damagedPages());
                    changed++;
                }
            }
            assertTrue(file, changed > 0);
            if (!file.equals("series-3")) {
                Filter unchecked = Filter.of(ByteBuffer.wrap(image), Filter.Options.DEFAULT.check(Filter.Check.NONE));
                assertArrayEquals(right, answers(unchecked, digests));
            }
        }
    }

    @Test
    public void uncheckedFilterIsTrustedUntilVerified() throws IOException {
        byte[] image = Spec.read(Spec.GOLDEN.resolve("blocked-file.bloom"));
        image[4096] ^= 1;
        Filter f = Filter.of(ByteBuffer.wrap(image), Filter.Options.DEFAULT.check(Filter.Check.NONE));
        assertFalse(f.mayContainDigest(1));
        assertNull(f.error());
        assertEquals(ErrorCode.EPAGE, assertThrows(BloomfileException.class, f::verify).code());
        assertTrue(f.mayContainDigest(1));
        assertEquals(ErrorCode.EPAGE, f.error().code());
    }

    @Test
    public void concurrentLookupsCountADamagedPageOnce() throws Exception {
        byte[] image = Spec.read(Spec.GOLDEN.resolve("classic-m480833.bloom"));
        image[4096 * 3] ^= 1;
        long[] digests = digests(20000, 2);
        boolean[] right = answers(Filter.of(image), digests);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 20; round++) {
                Filter f = Filter.of(image);
                List<Future<boolean[]>> all = new ArrayList<>();
                for (int t = 0; t < 4; t++) {
                    all.add(threads.submit(() -> answers(f, digests)));
                }
                for (Future<boolean[]> one : all) {
                    assertArrayEquals(right, one.get());
                }
                assertEquals(1, f.damagedPages());
            }
        } finally {
            threads.shutdown();
        }
    }

    private Path copy(String name) throws IOException {
        Path path = folder.getRoot().toPath().resolve(name);
        return Files.copy(Spec.GOLDEN.resolve("blocked-file.bloom"), path, StandardCopyOption.REPLACE_EXISTING);
    }

    static void cut(Path path, long size) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(size);
        }
    }

    @Test
    public void truncatedFileAnswersMaybe() throws Exception {
        assumeTrue("Java 11 ends when a mapped file is cut", Runtime.version().feature() >= 14);
        long[] digests = digests(1000, 3);
        for (long size : new long[] {0, 1, 4096, 5000, 8191}) {
            Path path = copy("cut");
            try (Filter f = Filter.open(path); Filter copied = Filter.open(path, Filter.Options.DEFAULT.inMemory())) {
                boolean[] before = answers(f, digests);
                cut(path, size);
                boolean[] maybe = new boolean[digests.length];
                assertEquals(digests.length, f.mayContainDigests(digests, maybe));
                assertEquals(ErrorCode.ECHANGED, f.error().code());
                assertTrue(f.mayContainDigest(digests[0]));
                assertEquals(ErrorCode.ECHANGED, assertThrows(BloomfileException.class, f::verify).code());
                assertArrayEquals(before, answers(copied, digests));
                assertNull(copied.error());
                copied.verify();
            }
        }
    }

    @Test
    public void fileTruncatedAndExtendedAgainAnswersMaybe() throws Exception {
        long[] digests = digests(1000, 3);
        for (boolean batch : new boolean[] {true, false}) {
            Path path = copy("extended");
            long size = Files.size(path);
            try (Filter f = Filter.open(path); RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                f.verify();
                file.setLength(0);
                file.setLength(size);
                for (long digest : digests) {
                    assertTrue(batch ? f.mayContainDigests(new long[] {digest}, new boolean[1]) == 1 : f.mayContainDigest(digest));
                }
                assertEquals(ErrorCode.ECHANGED, f.error().code());
            }
        }
    }

    /** What is cut from a page reads as zeros, without an error. */
    @Test
    public void truncationInsideAPageNeverAnswersNo() throws Exception {
        assumeTrue("Java 11 ends when a mapped file is cut", Runtime.version().feature() >= 14);
        long[] digests = digests(8000, 8);
        Path path = folder.getRoot().toPath().resolve("inside");
        for (Layout layout : Layout.values()) {
            for (int count : new int[] {80, 8000}) { // few bytes of a sparse filter are not zero
                Params params = new Params().layout(layout);
                try (Builder builder = new Builder(layout == Layout.RIBBON ? params.bits(512 * 200) : params.capacity(8000))) {
                    builder.addDigests(digests, 0, count);
                    builder.finish(path, WriteOption.REPLACE);
                }
                byte[] image = Files.readAllBytes(path);
                for (long size = 4096 + 64; size < image.length; size += image.length / 5 | 1) {
                    Files.write(path, image);
                    try (Filter f = Filter.open(path)) {
                        f.verify();
                        cut(path, size);
                        for (int i = 0; i < count; i++) {
                            try {
                                assertTrue(layout + " of " + size, f.mayContainDigest(digests[i]));
                            } catch (InternalError e) { // of an earlier lookup, and no answer
                                assertTrue(e.getMessage(), e.getMessage().contains("unsafe memory access"));
                            }
                        }
                        assertTrue(hears() || hears());
                    }
                }
                Files.delete(path);
            }
        }
    }

    /** Makes pages unreadable; how many mappings of files named "unreadable". */
    private static native int lose();

    private static boolean hears() {
        try {
            return Filter.hearOfFaults() > 0;
        } catch (InternalError late) {
            return false;
        }
    }

    /** As long as an error of a lookup may come, here or elsewhere in the thread, it is no answer. */
    private static int denied(Filter f, long[] digests, boolean single) {
        boolean[] maybe = new boolean[digests.length];
        int denied = 0;
        for (int i = 0; i < digests.length; i++) {
            try {
                if (single) {
                    denied += f.mayContainDigest(digests[i]) ? 0 : 1;
                } else if (i % 1000 == 0) {
                    denied += 1000 - f.mayContainDigests(digests, i, 1000, maybe, i);
                }
            } catch (InternalError e) {
                assertTrue(e.getMessage(), e.getMessage().contains("unsafe memory access"));
            }
        }
        assertTrue(hears() || hears());
        return denied;
    }

    /** A page that was read before, and that the disk does not give again. */
    @Test
    public void unreadablePageAnswersMaybe() throws Exception {
        assumeTrue("Java 11 ends when a mapped file is cut", Runtime.version().feature() >= 14);
        assumeTrue(System.getProperty("bloomfile.unreadable") != null);
        System.load(System.getProperty("bloomfile.unreadable"));
        Path path = folder.getRoot().toPath().resolve("unreadable");
        long[] digests = digests(50000, 6);
        long[] others = digests(50000, 7);
        for (Layout layout : Layout.values()) {
            Params params = new Params().layout(layout);
            try (Builder builder = new Builder(layout == Layout.RIBBON ? params.bits(512 * 1000) : params.capacity(50000))) {
                builder.addDigests(digests);
                builder.finish(path);
            }
            for (boolean single : new boolean[] {true, false}) {
                try (Filter f = Filter.open(path)) {
                    for (int i = 0; i < 5; i++) {
                        assertEquals(0, denied(f, digests, single));
                        assertTrue(denied(f, others, single) > 40000);
                    }
                    assertEquals(1, lose());
                    assertEquals(0, denied(f, digests, single));
                    if (!single) { // one by one, what was read may happen to be ones each time
                        assertEquals(ErrorCode.ECHANGED, f.error().code());
                    }
                }
            }
            Files.delete(path);
        }
    }

    @Test
    public void closeAndErrorDoNotThrowTheErrorOfALookup() throws Exception {
        assumeTrue(System.getProperty("bloomfile.unreadable") != null);
        System.load(System.getProperty("bloomfile.unreadable"));
        Path path = folder.getRoot().toPath().resolve("unreadable");
        long[] digests = digests(300, 6);
        try (Builder builder = new Builder(new Params().capacity(digests.length))) {
            builder.addDigests(digests);
            builder.finish(path);
        }
        for (long digest : digests) {
            try (Filter f = Filter.open(path)) {
                assertTrue(f.mayContainDigest(digest));
                assertTrue(lose() > 0);
                assertTrue(f.mayContainDigest(digest));
                if (digest % 2 == 0) {
                    f.error();
                }
            }
        }
    }

    @Test
    public void overwrittenFileIsReported() throws Exception {
        Path path = copy("written");
        try (Filter f = Filter.open(path)) {
            assertNull(f.error());
            Files.setLastModifiedTime(path, java.nio.file.attribute.FileTime.fromMillis(1));
            assertEquals(ErrorCode.ECHANGED, f.error().code());
            assertTrue(f.mayContainDigest(1));
        }
    }

    /** If only the time of status shows a write, pages that answers relied on are checked again. */
    @Test
    public void pagesAreCheckedAgainIfOnlyTheStatusTimeChanges() throws Exception {
        Path path = copy("behind");
        assumeTrue(path.getFileSystem().supportedFileAttributeViews().contains("unix"));
        long[] digests = digests(100_000, 11);
        java.nio.file.attribute.FileTime time = Files.getLastModifiedTime(path);
        try (Filter f = Filter.open(path)) {
            f.verify();
            Thread.sleep(20);
            byte[] page = Arrays.copyOfRange(Files.readAllBytes(path), 4096, 4160);
            for (int i = 0; i < page.length; i++) {
                page[i] = (byte) ~page[i];
            }
            write(path, 4096, page);
            Files.setLastModifiedTime(path, time);
            assertEquals(ErrorCode.ECHANGED, f.error().code()); // earlier answers relied on the page
            assertEquals(digests.length, f.mayContainDigests(digests, new boolean[digests.length]));
        }
        try (Filter f = Filter.open(copy("as before"))) {
            boolean[] before = answers(f, digests);
            Files.setPosixFilePermissions(folder.getRoot().toPath().resolve("as before"),
                    java.nio.file.attribute.PosixFilePermissions.fromString("r--------"));
            assertNull(f.error());
            assertArrayEquals(before, answers(f, digests));
            f.verify();
            assertNull(f.error());
            assertArrayEquals(before, answers(f, digests));
        }
    }

    /** A link to itself cannot be looked up, even by root. */
    @Test
    public void pagesAreCheckedAgainIfTheNameCannotBeLookedUp() throws Exception {
        Path path = copy("lost");
        Path there = path.resolveSibling("lost.there");
        long[] digests = digests(100_000, 11);
        try (Filter f = Filter.open(path)) {
            boolean[] before = answers(f, digests);
            f.verify();
            Files.move(path, there);
            Files.createSymbolicLink(path, path);
            assertNull(f.error());
            assertArrayEquals(before, answers(f, digests));
            write(there, 4096, new byte[64]);
            assertEquals(ErrorCode.ECHANGED, f.error().code());
            assertEquals(digests.length, f.mayContainDigests(digests, new boolean[digests.length]));
        }
    }

    /** Names, links and rights of a file are not its bytes. */
    @Test
    public void changedModeOrLinksAreNotAChange() throws Exception {
        Path path = copy("rights");
        try (Filter f = Filter.open(path)) {
            Files.setPosixFilePermissions(path, java.nio.file.attribute.PosixFilePermissions.fromString("r--------"));
            Files.createLink(folder.getRoot().toPath().resolve("link"), path);
            assertNull(f.error());
        }
    }

    private static void write(Path path, long at, byte... bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), at);
        }
    }

    /** What is around a filter in a file may change. Its own header may not. */
    @Test
    public void rangeIsChangedOnlyWithItsHeader() throws Exception {
        byte[] image = Files.readAllBytes(copy("alone"));
        Path path = folder.getRoot().toPath().resolve("range");
        Files.write(path, new byte[100]);
        Files.write(path, image, StandardOpenOption.APPEND);
        try (Filter f = Filter.open(path, Filter.Options.DEFAULT.range(100, image.length))) {
            Files.write(path, new byte[1000], StandardOpenOption.APPEND);
            write(path, 50, (byte) 1);
            assertNull(f.error());
            write(path, 140, (byte) ~image[40]);
            assertEquals(ErrorCode.ECHANGED, f.error().code());
            assertTrue(f.mayContainDigest(1));
        }
    }

    /** A page that was right before is not damage: answers that came from it may have been wrong. */
    @Test
    public void pageFoundRightBeforeIsReportedAsChanged() throws Exception {
        Path path = copy("page");
        long[] digests = digests(1000, 8);
        java.nio.file.attribute.FileTime time = Files.getLastModifiedTime(path);
        try (Filter f = Filter.open(path)) {
            f.verify();
            write(path, 4096, new byte[64]);
            Files.setLastModifiedTime(path, time);
            assertEquals(ErrorCode.ECHANGED, assertThrows(BloomfileException.class, f::verify).code());
            assertEquals(ErrorCode.ECHANGED, f.error().code());
            boolean[] maybe = new boolean[digests.length];
            assertEquals(digests.length, f.mayContainDigests(digests, maybe));
        }
        try (Filter f = Filter.open(path)) {
            assertEquals(ErrorCode.EPAGE, assertThrows(BloomfileException.class, f::verify).code());
        }
    }

    /** What a lookup or a check in another thread meets is the end of the filter, not a change of the file. */
    @Test
    public void closeDuringLookupsNeverReportsChangeOrInterruptsOrAnswersNo() throws Exception {
        Path path = copy("closed");
        long[] digests = digests(64, 9);
        boolean[] all = new boolean[digests.length];
        Arrays.fill(all, true);
        for (int round = 0; round < 400; round++) {
            Filter f = Filter.open(path);
            boolean[] maybe = all.clone();
            boolean[] interrupted = new boolean[1];
            int way = round % 4;
            ExecutorService one = Executors.newSingleThreadExecutor();
            Future<?> lookups = one.submit(() -> {
                try {
                    for (;;) {
                        lookUp(f, way, digests, maybe);
                    }
                } finally {
                    interrupted[0] = Thread.currentThread().isInterrupted();
                }
            });
            Thread.sleep(1);
            f.close();
            ExecutionException end = assertThrows(ExecutionException.class, lookups::get);
            assertEquals(IllegalStateException.class, end.getCause().getClass());
            assertFalse("its next use of a channel would close it", interrupted[0]);
            assertArrayEquals(all, maybe);
            assertNull(f.error());
            one.shutdown();
        }
    }

    private static void lookUp(Filter f, int way, long[] digests, boolean[] maybe) throws IOException {
        switch (way) {
            case 0:
                f.mayContainDigests(digests, maybe);
                break;
            case 1:
                f.verify();
                break;
            case 2:
                f.mayContainDigest(digests[0]);
                break;
            default:
                f.error();
                f.mayContain(new byte[] {1});
                break;
        }
    }

    @Test
    public void interruptedThreadCanOpenAndLookUp() throws Exception {
        Path path = copy("interrupted");
        long[] digests = digests(1000, 10);
        boolean[] right = answers(Filter.open(path), digests);
        Thread self = Thread.currentThread();
        java.util.concurrent.atomic.AtomicBoolean end = new java.util.concurrent.atomic.AtomicBoolean();
        Thread other = new Thread(() -> {
            while (!end.get()) {
                self.interrupt();
            }
        });
        try {
            self.interrupt();
            for (Filter.Options options : new Filter.Options[] {Filter.Options.DEFAULT, Filter.Options.DEFAULT.inMemory(),
                    Filter.Options.DEFAULT.check(Filter.Check.FULL)}) {
                try (Filter f = Filter.open(path, options)) {
                    assertTrue(self.isInterrupted());
                    assertArrayEquals(right, answers(f, digests));
                    f.verify();
                    assertNull(f.error());
                }
            }
            other.start();
            for (int round = 0; round < 200; round++) {
                try (Filter f = Filter.open(path)) {
                    assertArrayEquals(right, answers(f, digests));
                    assertNull(f.error());
                }
            }
        } finally {
            end.set(true);
            while (other.isAlive()) {
                Thread.interrupted();
                Thread.onSpinWait();
            }
            Thread.interrupted();
        }
    }

    @Test
    public void replacedFileKeepsItsAnswers() throws Exception {
        long[] digests = digests(1000, 4);
        Path path = copy("replaced");
        try (Filter f = Filter.open(path)) {
            boolean[] before = answers(f, digests);
            Files.move(Files.write(folder.getRoot().toPath().resolve("new"), new byte[10]), path,
                    StandardCopyOption.ATOMIC_MOVE);
            assertArrayEquals(before, answers(f, digests));
            Files.delete(path);
            f.verify();
            assertArrayEquals(before, answers(f, digests));
            assertNull(f.error());
        }
    }

    /** How often a filter says no, until it says yes or throws. */
    private static long noes(Filter f) {
        long g = 1;
        long count = 0;
        while (!(f.mayContainDigest(g) & f.mayContainDigest(77 * g) & f.mayContainDigest(1077 * g)
                & f.mayContainDigest(3077 * g) & f.mayContainDigest(5077 * g) & f.mayContainDigest(7077 * g))) {
            g = g * C + 12345;
            count++;
        }
        return count;
    }

    /** A loop of lookups, compiled, learns that there are doubts. */
    @Test
    public void compiledLoopSeesDamageFoundLater() throws Exception {
        Filter f;
        try (Builder builder = new Builder(new Params().capacity(2_000_000))) {
            builder.add("one");
            f = Filter.of(builder.toBytes());
        }
        f.verify();
        ExecutorService one = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        Future<Long> noes = one.submit(() -> noes(f));
        Thread.sleep(1500);
        assertFalse(noes.isDone());
        f.close();
        Throwable met = assertThrows(ExecutionException.class, () -> noes.get(20, TimeUnit.SECONDS));
        assertEquals(IllegalStateException.class, met.getCause().getClass());
        one.shutdown();
    }

    /** Otherwise they would reach the limit of Linux. */
    @Test
    public void openingCollectsTheMappingsOfClosedFilters() throws Exception {
        Path path = copy("often");
        Object old = new Object();
        WeakReference<Object> before = new WeakReference<>(old);
        System.gc(); // promotes it: from now on, only a full collection clears the reference
        Reference.reachabilityFence(old);
        old = null;
        for (int i = 0; i < Tail.COLLECTED; i += 2) {
            Filter.open(path).close();
        }
        assertNull(before.get());
    }

    @Test
    public void closedFilterRefusesLookups() throws Exception {
        Filter f = Filter.open(copy("closed"));
        f.close();
        f.close();
        assertThrows(IllegalStateException.class, () -> f.mayContain("key"));
        assertThrows(IllegalStateException.class, () -> f.mayContainDigest(1));
        assertThrows(IllegalStateException.class, () -> f.mayContainDigests(new long[1]));
        assertThrows(IllegalStateException.class, f::verify);
        boolean[] maybe = new boolean[4];
        assertThrows(IllegalStateException.class, () -> f.mayContainDigests(new long[2], 0, 2, maybe, 1));
        assertArrayEquals(new boolean[] {false, true, true, false}, maybe);
        assertNull(f.error());
    }

    @Test
    public void foldersMissingFilesAndBadRangesAreRefused() throws Exception {
        Path here = folder.getRoot().toPath();
        assertEquals(ErrorCode.ENOTREGULAR, assertThrows(BloomfileException.class, () -> Filter.open(here)).code());
        assertThrows(NoSuchFileException.class, () -> Filter.open(here.resolve("none")));
        Path path = copy("range");
        long size = Files.size(path);
        Filter.Options options = Filter.Options.DEFAULT;
        for (long[] range : new long[][] {{size + 1, -1}, {0, size + 1}, {1, size}, {Long.MAX_VALUE, Long.MAX_VALUE}}) {
            assertEquals(ErrorCode.ETRUNCATED, assertThrows(BloomfileException.class,
                    () -> Filter.open(path, options.range(range[0], range[1]))).code());
        }
        assertEquals(ErrorCode.EEMPTY, assertThrows(BloomfileException.class,
                () -> Filter.open(path, options.range(size, -1))).code());
        assertThrows(IllegalArgumentException.class, () -> options.range(-1, 0));
    }

    /** Blocks on both sides of 1, 2 and 3 GiB, of a file that is nearly all holes. */
    @Test
    public void lookupsWorkInBodiesAboveThreeGigabytes() throws Exception {
        long bodySize = 3L * (1 << 30) + 8192;
        long pages = bodySize / 4096;
        byte[] head = Arrays.copyOf(Spec.read(Spec.GOLDEN.resolve("blocked-file.bloom")), 4096);
        Header.INT.set(head, 40, 3);
        Header.LONG.set(head, 48, 8 * bodySize);
        Header.LONG.set(head, 80, bodySize);
        Header.LONG.set(head, 104, 8 * bodySize);
        Spec.mend(head);
        int bodyCrc = Header.u32(head, 2048 + 56);
        byte[] page = new byte[4096];
        byte[] entries = new byte[(int) (4 * pages)];
        for (int i = 0; i < pages; i++) {
            Header.INT.set(entries, 4 * i, Header.crc(page, 0, 4096) ^ bodyCrc);
        }
        Arrays.fill(page, (byte) 0xFF);
        Path path = folder.getRoot().toPath().resolve("large");
        long[] full = {0, (1 << 18) - 1, 1 << 18, (1 << 19) - 1, 1 << 19, 3 << 18, pages - 1};
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(head), 0);
            for (long at : full) {
                channel.write(ByteBuffer.wrap(page), 4096 + 4096 * at);
                Header.INT.set(entries, (int) (4 * at), Header.crc(page, 0, 4096) ^ bodyCrc);
            }
            channel.write(ByteBuffer.wrap(entries), 4096 + bodySize);
        }
        try (Filter f = Filter.open(path)) {
            long[] digests = new long[3 * full.length];
            boolean[] wanted = new boolean[digests.length];
            long step = Long.divideUnsigned(-1, pages);
            for (int i = 0; i < full.length; i++) {
                for (int j = 0; j < 3; j++) {
                    long at = full[i] + j - 1;
                    // Some digest of this page.
                    digests[3 * i + j] = step * at + step / 2;
                    for (long other : full) {
                        wanted[3 * i + j] |= other == at;
                    }
                }
            }
            // The first is before page 0: the last page of all.
            digests[0] = -1;
            wanted[0] = true;
            digests[digests.length - 1] = step / 2 + step;
            wanted[digests.length - 1] = false;
            assertArrayEquals(wanted, answers(f, digests));
            assertNull(f.error());
            // The last page of the second GiB is lost, as a hole.
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.allocate(4096), 4096 + 4096 * full[3]);
            }
            try (Filter damaged = Filter.open(path)) {
                assertArrayEquals(wanted, answers(damaged, digests));
                assertEquals(ErrorCode.EPAGE, damaged.error().code());
                assertTrue(damaged.error().getMessage().contains("page " + full[3]));
            }
        }
    }

    /** Facts of a header, for people. */
    @Test
    public void infoIsPrintedAsOneLine() throws IOException {
        try (Builder builder = new Builder(new Params().capacity(20000).fpr(0.01).label("users of May"))) {
            for (long key = 1; key <= 1234; key++) {
                builder.add(key);
            }
            assertEquals("blocked, 32,796 bytes, 1,234 keys (integers) of 20,000, fpr 0.01, k 6, \"users of May\"",
                    Filter.of(builder.toBytes()).info().toString());
        }
    }
}
