// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.util.Arrays;

/**
 * The body of the classic and counting layouts, where the positions of a key lie anywhere: part after part, as large as
 * memory allows, and for each all digests once.
 */
final class CellFill {
    private static final int MOST = 1 << 30;

    private CellFill() {
    }

    /** Writes all pages. Returns the number of distinct digests. */
    static long body(Header h, Digests digests, Sealer sealer, long memory) throws IOException {
        boolean counters = h.layout == Layout.COUNTING;
        int size = (int) Math.min(h.bodySize, Math.min(memory, MOST) / Header.PAGE * Header.PAGE);
        byte[] part = new byte[size];
        long[] n = new long[1];
        for (long from = 0; from < h.bodySize; from += size) {
            Arrays.fill(part, (byte) 0);
            long start = from;
            n[0] = 0;
            digests.forEach((numbers, count) -> {
                n[0] += count;
                for (int i = 0; i < count; i++) {
                    if (counters) {
                        raise(part, start, numbers[i], h);
                    } else {
                        set(part, start, numbers[i], h);
                    }
                }
            });
            for (int off = 0; off < size && from + off < h.bodySize; off += Header.PAGE) {
                sealer.page(part, off);
            }
        }
        return n[0];
    }

    private static void set(byte[] part, long from, long digest, Header h) {
        long g = digest;
        for (int i = 0; i < h.k; i++, g *= BlockedFill.C) {
            long bit = Xxh3.mulhi(g, h.m);
            long at = (bit >>> 3) - from;
            if (at >= 0 && at < part.length) {
                part[(int) at] |= (byte) (1 << (bit & 7));
            }
        }
    }

    private static void raise(byte[] part, long from, long digest, Header h) {
        long g = digest;
        for (int i = 0; i < h.k; i++, g *= BlockedFill.C) {
            long counter = Xxh3.mulhi(g, h.m);
            long at = (counter >>> 1) - from;
            if (at >= 0 && at < part.length) {
                int low = (int) (counter & 1) * 4;
                if ((part[(int) at] >>> low & 15) != 15) {
                    part[(int) at] += (byte) (1 << low);
                }
            }
        }
    }
}
