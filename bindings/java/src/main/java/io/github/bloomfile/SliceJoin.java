// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32;

/** Joining slices: slices.md 1.3. */
final class SliceJoin {
    /** The bits of provenance that this version defines. */
    static final int KNOWN_PROVENANCE = 7;
    private static final int STRETCH = 64 * Header.PAGE;

    /** The header of the result. */
    final Header whole = new Header();
    private final List<Part> parts = new ArrayList<>();

    private static final class Part {
        final SliceSource source;
        final Header header;
        /** 65536 headers would be 256 MiB. */
        final long headHash;

        Part(SliceSource source) throws IOException {
            this.source = source;
            byte[] head = new byte[Header.FILE];
            int length;
            try (InputStream in = source.open()) {
                length = in.readNBytes(head, 0, head.length);
            }
            long size = source.length();
            Header.Source read = new Header.Source("join " + name(), true);
            read.check(length >= Math.min(size, head.length), ErrorCode.ETRUNCATED, length + " bytes of " + size);
            header = Header.decode(head, size, read);
            headHash = Xxh3.hash(head, 0);
        }

        String name() {
            return source.name();
        }

        long end() {
            return header.firstBlock + header.m / 512;
        }
    }

    /** Reads and compares all headers before any body is read. */
    SliceJoin(List<? extends SliceSource> slices, WriteOption... options) throws IOException {
        for (SliceSource source : slices) {
            Part part = new Part(source);
            if (!part.header.isSlice()) {
                throw incomplete("join " + part.name(), "it is not a slice");
            }
            parts.add(part);
        }
        if (parts.isEmpty()) {
            throw incomplete("join slices", "no slices were given");
        }
        parts.sort(Comparator.comparingLong(part -> part.header.firstBlock));
        long next = 0;
        Part first = parts.get(0);
        for (Part part : parts) {
            checkEqual(first, part);
            if (part.header.firstBlock < next) {
                throw incomplete("join " + part.name(), "another slice has the block " + part.header.firstBlock + " already");
            }
            checkNext(next, part.header.firstBlock);
            next = part.end();
        }
        checkNext(next, first.header.wholeBlocks);
        if (!WriteOption.has(options, WriteOption.ACCEPT_INCOMPLETE)) {
            checkKeys();
        }
        describe(first.header);
    }

    /** Keys that a slice left out are certainly in another slice only if all slices were given the same keys. */
    private void checkKeys() throws BloomfileException {
        Header first = parts.get(0).header;
        Part leavesOut = null;
        Part other = null;
        for (Part part : parts) {
            leavesOut = part.header.keysElsewhere != 0 ? part : leavesOut;
            boolean same = part.header.keysRead == first.keysRead && part.header.digestSum == first.digestSum;
            other = same ? other : part;
        }
        if (leavesOut != null && other != null) {
            throw incomplete("join " + leavesOut.name(), "it omits " + Long.toUnsignedString(leavesOut.header.keysElsewhere)
                    + " keys, and no other slice may have them: " + parts.get(0).name() + " and " + other.name()
                    + " were made from different keys");
        }
    }

    private void checkNext(long next, long found) throws BloomfileException {
        if (next != found) {
            throw incomplete("join slices", "blocks " + next + " to " + (found - 1) + " are missing");
        }
    }

    private static BloomfileException incomplete(String attempted, String detail) {
        return new BloomfileException(ErrorCode.EINCOMPLETE, attempted, detail);
    }

    private static void checkEqual(Part a, Part b) throws BloomfileException {
        Header x = a.header;
        Header y = b.header;
        String what = x.hashId != y.hashId ? "hash function" : x.k != y.k ? "k" : x.seed != y.seed ? "seed"
                : x.selfTest != y.selfTest ? "hash function" : x.keyKind() != y.keyKind() ? "kind of keys" : x.capacity != y.capacity ? "capacity"
                : x.fpr != y.fpr ? "rate" : !Arrays.equals(x.tag, y.tag) ? "tag" : !x.label.equals(y.label) ? "label"
                : (x.provenance ^ y.provenance) << 29 != 0 ? "provenance" : x.wholeBlocks != y.wholeBlocks ? "size" : null;
        if (what != null) {
            throw incomplete("join " + b.name(), "it is a slice of a different filter than " + a.name() + ": the " + what + " differs");
        }
    }

