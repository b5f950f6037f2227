// SPDX-License-Identifier: MIT
package bloomfile;

import java.io.IOException;
import java.util.Arrays;

/** The body of the layout blocked: digests that ascend fill page after page, each while it is in the cache. */
final class BlockedFill implements Digests.Sink {
    /** C of section 8. */
    static final long C = 0x9E3779B97F4A7C15L;
    private static final int BLOCKS = 64;

    private final Sealer sealer;
    private final long firstBlock;
    private final long blocks;
    private final int k;
    private final byte[] page = new byte[Header.PAGE];
    private long current;

    BlockedFill(Header header, Sealer sealer) {
        this.sealer = sealer;
        firstBlock = header.firstBlock;
        blocks = header.blocks();
        k = header.k;
    }

    @Override
    public void accept(long[] digests, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            long digest = digests[i];
            long block = Xxh3.mulhi(digest, blocks) - firstBlock;
            if (block >>> 6 != current) {
                advance(block >>> 6);
            }
            set(page, (int) (block & BLOCKS - 1) * 64, digest, k);
        }
    }

    /** Sets the k bits of a digest in the block of 64 bytes that begins at {@code at}. */
    static void set(byte[] page, int at, long digest, int k) {
        long g = digest;
        int left = k;
        while (left > 0) {
            g *= C;
            int slices = Math.min(6, left);
            long bits = g;
            for (int i = 0; i < slices; i++) {
                int s = (int) (bits >>> 55);
                bits <<= 9;
                int word = at + (s >>> 6 << 3);
                Header.LONG.set(page, word, (long) Header.LONG.get(page, word) | 1L << s);
            }
            left -= slices;
        }
    }

    private void advance(long to) throws IOException {
        while (current < to) {
            sealer.page(page, 0);
            Arrays.fill(page, (byte) 0);
            current++;
        }
    }

    /** All digests were there: the rest of the pages. */
    void finish(long pages) throws IOException {
        advance(pages);
    }
}
