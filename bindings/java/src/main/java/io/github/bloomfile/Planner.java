// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** Makes the header of a new filter from parameters. */
final class Planner {
    /** A filter without a target rate is refused above this rate. */
    private static final double USELESS = 0.5;

    private Planner() {
    }

    /** Returns whether m and k depend on how many distinct keys there will be. */
    static boolean needsKeys(Params p) {
        return p.capacity == 0 && (p.bits == 0 || p.hashes == 0 && p.layout != Layout.RIBBON);
    }

    /**
     * m and k, of a slice those of the whole.
     *
     * @param n the number of keys, if {@link #needsKeys}
     */
    static Sizing size(Params p, long n) throws BloomfileException {
        long keys = p.capacity != 0 ? p.capacity : Math.max(1, n);
        return p.bits != 0 ? Sizing.given(p.layout, p.bits, p.hashes, keys)
                : Sizing.of(p.layout, keys, rate(p), p.hashes);
    }

    private static double rate(Params p) {
        return p.fpr != 0 ? p.fpr : p.bits == 0 ? Params.DEFAULT_FPR : 0;
    }

    /** The static header. */
    static Header header(Params p, Sizing sizing) throws BloomfileException {
        Header h = new Header();
        h.headerSize = p.embedded ? Header.EMBEDDED : Header.FILE;
        h.layout = p.layout;
        h.hashId = p.hashId;
        h.selfTest = p.hashId == Header.XXH3 ? Xxh3.selfTest(p.seed) : p.selfTest;
        h.seed = p.seed;
        h.k = sizing.k;
        h.m = sizing.m;
        h.keyKind = p.keyKindNumber();
        h.compat = h.keyKind != 0 ? Header.COMPAT_KEYS : 0;
        h.capacity = p.capacity;
        h.fpr = Double.doubleToRawLongBits(rate(p));
        System.arraycopy(p.tag, 0, h.tag, 0, p.tag.length);
        System.arraycopy(p.watermark, 0, h.watermark, 0, p.watermark.length);
        h.label = p.label;
        if (p.slices != 0) {
            Slices.Range range = Slices.range(sizing.m, p.slices, p.slice);
            h.incompat = Header.INCOMPAT_SLICE;
            h.firstBlock = range.firstBlock;
            h.wholeBlocks = sizing.m / 512;
            h.m = range.blocks * 512;
        }
        h.mUnfolded = h.m;
        h.bodySize = h.layout.bodySize(h.m, h.headerSize);
        return h;
    }

    /**
     * Throws if a filter is over capacity, under the conditions of {@code bfcreate}. For the ribbon layout, the actual
     * rate counts.
     *
     * @param solved the actual rate of the ribbon layout
     */
    static void checkRate(Header h, boolean planned, double solved, String name) throws BloomfileException {
        boolean ribbon = h.layout == Layout.RIBBON;
        double rate = ribbon ? solved : Sizing.rate(h.layout, h.m, h.n, h.k);
        double promised = Double.longBitsToDouble(h.fpr);
        if (promised == 0 && planned && !ribbon) {
            promised = Sizing.rate(h.layout, h.isSlice() ? h.wholeBlocks * 512 : h.m, h.capacity, h.k);
        }
        double limit = promised != 0 ? 2 * promised : USELESS;
        if (h.n != 0 && rate > limit) {
            throw new BloomfileException(ErrorCode.EFULL, "make " + name, String.format(
                    "%d keys, a rate of %.3g, more than %.3g", h.n, rate, limit));
        }
    }
}
