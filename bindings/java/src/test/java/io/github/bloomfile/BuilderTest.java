// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Making filters. What they are byte for byte: {@link GoldenBuildTest}. */
public class BuilderTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private Path root;

    @Before
    public void root() {
        root = folder.getRoot().toPath();
    }

    private static byte[] build(Params params, long... digests) throws IOException {
        try (Builder builder = new Builder(params)) {
            builder.addDigests(digests);
            return builder.toBytes(WriteOption.OVERFULL);
        }
    }

    /** What does not fit into memory goes to a file, and parts of a body are made one after the other. */
    @Test
    public void imageDoesNotDependOnMemory() throws IOException {
        long[] digests = new Random(2).longs(600_000).toArray();
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC, Layout.COUNTING}) {
            Params params = new Params().layout(layout).bits(layout == Layout.BLOCKED ? 512 * 6000 : 3_000_001).hashes(4);
            byte[] wanted = build(params.memory(64 << 20), digests);
            Params little = params.memory(1 << 20).temporaryFolder(root);
            assertArrayEquals(wanted, build(little, digests));
            try (Builder builder = new Builder(little)) {
                builder.addDigests(digests);
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                builder.finish(out, WriteOption.OVERFULL);
                assertArrayEquals(wanted, out.toByteArray());
            }
        }
        assertEquals(0, root.toFile().list().length);
    }

    @Test
    public void imageDoesNotDependOnOrderOrRepetitions() throws IOException {
        long[] digests = new Random(3).longs(20_000).toArray();
        digests[7] = 0;
        digests[8] = -1;
        byte[] wanted = build(new Params(), digests);
        assertEquals(20_000, Header.u64(wanted, 2048 + 16));
        long[] more = Arrays.copyOf(digests, 100_000);
        for (int i = 20_000; i < more.length; i++) {
            more[i] = i % 3 == 0 ? digests[5] : digests[i % 20_000];
        }
        assertArrayEquals(wanted, build(new Params(), more));
        long[] sorted = digests.clone();
        Arrays.sort(sorted);
        assertArrayEquals(wanted, build(new Params(), sorted));
    }

    /** Digests that all fall into one bucket take longer, but not for ever. */
    @Test(timeout = 20_000)
    public void digestsInOneBucketAreBuilt() throws IOException {
        long[] digests = new long[200_000];
        for (int i = 0; i < digests.length; i++) {
            digests[i] = i * 7919L % digests.length;
        }
        byte[] image = build(new Params().bits(512 * 200).hashes(3), digests);
        assertEquals(digests.length, Header.u64(image, 2048 + 16));
    }

    @Test
    public void keysEqualTheirDigests() throws IOException {
        byte[] long1 = new byte[1 << 20];
        new Random(4).nextBytes(long1);
        Params any = new Params().seed(9).keyKind("unknown");
        try (Builder a = new Builder(any); Builder b = new Builder(any)) {
            a.add("žluťoučký");
            a.add("");
            a.add(long1);
            b.addDigest(Xxh3.hash("žluťoučký".getBytes(StandardCharsets.UTF_8), 9));
            b.addDigest(Xxh3.hash(new byte[0], 9));
            b.add(long1, 0, long1.length);
            b.add(long1);
            assertEquals(0, b.keys());
            assertArrayEquals(a.toBytes(), b.toBytes());
            assertEquals(3, b.keys());
        }
    }

    @Test
    public void digestHashesTextAndIntegersAsKeys() throws IOException {
        String text = "žluťoučký";
        byte[] eight = {(byte) 0xFE, -1, -1, -1, -1, -1, -1, -1};
        try (Builder b = new Builder(new Params().seed(9)); Filter f = Filter.of(b.toBytes())) {
            assertEquals(Xxh3.hash(text.getBytes(StandardCharsets.UTF_8), 9), f.digest(text));
            assertEquals(f.digest(text), f.digest(new StringBuilder(text)));
            assertEquals(Xxh3.hash(eight, 9), f.digest(-2));
            assertEquals(f.digest(eight), f.digest(-2L));
        }
        long test = 5;
        try (Builder b = new Builder(new Params().application(0x80000001, test));
                Filter f = Filter.of(ByteBuffer.wrap(b.toBytes()), Filter.Options.DEFAULT.applications())) {
            assertThrows(IllegalStateException.class, () -> f.digest(eight));
            assertThrows(IllegalStateException.class, () -> f.digest(text));
            assertThrows(IllegalStateException.class, () -> f.digest(-2));
        }
    }

    @Test
    public void builderWithoutKeysMakesEmptyFilter() throws IOException {
        byte[] image = build(new Params());
        assertEquals(0, Header.u64(image, 2048 + 16));
        assertEquals(1, Header.u64(image, 88));
    }

    @Test
    public void builderWithApplicationHashTakesDigestsOnly() throws IOException {
        try (Builder builder = new Builder(new Params().application(0x80000001, 5))) {
            assertEquals(ErrorCode.EHASH, assertThrows(BloomfileException.class, () -> builder.add("key")).code());
            builder.addDigest(17);
            assertEquals(0x80000001, Header.u32(builder.toBytes(), 36));
        }
    }

    @Test
    public void finishOverCapacityFailsWithoutOverfull() throws IOException {
        long[] digests = new Random(5).longs(1000).toArray();
        Path path = root.resolve("x.bloom");
        try (Builder builder = new Builder(new Params().capacity(300))) {
            builder.addDigests(digests);
            assertEquals(ErrorCode.EFULL,
                    assertThrows(BloomfileException.class, () -> builder.finish(path)).code());
            assertEquals(0, root.toFile().list().length);
            builder.finish(path, WriteOption.OVERFULL);
            assertArrayEquals(builder.toBytes(WriteOption.OVERFULL), Files.readAllBytes(path));
        }
        try (Builder empty = new Builder(new Params().layout(Layout.RIBBON).bits(512).fpr(0.001))) {
            empty.toBytes();
        }
    }

    @Test
    public void filterTooBigForTheHeapIsRefused() throws IOException {
        assumeTrue(Runtime.getRuntime().maxMemory() < 1 << 30);
        Params params = new Params().bits(1L << 33).hashes(4);
        try (Builder builder = new Builder(params)) {
            builder.addDigest(1);
            assertEquals(ErrorCode.ETOOBIG, assertThrows(BloomfileException.class, builder::toBytes).code());
        }
    }

    @Test
    public void existingFileNeedsReplace() throws IOException {
        Path path = root.resolve("x.bloom");
        try (Builder one = new Builder(new Params()); Builder none = new Builder(new Params())) {
            one.add("key");
            one.finish(path);
            byte[] first = Files.readAllBytes(path);
            assertThrows(FileAlreadyExistsException.class, () -> one.finish(path));
            assertThrows(FileSystemException.class, () -> none.finish(path, WriteOption.REPLACE));
            assertArrayEquals(first, Files.readAllBytes(path));
            none.finish(path, WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
            one.finish(path, WriteOption.REPLACE);
            assertArrayEquals(first, Files.readAllBytes(path));
            Files.write(path, "lines\nof keys\n".getBytes(StandardCharsets.UTF_8));
            assertThrows(FileSystemException.class, () -> one.finish(path, WriteOption.REPLACE));
            Files.write(path, new byte[0]);
            one.finish(path, WriteOption.REPLACE);
            Files.createSymbolicLink(root.resolve("link"), path);
            one.finish(root.resolve("link"), WriteOption.REPLACE);
        }
        assertEquals(2, root.toFile().list().length);
    }

    @Test
    public void replaceKeepsPermissions() throws IOException {
        Path path = root.resolve("x".repeat(249) + ".bloom");
        try (Builder builder = new Builder(new Params())) {
            builder.add("key");
            builder.finish(path);
            for (String permissions : new String[] {"rw-------", "rw-rw-r--"}) {
                Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
                builder.finish(path, WriteOption.REPLACE);
                assertEquals(permissions, PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
            }
        }
    }

    /** Of several that finish under one name at the same time, one succeeds. */
    @Test
    public void oneOfSeveralFinishesUnderOneNameSucceeds() throws Exception {
        Path path = root.resolve("x.bloom");
        AtomicInteger succeeded = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String key = "key" + i;
            threads.add(new Thread(() -> {
                try (Builder builder = new Builder(new Params())) {
                    builder.add(key);
                    builder.finish(path);
                    succeeded.incrementAndGet();
                } catch (FileAlreadyExistsException e) {
                    return;
                } catch (IOException e) {
                    succeeded.set(100);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(1, succeeded.get());
        assertEquals(1, root.toFile().list().length);
    }

    /** Parameters travel to other machines. */
    @Test
    public void serializedParamsBuildTheSameFilter() throws Exception {
        Params params = new Params().capacity(100_000).fpr(0.02).seed(5).label("a").tag(new byte[] {1})
                .watermark(new byte[] {2}).slice(1, 2).temporaryFolder(root).keyKind("fixed 8");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(params);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            long[] digests = new Random(6).longs(1000).toArray();
            assertArrayEquals(build(params, digests), build((Params) in.readObject(), digests));
        }
    }

    /** Intact, and with each byte damaged. The damage may turn the header into the embedded form, or a live record into a sealed one. */
    @Test
    public void liveFiltersAreNotReplaced() throws IOException {
        Path path = root.resolve("live.bloom");
        for (String name : new String[] {"growing-1/filter.bloom", "growing-3/filter.bloom", "growing-3/filter.bloom.2"}) {
            byte[] live = Files.readAllBytes(Files.copy(Spec.GOLDEN.resolve("live").resolve(name), path));
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                for (int at = 0; at < Header.FILE; at++) {
                    for (int flip : new int[] {1, Header.LIVE ^ Header.SEALED, 0x10 ^ 0x02, 0xFF, 0}) { // at last none
                        file.seek(at);
                        file.write(live[at] ^ flip);
                        String what = name + ", byte " + at + ", " + flip;
                        assertThrows(what, FileSystemException.class, () -> new NewFile(path, WriteOption.REPLACE).close());
                    }
                }
            }
            assertArrayEquals(live, Files.readAllBytes(path));
            Files.delete(path);
        }
        assertEquals(0, root.toFile().list().length);
    }

    /** A new file would hide the keys of the other layers. A damaged second file may be a layer. */
    @Test
    public void lostFirstFileOfASeriesIsNotReplaced() throws IOException {
        Path path = root.resolve("filter.bloom");
        Path second = root.resolve("filter.bloom.1");
        byte[] first = Files.readAllBytes(Spec.GOLDEN.resolve("live/growing-3/filter.bloom"));
        byte[] layer = Files.readAllBytes(Spec.GOLDEN.resolve("live/growing-3/filter.bloom.1"));
        byte[] damaged = layer.clone();
        damaged[248] ^= 1;
        byte[] torn = first.clone();
        Arrays.fill(torn, Header.FILE / 2, Header.FILE, (byte) 0);
        Files.write(path, torn);
        assertThrows(FileSystemException.class, () -> new NewFile(path, WriteOption.REPLACE).close());
        Files.delete(path);
        for (int length : new int[] {-1, 0, 100}) {
            if (length >= 0) {
                Files.write(path, Arrays.copyOf(first, length));
            }
            for (byte[] content : new byte[][] {layer, damaged, Arrays.copyOf(layer, 100)}) {
                Files.write(second, content);
                assertThrows(FileSystemException.class, () -> new NewFile(path, WriteOption.REPLACE).close());
            }
            for (String other : new String[] {"application-slice-ends.bloom", "blocked-file.bloom", "blocked-embedded.bloom", "index.tsv"}) {
                Files.write(second, Files.readAllBytes(Spec.GOLDEN.resolve(other)));
                new NewFile(path, WriteOption.REPLACE).close();
            }
            Files.delete(second);
            new NewFile(path, WriteOption.REPLACE).close();
        }
    }

    /** A key that is added to the newest layer changes no byte of the first layer. */
    @Test
    public void noCallReplacesALiveSeries() throws IOException {
        Path path = root.resolve("filter.bloom");
        List<byte[]> before = new ArrayList<>();
        for (String layer : new String[] {"", ".1", ".2"}) {
            Path file = Files.copy(Spec.GOLDEN.resolve("live/growing-3/filter.bloom" + layer), root.resolve("filter.bloom" + layer));
            before.add(Files.readAllBytes(file));
        }
        Path source = Spec.GOLDEN.resolve("blocked-file.bloom");
        MutableFilter mutable = new MutableFilter(new Params().capacity(9));
        mutable.add("key");
        try (Builder builder = new Builder(new Params())) {
            builder.add("key");
            for (ThrowingRunnable write : new ThrowingRunnable[] {
                () -> builder.finish(path, WriteOption.REPLACE), () -> mutable.seal(path, WriteOption.REPLACE),
                () -> Fold.byFactor(path, source, 1, WriteOption.REPLACE), () -> Merge.union(path, List.of(source), WriteOption.REPLACE),
                () -> Slices.join(path, List.of(Spec.GOLDEN.resolve("slice-first.bloom")), WriteOption.REPLACE)}) {
                String message = assertThrows(FileSystemException.class, write).getMessage();
                assertTrue(message, message.contains("it is a live filter"));
            }
        }
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(before.get(i), Files.readAllBytes(root.resolve("filter.bloom" + (i == 0 ? "" : "." + i))));
        }
        assertEquals(3, root.toFile().list().length);
    }

    /** A damaged filter may have keys, and so may the other layers of a series. */
    @Test
    public void filterThatMayHaveKeysIsNotReplacedByEmptyFilter() throws IOException {
        Path path = root.resolve("x.bloom");
        byte[] damaged = Files.readAllBytes(Spec.GOLDEN.resolve("blocked-file.bloom"));
        damaged[12] ^= 1;
        byte[] series = Files.readAllBytes(Spec.GOLDEN.resolve("series-3.bloom"));
        for (int at = Header.FILE / 2; at < Header.FILE; at += Header.FILE / 4) {
            Header.LONG.set(series, at + 16, 0L);
        }
        Spec.mend(series);
        try (Builder empty = new Builder(new Params())) {
            for (byte[] old : new byte[][] {damaged, series}) {
                Files.write(path, old);
                assertThrows(FileSystemException.class, () -> empty.finish(path, WriteOption.REPLACE));
                assertArrayEquals(old, Files.readAllBytes(path));
                empty.finish(path, WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
                empty.finish(path, WriteOption.REPLACE);
            }
        }
    }

    /** It was kept in memory when its size was not known before the keys. */
    @Test
    public void filterWrittenToStreamSpillsToFile() throws IOException {
        Params params = new Params().fpr(1e-13).memory(1 << 20).temporaryFolder(root.resolve("missing"));
        try (Builder builder = new Builder(params)) {
            for (long i = 0; i < 100_000; i++) {
                builder.addDigest(Xxh3.hash(i, 0));
            }
            assertThrows(NoSuchFileException.class, () -> builder.finish(OutputStream.nullOutputStream()));
        }
    }

    @Test(timeout = 30_000)
    public void rateOfFarMoreKeysThanBitsIsOne() throws IOException {
        for (int hashes : new int[] {0, 16, 32, 64}) {
            new Builder(new Params().capacity(1L << 60).bits(1024).hashes(hashes)).close();
            assertEquals(1, Sizing.rate(Layout.BLOCKED, 1024, 1L << 60, Math.max(1, hashes)), 0);
        }
    }

    @Test
    public void closedBuilderAndInvalidParamsAreRefused() throws IOException {
        Builder builder = new Builder(new Params());
        builder.close();
        assertThrows(IllegalStateException.class, () -> builder.add("key"));
        assertThrows(IllegalStateException.class, builder::toBytes);
        String capacity = assertThrows(BloomfileException.class, () -> new Builder(new Params().capacity(-1))).getMessage();
        assertTrue(capacity, capacity.contains("capacity -1"));
        refused(ErrorCode.EVALUE, new Params().capacity((1L << 60) + 1));
        refused(ErrorCode.EVALUE, new Params().fpr(1));
        refused(ErrorCode.EVALUE, new Params().fpr(Double.NaN));
        refused(ErrorCode.EVALUE, new Params().hashes(65));
        refused(ErrorCode.EVALUE, new Params().bits(-1));
        refused(ErrorCode.EVALUE, new Params().label("a\nb"));
        refused(ErrorCode.EVALUE, new Params().label("\uD800"));
        refused(ErrorCode.EVALUE, new Params().label("é".repeat(57)));
        refused(ErrorCode.EVALUE, new Params().tag(new byte[17]));
        refused(ErrorCode.EVALUE, new Params().watermark(new byte[33]));
        refused(ErrorCode.EVALUE, new Params().keyKind("fixed 16777216"));
        refused(ErrorCode.EUNREACHABLE, new Params().capacity(1L << 60).fpr(1e-9));
        refused(ErrorCode.EVALUE, new Params().capacity(9).layout(Layout.CLASSIC).slice(0, 1));
    }

    private static void refused(ErrorCode code, Params params) {
        assertEquals(code, assertThrows(BloomfileException.class, () -> new Builder(params)).code());
    }

    /** A call during another one is refused, and no filter is made without its keys. */
    @Test
    public void addDuringFinishEndsTheBuilder() throws IOException {
        try (Builder builder = new Builder(new Params())) {
            builder.add("one");
            builder.finish(new OutputStream() {
                @Override
                public void write(int b) {
                    assertThrows(IllegalStateException.class, () -> builder.add("two"));
                }
            });
            assertThrows(IllegalStateException.class, () -> builder.add("two"));
            assertThrows(IllegalStateException.class, builder::toBytes);
            assertThrows(IllegalStateException.class, () -> builder.finish(root.resolve("refused")));
            assertThrows(IllegalStateException.class, () -> builder.finish(OutputStream.nullOutputStream()));
        }
        assertEquals(0, root.toFile().list().length);
    }

    @Test
    public void concurrentAddsAreKeptOrRefused() throws Exception {
        for (int round = 0; round < 5; round++) {
            try (Builder builder = new Builder(new Params())) {
                AtomicInteger refused = new AtomicInteger();
                List<Thread> threads = new ArrayList<>();
                for (int t = 0; t < 2; t++) {
                    long first = t * 100_000L;
                    threads.add(new Thread(() -> {
                        try {
                            for (long i = first; i < first + 100_000; i++) {
                                builder.add(Long.toString(i));
                            }
                        } catch (IllegalStateException e) {
                            refused.incrementAndGet();
                        } catch (IOException e) {
                            throw new java.io.UncheckedIOException(e);
                        }
                    }));
                }
                for (Thread thread : threads) {
                    thread.start();
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                if (refused.get() > 0) {
                    assertThrows(IllegalStateException.class, builder::toBytes);
                    continue;
                }
                Filter f = Filter.of(builder.toBytes());
                for (long i = 0; i < 200_000; i++) {
                    assertEquals(true, f.mayContain(Long.toString(i)));
                }
            }
        }
    }

    /** The file is there or not, as finish() says; and nothing else is. */
    @Test
    public void interruptedFinishWritesAllOrNothing() throws Exception {
        Path path = root.resolve("interrupted");
        Thread self = Thread.currentThread();
        try (Builder builder = new Builder(new Params().capacity(100_000))) {
            builder.add("one");
            int done = 0;
            for (int round = 0; round < 200; round++) {
                long wait = 10_000L * round;
                Thread other = new Thread(() -> {
                    java.util.concurrent.locks.LockSupport.parkNanos(wait);
                    self.interrupt();
                });
                other.start();
                try {
                    builder.finish(path);
                    assertEquals(true, Filter.open(path).mayContain("one"));
                    done++;
                } catch (java.nio.channels.ClosedByInterruptException e) {
                    assertEquals(false, Files.exists(path));
                }
                while (other.isAlive()) {
                    Thread.interrupted();
                    Thread.onSpinWait();
                }
                Thread.interrupted();
                Files.deleteIfExists(path);
                assertEquals(0, root.toFile().list().length);
            }
            assertEquals(true, done < 200);
        } finally {
            Thread.interrupted();
        }
    }

    /** Java closes the temporary file with the digests: no filter is made of the rest. */
    @Test
    public void builderThatLostItsSpillFileIsRefused() throws IOException {
        try (Builder builder = new Builder(new Params().memory(1 << 20).temporaryFolder(root))) {
            builder.addDigests(new Random(3).longs(1_000_000).toArray());
            Thread.currentThread().interrupt();
            assertThrows(IOException.class, builder::toBytes);
            assertEquals(true, Thread.interrupted());
            assertThrows(IllegalStateException.class, builder::toBytes);
            assertThrows(IllegalStateException.class, () -> builder.add("one"));
        } finally {
            Thread.interrupted();
        }
    }
}
