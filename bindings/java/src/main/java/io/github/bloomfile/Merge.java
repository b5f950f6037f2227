// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the union of several filters: operations.md 2 of the specification. For the blocked and classic layouts.
 * Sources of different sizes are folded to the greatest size that all of them fold to. Each source is verified as it is
 * read. An object holds the options of a merge; setting them is not thread-safe.
 */
public final class Merge {
    /** A rate may pass its limit by so many standard errors, which chance explains. */
    private static final double CHANCE = 3;
    /** The bit of provenance of a union. */
    private static final int UNION = 2;

    private boolean disjoint;
    private double limit;
    private String label = "";
    private byte[] tag = new byte[0];
    private byte[] watermark = new byte[0];

    /** The defaults: n is estimated, the rate is the highest that a source was made for, no label, tag or watermark. */
    public Merge() {
    }

    /**
     * Says that the sources have no key in common, so that n is the sum of theirs.
     *
     * @param value false is the default
     * @return this
     */
    public Merge disjoint(boolean value) {
        disjoint = value;
        return this;
    }

    /**
     * The false-positive rate that the union may have.
     *
     * @param rate above 0; 1 allows any
     * @return this
     */
    public Merge fpr(double rate) {
        limit = rate;
        return this;
    }

    /**
     * A text for people; those of the sources are not passed on.
     *
     * @param text at most 112 bytes of UTF-8, without control characters
     * @return this
     */
    public Merge label(String text) {
        label = text;
        return this;
    }

    /**
     * An identity for programs.
     *
     * @param bytes at most 16
     * @return this
     */
    public Merge tag(byte[] bytes) {
        tag = bytes.clone();
        return this;
    }

    /**
     * How far the keys are complete. Those of sources are not copied.
     *
     * @param bytes at most 32
     * @return this
     */
    public Merge watermark(byte[] bytes) {
        watermark = bytes.clone();
        return this;
    }

    /**
     * Unites filters with all defaults.
     *
     * @param dst as for {@link #write}
     * @param sources as for {@link #write}
     * @param options as for {@link #write}
     * @throws IOException as for {@link #write}
     */
    public static void union(Path dst, List<Path> sources, WriteOption... options) throws IOException {
        new Merge().write(dst, sources, options);
    }

    /**
     * Unites filters.
     *
     * @param dst the file to write, which appears complete and on disk, or not at all
     * @param sources sealed filters, of equal layout, k, seed and hash function; each once
     * @param options options beyond the default; with {@link WriteOption#OVERFULL} any rate
     * @throws BloomfileException EDIFFERENTLAYOUT, EDIFFERENTHASHCOUNT, EDIFFERENTSEED, EDIFFERENTHASH: they do not fit together;
     *     EOVERRATE: the rate would be too high; EISRIBBON of the layout ribbon, ELAYOUT of counting, EISSERIES of a series,
     *     EISSLICE of a slice; EVALUE: no source, or one twice; or one cannot be opened, or is damaged
     * @throws IOException if reading or writing fails
     */
    public void write(Path dst, List<Path> sources, WriteOption... options) throws IOException {
        new Params().label(label).tag(tag).watermark(watermark).check();
        List<SourceImage> images = new ArrayList<>();
        try (NewFile file = new NewFile(dst, options)) {
            for (int i = 0; i < sources.size(); i++) {
                for (Path other : sources.subList(0, i)) {
                    check(!Files.isSameFile(sources.get(i), other), ErrorCode.EVALUE, sources.get(i),
                            "it is there twice, also as " + other);
                }
                images.add(new SourceImage(sources.get(i), "merge " + sources.get(i)));
                checkFits(images.get(0).header, images.get(i).header, sources.get(i));
            }
            check(!images.isEmpty(), ErrorCode.EVALUE, dst, "no filters to merge");
            Header h = write(images, file, dst, WriteOption.has(options, WriteOption.OVERFULL));
            file.publish(h.n != 0 || h.flags != 0);
        } finally {
            for (SourceImage image : images) {
                image.close();
            }
        }
    }

    private static void check(boolean holds, ErrorCode code, Path path, String detail) throws BloomfileException {
        new Header.Source("merge " + path, true).check(holds, code, detail);
    }

