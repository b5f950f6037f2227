// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.nio.charset.StandardCharsets;

/** The bytes of the header of a sealed image: sections 6 and 7, and slices.md 1.1. */
final class HeaderEncoder {
    private HeaderEncoder() {
    }

    /**
     * Encodes the header of a sealed image: H bytes. Sets {@code headerCrc}, {@code recordCrc}, {@code state} and
     * {@code sequence}.
     *
     * @param h the fields; unknown bits and reserved bytes are written as zeros
     */
    static byte[] encode(Header h) {
        int size = h.headerSize;
        byte[] b = new byte[size];
        System.arraycopy(Header.MAGIC, 0, b, 0, Header.MAGIC.length);
        put(b, 8, 1);
        put(b, 12, size);
        put(b, 16, h.keyKind() != 0 ? Header.COMPAT_KEYS : 0);
        put(b, 24, h.incompat);
        put(b, 28, h.provenance);
        put(b, 32, h.layout.number());
        put(b, 36, h.hashId);
        put(b, 40, h.k);
        put(b, 44, h.keyKind());
        put(b, 48, h.m);
        put(b, 56, h.seed);
        put(b, 64, h.selfTest);
        put(b, 72, (long) size);
        put(b, 80, h.bodySize);
        put(b, 88, h.capacity);
        put(b, 96, h.fpr);
        put(b, 104, h.mUnfolded);
        System.arraycopy(h.tag, 0, b, 112, Header.TAG_SIZE);
        byte[] label = h.label.getBytes(StandardCharsets.UTF_8);
        System.arraycopy(label, 0, b, 128, label.length);
        if (h.isSlice()) {
            put(b, 240, h.firstBlock);
            put(b, 248, h.wholeBlocks);
            put(b, 256, h.keysRead);
            put(b, 264, h.keysElsewhere);
            put(b, 272, h.digestSum);
        }
        h.headerCrc = Header.crc(b, 0, size / 2 - 4);
        put(b, size / 2 - 4, h.headerCrc);
        record(h, b);
        return b;
    }

    /** Both records, which are identical. */
    private static void record(Header h, byte[] b) {
        int at = h.headerSize / 2;
        int size = h.headerSize / 4;
        h.sequence = Header.LAST_SEQUENCE;
        h.state = Header.SEALED;
        put(b, at, h.sequence);
        put(b, at + 8, h.state);
        put(b, at + 12, h.flags);
        put(b, at + 16, h.n);
        put(b, at + 24, h.ones);
        put(b, at + 32, h.overflow);
        put(b, at + 56, h.bodyCrc);
        put(b, at + 60, h.headerCrc);
        System.arraycopy(h.watermark, 0, b, at + 72, Header.WATERMARK_SIZE);
        h.recordCrc = Header.crc(b, at, size - 4);
        put(b, at + size - 4, h.recordCrc);
        System.arraycopy(b, at, b, at + size, size);
    }

    private static void put(byte[] b, int at, int value) {
        Header.INT.set(b, at, value);
    }

    private static void put(byte[] b, int at, long value) {
        Header.LONG.set(b, at, value);
    }
}
