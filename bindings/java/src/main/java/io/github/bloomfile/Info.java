// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.math.BigInteger;
import java.util.Locale;

/**
 * The fields of a filter's header: sections 6 and 7, slices.md 2 and 1, of the specification. A series has the fields of one of its
 * layers where they differ.
 */
public final class Info {
    private final Header h;
    private final int layers;

    Info(Header header, int layers) {
        h = header;
        this.layers = layers;
    }

    /**
     * The layout.
     *
     * @return never null
     */
    public Layout layout() {
        return h.layout;
    }

    /**
     * m: the number of bits, or in the counting layout of counters.
     *
     * @return 1 to 2^60
     */
    public long bits() {
        return h.m;
    }

    /**
     * k: the bits (counters) of a key.
     *
     * @return 1 to 64; ribbon: 0
     */
    public int hashes() {
        return h.k;
    }

    /**
     * The seed of the hash function.
     *
     * @return any 64 bits
     */
    public long seed() {
        return h.seed;
    }

    /**
     * n: the number of distinct keys.
     *
     * @return the number, unsigned
     */
    public long keys() {
        return h.n;
    }

    /**
     * Returns whether n is an estimate.
     *
     * @return true if it is
     */
    public boolean keysEstimated() {
        return (h.flags & Header.FLAG_ESTIMATED) != 0;
    }

    /**
     * The bits that are one, or in the counting layout the counters above 0.
     *
     * @return 0 to m
     */
    public long ones() {
        return h.ones;
    }

    /**
     * In the counting layout, the counters that stay at 15.
     *
     * @return 0 to {@link #ones}
     */
    public long overflow() {
        return h.overflow;
    }

    /**
     * The keys that the filter was sized for.
     *
     * @return 1 to 2^60
     */
    public long capacity() {
        return h.capacity;
    }

    /**
     * The false-positive rate that the filter was sized for.
     *
     * @return less than 1; 0 if it was not recorded
     */
    public double fpr() {
        return Double.longBitsToDouble(h.fpr);
    }

    /**
     * m of the filter before it was folded.
     *
     * @return a multiple of m; m if it was never folded
     */
    public long unfoldedBits() {
        return h.mUnfolded;
    }

    /**
     * The caller's tag.
     *
     * @return 16 bytes, a copy
     */
    public byte[] tag() {
        return h.tag.clone();
    }

    /**
     * The watermark that a program recorded with its last sync: the filter has all keys up to it.
     *
     * @return 32 bytes, a copy; zero if it was not recorded
     */
    public byte[] watermark() {
        return h.watermark.clone();
    }

    /**
     * The label.
     *
     * @return text without control characters, of at most 112 bytes in UTF-8
     */
    public String label() {
        return h.label;
    }

    /**
     * The kind of the keys.
     *
     * @return {@code unknown}, {@code text}, {@code lower}, {@code integers}, {@code fixed} with a size, {@code bytes}, or
     *     {@code newer} if this version does not know it
     */
    public String keyKind() {
        return keyKind(h.keyKind());
    }

    static String keyKind(int kind) {
        String name = Header.knowsKeyKind(kind) ? Header.KEY_KINDS.get(kind & 0xFF) : "newer";
        return name.equals("fixed") ? "fixed " + (kind >>> 8) : name;
    }

    /**
     * The hash function.
     *
     * @return 1 for XXH3; a negative number, 0x80000000 or more unsigned, for an application's own function
     */
    public int hashId() {
        return h.hashId;
    }

    /**
     * The value that the hash function returns for a known input. Together with {@link #hashId} it identifies an
     * application's function.
     *
     * @return any 64 bits
     */
    public long selfTest() {
        return h.selfTest;
    }

    /**
     * Returns the operations by which the filter was made, as bits: 1 intersection, 2 union, 4 projection.
     *
     * @return bits; a newer version may set more
     */
    public int provenance() {
        return h.provenance;
    }

    /**
     * Returns whether the header has 512 bytes, as in an image inside another file, instead of 4096.
     *
     * @return whether it has
     */
    public boolean isEmbedded() {
        return h.headerSize == Header.EMBEDDED;
    }

    /**
     * The size of the image.
     *
     * @return bytes
     */
    public long size() {
        return h.imageSize();
    }

    /**
     * Returns the number of layers of the series.
     *
     * @return 1 to 1000; 1 if it is not a series
     */
    public int layers() {
        return layers;
    }

    /**
     * Returns whether the filter was live when it was opened: counts and watermark are those of the last sync before
     * that.
     *
     * @return whether it was
     */
    public boolean isLive() {
        return h.state == Header.LIVE;
    }

    /**
     * Returns whether it is a slice, which answers <em>maybe</em> to all keys outside its range.
     *
     * @return true if it is
     */
    public boolean isSlice() {
        return h.isSlice();
    }

    /**
     * The first block of a slice in the whole filter.
     *
     * @return 0 to {@link #wholeBlocks} - 1; 0 if it is not a slice
     */
    public long firstBlock() {
        return h.firstBlock;
    }

    /**
     * The blocks of the whole filter that a slice belongs to.
     *
     * @return 1 to 2^51; 0 if it is not a slice
     */
    public long wholeBlocks() {
        return h.wholeBlocks;
    }

    /**
     * The keys that a slice was made from, repetitions and keys of other slices included.
     *
     * @return as an unsigned number; 0 if it is not a slice
     */
    public long keysRead() {
        return h.keysRead;
    }

    /**
     * The keys of {@link #keysRead} that belong to other slices and were left out.
     *
     * @return as an unsigned number; 0 if it is not a slice
     */
    public long keysElsewhere() {
        return h.keysElsewhere;
    }

    /**
     * The sum of the digests of all {@link #keysRead} of a slice, modulo 2^64.
     *
     * @return as an unsigned number; 0 if it is not a slice
     */
    public long digestSum() {
        return h.digestSum;
    }

    /**
     * The main facts in one line. Its form may change.
     *
     * @return such as {@code blocked, 1,250,304 bytes, 1,000,000 keys (text) of 1,000,000, fpr 0.01, k 7}
     */
    @Override
    public String toString() {
        StringBuilder s = new StringBuilder(h.layout.toString().toLowerCase(Locale.ROOT));
        s.append(", ").append(grouped(size())).append(" bytes, ").append(keysEstimated() ? "about " : "")
                .append(grouped(keys())).append(" keys (").append(keyKind()).append(") of ").append(grouped(capacity()));
        if (fpr() != 0) {
            s.append(", fpr ").append(fpr());
        }
        if (hashes() != 0) {
            s.append(", k ").append(hashes());
        }
        if (layers > 1) {
            s.append(", newest of ").append(layers).append(" layers");
        }
        if (isLive()) {
            s.append(", live");
        }
        if (isSlice()) {
            s.append(", a slice");
        }
        return label().isEmpty() ? s.toString() : s.append(", \"").append(label()).append('"').toString();
    }

    private static String grouped(long number) {
        return String.format(Locale.ROOT, "%,d", new BigInteger(Long.toUnsignedString(number)));
    }
}
