// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Truncates mapped files under optimized code, because some of its instructions can crash the Java VM. */
public class TruncationTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    /** A file is truncated during lookups: they never answer "no" for its keys, and the Java VM does not crash. */
    @Test
    public void truncationDuringLookupsNeverAnswersNo() throws Exception {
        assumeTrue("Java 11 ends when a mapped file is cut", Runtime.version().feature() >= 14);
        long[] digests = FilterTest.digests(20000, 5);
        for (Layout layout : Layout.values()) {
            Params params = new Params().layout(layout);
            try (Builder builder = new Builder(layout == Layout.RIBBON ? params.bits(512 * 700) : params.capacity(20000).fpr(1e-3))) {
                builder.addDigests(digests);
                truncateDuringLookups(builder.toBytes(), digests);
            }
        }
    }

    private void truncateDuringLookups(byte[] image, long[] digests) throws Exception {
        Path path = folder.getRoot().toPath().resolve("meanwhile");
        boolean[] maybe = new boolean[digests.length];
        int cut = 0;
        for (int round = 0; round < 30; round++) {
            Files.write(path, image);
            long wait = 200_000L * round;
            Thread cutter = new Thread(() -> {
                LockSupport.parkNanos(wait);
                try {
                    FilterTest.cut(path, 0);
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            boolean single = round % 2 == 1;
            try (Filter f = Filter.open(path)) {
                cutter.start();
                while (f.error() == null) {
                    try {
                        assertEquals(digests.length, f.mayContainDigests(digests, maybe));
                        for (int i = 0; single && i < digests.length; i++) {
                            assertTrue(f.mayContainDigest(digests[i]));
                            f.mayContainDigest(~digests[i]);
                        }
                    } catch (InternalError late) { // of an earlier lookup
                        assertTrue(late.getMessage(), late.getMessage().contains("unsafe memory access"));
                    }
                }
                assertEquals(ErrorCode.ECHANGED, f.error().code());
                cut++;
            }
            cutter.join();
        }
        assertEquals(30, cut);
    }
}
