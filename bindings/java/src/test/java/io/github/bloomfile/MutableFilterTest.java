// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Filters in memory that keys are added to. */
public class MutableFilterTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    /** What it seals is what a builder makes of the keys that were new. */
    @Test
    public void sealedFileEqualsThatOfABuilder() throws Exception {
        long[] digests = new Random(1).longs(5000).toArray();
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            for (int hashes : new int[] {0, 1, 6, 13}) {
                Params params = new Params().layout(layout).bits(100_003).hashes(hashes).capacity(5000).label("seen").seed(7)
                        .embedded(hashes == 1);
                MutableFilter f = new MutableFilter(params);
                try (Builder builder = new Builder(params)) {
                    for (long digest : digests) {
                        boolean there = f.mayContainDigest(digest);
                        assertEquals(!there, f.addDigest(digest));
                        assertTrue(f.mayContainDigest(digest));
                        assertFalse(f.addDigest(digest));
                        if (!there) {
                            builder.addDigest(digest);
                        }
                    }
                    assertArrayEquals(builder.toBytes(WriteOption.OVERFULL), f.toBytes(WriteOption.OVERFULL));
                    assertEquals(builder.keys(), f.keys());
                }
            }
        }
    }

    @Test
    public void keysOfAnotherKindAreRefused() throws Exception {
        MutableFilter f = new MutableFilter(new Params().capacity(1000));
        assertFalse(f.mayContain("alice") || f.mayContain(7) || f.mayContain(new byte[3]));
        assertTrue(f.add(7) && f.add(-1L) && !f.add((short) 7));
        assertTrue(f.mayContain((byte) 7) && f.mayContain(-1) && !f.mayContain(8));
        assertEquals(ErrorCode.EKEYKIND, assertThrows(BloomfileException.class, () -> f.add("7")).code());
        assertThrows(IllegalArgumentException.class, () -> f.mayContain("7"));
        assertEquals(2, f.keys());
        assertTrue(f.toString(), f.toString().contains("2 keys (integers) of 1,000"));
        Path path = folder.getRoot().toPath().resolve("seen.bloom");
        f.seal(path);
        assertThrows(FileAlreadyExistsException.class, () -> f.seal(path));
        f.add(9);
        f.seal(path, WriteOption.REPLACE);
        try (Filter sealed = Filter.open(path)) {
            sealed.verify();
            assertEquals(3, sealed.info().keys());
            assertEquals("integers", sealed.info().keyKind());
            assertTrue(sealed.mayContain(7) && sealed.mayContain(9));
        }
        MutableFilter text = new MutableFilter(new Params().capacity(10).keyKind("lower"));
        assertTrue(text.add("Alice") && text.mayContain("aLICE"));
    }

    @Test
    public void impossibleParamsAreRefused() throws Exception {
        for (Params params : new Params[] {new Params(), new Params().bits(1000), new Params().capacity(10).layout(Layout.COUNTING),
            new Params().capacity(10000).slice(0, 2)}) {
            assertEquals(ErrorCode.EVALUE, assertThrows(BloomfileException.class, () -> new MutableFilter(params)).code());
        }
        assertEquals(ErrorCode.ETOOBIG,
                assertThrows(BloomfileException.class, () -> new MutableFilter(new Params().capacity(1L << 50))).code());
        MutableFilter f = new MutableFilter(new Params().capacity(100));
        new Random(3).longs(1000).forEach(f::addDigest);
        assertEquals(ErrorCode.EFULL, assertThrows(BloomfileException.class, f::toBytes).code());
        f.toBytes(WriteOption.OVERFULL);
        MutableFilter other = new MutableFilter(new Params().capacity(100).application(1 << 31, 5));
        assertEquals(ErrorCode.EHASH, assertThrows(BloomfileException.class, () -> other.add(1)).code());
        assertThrows(IllegalStateException.class, () -> other.mayContain(1));
        assertTrue(other.addDigest(1) && other.mayContainDigest(1));
    }

    /** Of threads that add the same keys, one finds each key new; no add is lost. */
    @Test
    public void concurrentAddsAreAllKept() throws Exception {
        long[] digests = new Random(4).longs(20_000).toArray();
        MutableFilter f = new MutableFilter(new Params().capacity(20_000).fpr(1e-6));
        AtomicInteger added = new AtomicInteger();
        AtomicInteger missing = new AtomicInteger();
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (long digest : digests) {
                    added.addAndGet(f.addDigest(digest) ? 1 : 0);
                    missing.addAndGet(f.mayContainDigest(digest) ? 0 : 1);
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, missing.get());
        assertEquals(f.keys(), added.get());
        assertTrue(added.get() > 19_990 && added.get() <= 20_000);
    }
}