    private static void checkFits(Header a, Header b, Path path) throws BloomfileException {
        check(a.layout == b.layout, ErrorCode.EDIFFERENTLAYOUT, path, b.layout + ", not " + a.layout);
        boolean sameTest = a.selfTest == b.selfTest || a.hashId == Header.XXH3; // of which it depends on the seed
        check(a.hashId == b.hashId && sameTest, ErrorCode.EDIFFERENTHASH, path, null);
        check(a.k == b.k, ErrorCode.EDIFFERENTHASHCOUNT, path, b.k + ", not " + a.k);
        check(a.seed == b.seed, ErrorCode.EDIFFERENTSEED, path, null);
    }

    private Header write(List<SourceImage> images, NewFile file, Path dst, boolean anyRate) throws IOException {
        Header h = header(images, dst);
        List<FoldedSource> folded = new ArrayList<>();
        for (SourceImage image : images) {
            folded.add(new FoldedSource(image, image.header.m / h.m));
        }
        Sealer sealer = new Sealer(h, ImageOut.of(file.channel()));
        Measure measure = Combined.body(h, folded, sealer);
        double promised = limit != 0 ? limit : Double.longBitsToDouble(h.fpr);
        double passed = measure.rate() - CHANCE * measure.chance();
        check(anyRate || promised == 0 || passed <= promised, ErrorCode.EOVERRATE, dst,
                String.format("in %d bits the rate would be %.3g, not %.3g", h.m, measure.rate(), promised));
        count(h, images, measure);
        sealer.finish();
        return h;
    }

    private Header header(List<SourceImage> images, Path dst) throws BloomfileException {
        Header first = images.get(0).header;
        long m = 0;
        for (SourceImage image : images) {
            m = divisor(image.header.m, m);
        }
        Header h = Combined.header(first, m);
        h.provenance |= UNION;
        for (SourceImage image : images) {
            Header source = image.header;
            h.capacity = Math.max(h.capacity, source.capacity);
            h.fpr = Math.max(h.fpr, source.fpr); // numbers from +0 on are in the order of their bits
            h.provenance |= source.provenance & SliceJoin.KNOWN_PROVENANCE;
        }
        Combined.setKeyKind(h, keyKind(images, dst));
        h.label = label;
        System.arraycopy(tag, 0, h.tag, 0, tag.length);
        System.arraycopy(watermark, 0, h.watermark, 0, watermark.length);
        return h;
    }

    /** The kind of the union: known kinds must be equal, and lower-case text unites only with itself (operations.md 2). */
    private static int keyKind(List<SourceImage> images, Path dst) throws BloomfileException {
        int known = 0;
        boolean unknown = false;
        for (SourceImage image : images) {
            int kind = image.header.keyKind();
            unknown |= kind == 0;
            known = known == 0 ? kind : known;
        }
        for (SourceImage image : images) {
            int kind = image.header.keyKind();
            check(kind == known || Header.knowsKeyKind(kind) && Header.knowsKeyKind(known), ErrorCode.EFEATURE, dst, null);
            check(kind == known || kind == 0 && known != KeyKind.LOWER, ErrorCode.EKEYKIND, dst, null);
        }
        return unknown ? 0 : known;
    }

    private static long divisor(long a, long b) {
        return b == 0 ? a : divisor(b, a % b);
    }

    /** n, by operations.md 6. */
    private void count(Header h, List<SourceImage> images, Measure measure) {
        long sum = 0;
        int withKeys = 0;
        Header only = null;
        boolean estimated = false;
        for (SourceImage image : images) {
            sum += image.header.n;
            estimated |= (image.header.flags & Header.FLAG_ESTIMATED) != 0;
            if (image.header.n != 0 || (image.header.flags & Header.FLAG_ESTIMATED) != 0) {
                withKeys++;
                only = image.header;
            }
        }
        h.flags = 0;
        if (disjoint) {
            h.n = sum;
            h.flags = estimated ? Header.FLAG_ESTIMATED : 0;
        } else if (withKeys == 0) {
            h.n = 0;
        } else if (withKeys == 1 && only.flags == 0) {
            h.n = only.n;
        } else {
            h.n = Math.round(Math.min(measure.keys(), Header.MAX_BITS));
            h.flags = Header.FLAG_ESTIMATED;
        }
    }
}
