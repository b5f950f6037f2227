// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;

/** A source of an operation, folded by a factor as it is read: operations.md 1. */
final class FoldedSource {
    private static final int WORDS = Header.PAGE / 8;

    private final SourceImage source;
    private final long factor;
    /** Words of the source that have bits or blocks, and those that were read. */
    private final long words;
    private long read;
    /** Layout classic: the last bit of the result that was written, and the first bit of the source after it. */
    private long bit;
    private long boundary;

    FoldedSource(SourceImage source, long factor) {
        this.source = source;
        this.factor = factor;
        words = (source.header.m + 63) / 64;
        boundary = factor;
        source.rewind();
    }

    /** ORs the next page of the result, which has 4096 bytes. */
    void or(byte[] page) throws IOException {
        if (factor == 1) {
            for (int i = 0; i < WORDS && read < words; i++, read++) {
                or(page, 8 * i, source.word());
            }
        } else if (source.header.layout == Layout.CLASSIC) {
            bits(page);
        } else {
            blocks(page);
        }
    }

    private static void or(byte[] page, int at, long word) {
        Header.LONG.set(page, at, (long) Header.LONG.get(page, at) | word);
    }

    private void blocks(byte[] page) throws IOException {
        for (int block = 0; block < Header.PAGE && read < words; block += 64) {
            for (long i = 0; i < factor; i++) {
                for (int at = block; at < block + 64; at += 8) {
                    or(page, at, source.word());
                }
            }
            read += 8 * factor;
        }
    }

    /** Bit j of the result is the OR of bits f * j to f * j + f - 1. */
    private void bits(byte[] page) throws IOException {
        long first = read * 64 / factor;
        long count = Math.min(words - read, multiply(WORDS, factor));
        for (long i = 0; i < count; i++, read++) {
            long base = read * 64;
            for (long word = source.word(); word != 0; word &= word - 1) {
                long place = base + Long.numberOfTrailingZeros(word);
                if (place >= boundary) {
                    bit = place / factor;
                    boundary = (bit + 1) * factor;
                }
                int at = (int) (bit - first);
                page[at >>> 3 & Header.PAGE - 1] |= (byte) (1 << (at & 7));
            }
        }
    }

    private static long multiply(long a, long b) {
        return b > Long.MAX_VALUE / a ? Long.MAX_VALUE : a * b;
    }

    /** Reads and checks the rest of the source, after the last page of the result. */
    void finish() throws IOException {
        source.finish();
    }
}