    private void describe(Header first) {
        whole.headerSize = Header.FILE;
        whole.layout = first.layout;
        whole.hashId = first.hashId;
        whole.selfTest = first.selfTest;
        whole.seed = first.seed;
        whole.k = first.k;
        Combined.setKeyKind(whole, first.keyKind());
        whole.capacity = first.capacity;
        whole.fpr = first.fpr;
        whole.tag = first.tag.clone();
        whole.label = first.label;
        whole.provenance = first.provenance & KNOWN_PROVENANCE;
        whole.m = first.wholeBlocks * 512;
        whole.mUnfolded = whole.m;
        whole.bodySize = whole.layout.bodySize(whole.m, whole.headerSize);
        for (Part part : parts) {
            Header h = part.header;
            whole.ones += h.ones;
            long sum = whole.n + h.n;
            boolean overflow = Long.compareUnsigned(sum, h.n) < 0;
            whole.n = overflow ? -1 : sum;
            whole.flags |= h.flags & Header.FLAG_ESTIMATED | (overflow ? Header.FLAG_ESTIMATED : 0);
            whole.bodyCrc = Crc.combine(whole.bodyCrc, h.bodyCrc, h.bodySize);
        }
    }

    /** Writes the whole, and verifies each slice as it passes by. */
    void write(OutputStream out) throws IOException {
        if (whole.pages() > Integer.MAX_VALUE - 8) {
            throw new BloomfileException(ErrorCode.ETOOBIG, "join slices", whole.bodySize + " bytes");
        }
        int[] sums = new int[(int) whole.pages()];
        out.write(HeaderEncoder.encode(whole));
        int page = 0;
        for (Part part : parts) {
            body(part, sums, page, out);
            page += (int) part.header.pages();
        }
        byte[] entries = new byte[STRETCH];
        for (int from = 0; from < sums.length; from += STRETCH / 4) {
            int count = Math.min(STRETCH / 4, sums.length - from);
            for (int i = 0; i < count; i++) {
                Header.INT.set(entries, 4 * i, sums[from + i] ^ whole.bodyCrc);
            }
            out.write(entries, 0, 4 * count);
        }
    }

    /** Copies the body of a slice, and verifies it by section 12.4. */
    private static void body(Part part, int[] sums, int firstPage, OutputStream out) throws IOException {
        Header h = part.header;
        byte[] b = new byte[STRETCH];
        CRC32 crc = new CRC32();
        long ones = 0;
        boolean clean = true;
        try (InputStream in = part.source.open()) {
            fill(in, b, Header.FILE, part);
            if (Xxh3.hash(b, 0, Header.FILE, 0) != part.headHash) {
                throw new BloomfileException(ErrorCode.ECHANGED, "join " + part.name(), null);
            }
            int page = firstPage;
            for (long at = 0; at < h.bodySize; at += STRETCH) {
                int length = (int) Math.min(STRETCH, h.bodySize - at);
                fill(in, b, length, part);
                crc.update(b, 0, length);
                for (int i = 0; i < length; i += Header.PAGE) {
                    sums[page++] = Header.crc(b, i, Header.PAGE);
                }
                for (int i = 0; i < length; i += 8) {
                    long x = Header.u64(b, i);
                    ones += Long.bitCount(x);
                    clean &= x == 0 || at + i < h.m / 8;
                }
                out.write(b, 0, length);
            }
            entries(in, part, sums, firstPage);
        }
        if ((int) crc.getValue() != h.bodyCrc || ones != h.ones || !clean) {
            throw new BloomfileException(ErrorCode.EBODY, "join " + part.name(), null);
        }
    }

    private static void entries(InputStream in, Part part, int[] sums, int firstPage) throws IOException {
        byte[] entries = new byte[STRETCH];
        long pages = part.header.pages();
        for (long from = 0; from < pages; from += STRETCH / 4) {
            int count = (int) Math.min(STRETCH / 4, pages - from);
            fill(in, entries, 4 * count, part);
            for (int i = 0; i < count; i++) {
                long page = from + i;
                if ((Header.u32(entries, 4 * i) ^ part.header.bodyCrc) != sums[(int) (firstPage + page)]) {
                    throw new BloomfileException(ErrorCode.EPAGE, "join " + part.name(), "page " + page);
                }
            }
        }
    }

    private static void fill(InputStream in, byte[] b, int length, Part part) throws IOException {
        if (in.readNBytes(b, 0, length) != length) {
            throw new EOFException("cannot join " + part.name() + ": it shrank while it was read");
        }
    }
}
