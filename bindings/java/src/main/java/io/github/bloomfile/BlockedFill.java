// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;

/** The body of the blocked layout: digests that ascend fill page after page, each while it is in the cache. */
final class BlockedFill implements Digests.Sink {
    /** C of section 10. */
    static final long C = 0x9E3779B97F4A7C15L;
    private static final int BLOCKS = 64;
    /** Words of a block. */
    private static final int WORDS = 8;

    private final Sealer sealer;
    private final long firstBlock;
    private final long blocks;
    private final int k;
    private final long[] words = new long[BLOCKS * WORDS];
    private final byte[] page = new byte[Header.PAGE];
    private final LongBuffer pageWords = ByteBuffer.wrap(page).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
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
            set(words, (int) (block & BLOCKS - 1) * WORDS, digest, k);
        }
    }

    /** Sets the k bits of a digest in the block that begins at a word. */
    private static void set(long[] words, int block, long digest, int k) {
        long g = digest;
        for (int left = k; left > 0; left -= 6) {
            g *= C;
            long bits = g;
            for (int i = Math.min(6, left); i > 0; i--) {
                int s = (int) (bits >>> 55);
                bits <<= 9;
                words[block + (s >>> 6)] |= 1L << s;
            }
        }
    }

    private void advance(long to) throws IOException {
        while (current < to) {
            pageWords.put(words).rewind();
            sealer.page(page, 0);
            Arrays.fill(words, 0);
            current++;
        }
    }

    /** All digests were there: the rest of the pages. */
    void finish(long pages) throws IOException {
        advance(pages);
    }
}
