// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Folds filters: operations.md 1 of the specification. A folded filter has the same keys in fewer bits, at a higher
 * false-positive rate. For the blocked and classic layouts. The source is verified. All methods are thread-safe, and
 * their output appears complete and on disk, or not at all.
 */
public final class Fold {
    private static final double USELESS = 0.5;

    private Fold() {
    }

    /**
     * Folds as far as the filter's target rate allows, as {@code bffold} does. If no factor keeps it, the
     * result is a copy.
     *
     * @param dst the file to write
     * @param src the filter
     * @param options options beyond the default; {@code dst} may be {@code src} with {@link WriteOption#REPLACE}
     * @return the factor, 1 of a copy
     * @throws BloomfileException EISRIBBON of the ribbon layout, ELAYOUT of counting, EISSERIES of a series, EISSLICE
     *     of a slice; or the source cannot be opened, or is damaged
     * @throws IOException if reading or writing fails
     */
    public static long fold(Path dst, Path src, WriteOption... options) throws IOException {
        try (SourceImage source = open(src)) {
            Header h = source.header;
            double promised = Double.longBitsToDouble(h.fpr);
            double limit = promised != 0 ? promised : Sizing.rate(h.layout, h.mUnfolded, h.capacity, h.k);
            return write(dst, source, Math.max(1, greatest(source, limit)), options);
        }
    }

    /**
     * Folds as far as a rate allows.
     *
     * @param dst the file to write
     * @param src the filter
     * @param fpr the rate, above 0 and below 1
     * @param options options beyond the default
     * @return the factor
     * @throws BloomfileException EOVERRATE: the source itself does not keep the rate; or as {@link #fold}
     * @throws IOException if reading or writing fails
     */
    public static long toRate(Path dst, Path src, double fpr, WriteOption... options) throws IOException {
        try (SourceImage source = open(src)) {
            source(src).check(fpr > 0 && fpr < 1, ErrorCode.EVALUE, "fpr " + fpr);
            long factor = greatest(source, fpr);
            source(src).check(factor != 0, ErrorCode.EOVERRATE, "it does not keep the rate as it is");
            return write(dst, source, factor, options);
        }
    }

    /**
     * Folds by a factor, without a limit on the rate.
     *
     * @param dst the file to write
     * @param src the filter
     * @param factor a divisor of the number of its blocks (blocked) or bits (classic); 1 copies
     * @param options options beyond the default
     * @throws BloomfileException EFACTOR: not a divisor; or as {@link #fold}
     * @throws IOException if reading or writing fails
     */
    public static void byFactor(Path dst, Path src, long factor, WriteOption... options) throws IOException {
        try (SourceImage source = open(src)) {
            source(src).check(factor >= 1 && cells(source.header) % factor == 0, ErrorCode.EFACTOR,
                    factor + " of " + cells(source.header));
            write(dst, source, factor, options);
        }
    }

    /**
     * Folds by the smallest factor that gives a file of at most {@code bytes} bytes.
     *
     * @param dst the file to write
     * @param src the filter
     * @param bytes the size, with header and checksums
     * @param options options beyond the default
     * @return the factor
     * @throws BloomfileException EFACTOR: no factor makes it so small; EOVERRATE: the rate would be above 50%; or as
     * {@link
     *     #fold}
     * @throws IOException if reading or writing fails
     */
    public static long toSize(Path dst, Path src, long bytes, WriteOption... options) throws IOException {
        try (SourceImage source = open(src)) {
            Header h = source.header;
            long cells = cells(h);
            long factor = 1;
            while (factor <= cells && (cells % factor != 0 || result(h, factor).imageSize() > bytes)) {
                factor = next(cells, factor);
            }
            source(src).check(factor <= cells, ErrorCode.EFACTOR, "it cannot have so few bytes as " + bytes);
            double rate = measure(source, factor).rate();
            source(src).check(factor == 1 || rate <= USELESS, ErrorCode.EOVERRATE,
                    "in " + bytes + " bytes its rate would be " + rate);
            return write(dst, source, factor, options);
        }
    }

    private static Header.Source source(Path src) {
        return new Header.Source("fold " + src, true);
    }

    private static SourceImage open(Path src) throws IOException {
        return new SourceImage(src, "fold " + src);
    }

    private static long cells(Header h) {
        return h.layout == Layout.BLOCKED ? h.m / 512 : h.m;
    }

    /** The next divisor after a factor; a number above all divisors after the last. */
    private static long next(long cells, long factor) {
        for (long f = factor + 1; f <= cells / f; f++) {
            if (cells % f == 0) {
                return f;
            }
        }
        // The divisors above the square root are the cofactors of the small divisors.
        for (long small = (long) Math.sqrt((double) cells) + 1; small >= 1; small--) {
            if (cells % small == 0 && cells / small > factor) {
                return cells / small;
            }
        }
        return cells + 1;
    }

    /** The greatest factor that keeps a rate, or 0. */
    private static long greatest(SourceImage source, double limit) throws IOException {
        Header h = source.header;
        Measure whole = measure(source, 1);
        long best = whole.rate() <= limit ? 1 : 0;
        long keys = (long) Math.min(whole.keys(), Header.MAX_BITS);
        long cells = cells(h);
        for (long f = next(cells, 1); f <= cells; f = next(cells, f)) {
            // Far from the limit the expected rate decides, without a count.
            if (Sizing.rate(h.layout, h.m / f, keys, h.k) > 20 * limit) {
                break;
            }
            if (measure(source, f).rate() <= limit) {
                best = f;
            }
        }
        return best;
    }

    private static Measure measure(SourceImage source, long factor) throws IOException {
        return Combined.body(result(source.header, factor), List.of(new FoldedSource(source, factor)), null);
    }

    private static Header result(Header source, long factor) {
        Header h = Combined.header(source, source.m / factor);
        h.mUnfolded = source.mUnfolded;
        h.tag = source.tag.clone();
        h.watermark = source.watermark.clone();
        h.label = source.label;
        return h;
    }

    private static long write(Path dst, SourceImage source, long factor, WriteOption... options) throws IOException {
        try (NewFile file = new NewFile(dst, options)) {
            Header h = result(source.header, factor);
            Sealer sealer = new Sealer(h, ImageOut.of(file.channel()));
            Combined.body(h, List.of(new FoldedSource(source, factor)), sealer);
            sealer.finish();
            file.publish(h.n != 0 || h.flags != 0);
        }
        return factor;
    }
}
