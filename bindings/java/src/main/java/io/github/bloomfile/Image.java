// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * One sealed image: its header, and its body in buffers, with the lookups of sections 10 and 11, ribbon.md and slices.md 1. Any number of
 * threads may use it.
 *
 * <p>A page counts only after its checksum was found right, which is remembered; if its checksum is wrong, all keys of the page are
 * <em>maybe</em>.
 */
final class Image {
    /** The bytes after the header are in buffers of this size, a multiple of the page size; the last may be smaller. */
    static final int CHUNK_SHIFT = 30;
    private static final int CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;
    private static final int PAGES_SHIFT = CHUNK_SHIFT - 12;

    private static final long C = 0x9E3779B97F4A7C15L;
    private static final long D = 0xD1B54A32D192ED03L;
    /** Lookups of a batch that are under way together, so that they wait for memory at the same time. */
    private static final int GROUP = 64;
    /** Returns whether copying from a lost page throws an error; older Java VMs may copy anything. */
    private static final boolean FAULTS_ARE_ERRORS = Runtime.version().feature() >= 14;
    /** The blocks that a processor has near enough not to wait for. */
    private static final long NEAR = 1 << 15;

    /** All pages are known to be right. */
    private static final int TRUSTED = 0;
    /** Pages are checked when they are first needed. */
    private static final int CHECKING = 1;
    /** The body contradicts the header: every answer is maybe. */
    private static final int BROKEN = 2;

    private static final VarHandle MODE = field(MethodHandles.lookup(), "mode", int.class);
    private static final byte RIGHT = 1;
    private static final byte WRONG = 2;
    /** The page was good before the file may have been written to. */
    private static final byte STALE = 3;

    /** An unreadable block counts as all ones. */
    private static final byte[] ONES = new byte[64];

    static {
        Arrays.fill(ONES, (byte) -1);
    }

    final Header header;
    /** Body and page checksums. Little-endian, from index 0 on. */
    private final ByteBuffer[] chunks;
    private final ByteBuffer first;

    private final Layout layout;
    private final int k;
    private final long m;
    /** Blocks (lines) that digests are spread over, and those of them that are here. */
    private final long blocks;
    private final long firstBlock;
    private final long ownBlocks;

    /**
     * Not volatile, because lookups would take 1.5 times as long. A thread may see a change by another thread a little
     * later. Read in opaque mode: with plain reads, a loop of lookups might never see it.
     */
    private int mode;
    private final boolean unchecked;
    /** Calls of {@link #forget}. This and the next three are written under the lock of this. */
    private volatile int forgotten;
    /** 0, {@link #RIGHT}, {@link #WRONG} or {@link #STALE} for each page, in an array for each chunk, made when it is needed. */
    private final byte[][] known;
    /** The number of pages in state {@link #RIGHT}; the next, in state {@link #WRONG}. */
    private long right;
    private volatile long wrong;
    private final Doubts doubts;
    /** The number of this image, in a series. */
    private final int number;

    /** Takes the reports of an image. */
    interface Doubts {
        void found(ErrorCode code, String detail);
    }

    /**
     * An image.
     *
     * @param chunks the bytes after the header; at least one buffer
     * @param trusted whether pages are not to be checked
     */
    Image(Header header, ByteBuffer[] chunks, boolean trusted, int number, Doubts doubts) {
        this.header = header;
        this.chunks = new ByteBuffer[chunks.length];
        for (int i = 0; i < chunks.length; i++) {
            // Read-only buffers are of one class, so that calls stay direct.
            this.chunks[i] = chunks[i].asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
        }
        first = this.chunks[0];
        layout = header.layout;
        k = header.k;
        m = header.m;
        blocks = header.blocks();
        firstBlock = header.firstBlock;
        ownBlocks = m / 512;
        known = new byte[(int) (header.pages() - 1 >> PAGES_SHIFT) + 1][];
        mode = trusted ? TRUSTED : CHECKING;
        unchecked = trusted;
        this.number = number;
        this.doubts = doubts;
    }

    /** A field of the class that looks it up. */
    static VarHandle field(MethodHandles.Lookup lookup, String name, Class<?> type) {
        try {
            return lookup.findVarHandle(lookup.lookupClass(), name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private ByteBuffer chunk(long offset) {
        return offset >>> CHUNK_SHIFT == 0 ? first : chunks[(int) (offset >>> CHUNK_SHIFT)];
    }

    /** Copies bytes from an offset in the body on. */
    void read(long offset, byte[] to, int length) {
        int done = 0;
        while (done < length) {
            ByteBuffer from = chunk(offset + done).duplicate();
            from.position((int) (offset + done) & CHUNK_MASK);
            int now = Math.min(length - done, from.remaining());
            from.get(to, done, now);
            done += now;
        }
    }

    private int pageSize(long page) {
        return (int) Math.min(Header.PAGE, header.bodySize - page * Header.PAGE);
    }

    /** Returns whether the page with this byte of the body can be relied on. */
    private boolean relies(long offset) {
        int now = (int) MODE.getOpaque(this);
        return now == TRUSTED || now == CHECKING && isRight(offset >>> 12);
    }

    private boolean isRight(long page) {
        byte[] of = known[(int) (page >>> PAGES_SHIFT)];
        byte state = of == null ? 0 : of[(int) page & (1 << PAGES_SHIFT) - 1];
        return state == RIGHT || state != WRONG && check(page);
    }

    private boolean check(long page) {
        byte[] bytes = new byte[pageSize(page)];
        int before = forgotten;
        read(page * Header.PAGE, bytes, bytes.length);
        boolean isRight = Header.crc(bytes, 0, bytes.length) == expected(page);
        remember(page, isRight, before);
        return isRight;
    }

    private void remember(long page, boolean isRight, int before) {
        byte was = mark(page, isRight, before);
        if (!isRight && was != WRONG) {
            // a page that was good was overwritten, so earlier answers may have been wrong
            doubts.found(was == 0 ? ErrorCode.EPAGE : ErrorCode.ECHANGED, "page " + page + where());
        }
    }

    /** The CRC-32 that a page must have. */
    private int expected(long page) {
        long at = header.bodySize + 4 * page;
        return chunk(at).getInt((int) at & CHUNK_MASK) ^ header.bodyCrc;
    }

    /**
     * Notes the result of a check, and returns the state before. A page found right before a write must not count as right
     * after it, not even for a moment: so {@link #forget} holds the same lock.
     *
     * @param before {@link #forgotten} before the page was read
     */
    synchronized byte mark(long page, boolean isRight, int before) {
        int i = (int) (page >>> PAGES_SHIFT);
        int at = (int) page & (1 << PAGES_SHIFT) - 1;
        if (known[i] == null) {
            known[i] = new byte[(int) Math.min(1L << PAGES_SHIFT, header.pages() - ((long) i << PAGES_SHIFT))];
        }
        byte was = known[i][at];
        if (was == WRONG || isRight && was == RIGHT) {
            return was;
        }
        byte now = !isRight ? WRONG : forgotten == before ? RIGHT : STALE;
        known[i][at] = now;
        right += (now == RIGHT ? 1 : 0) - (was == RIGHT ? 1 : 0);
        if (now == WRONG) {
            wrong++;
            change(TRUSTED, CHECKING);
        } else if (right == header.pages() && wrong == 0) {
            change(CHECKING, TRUSTED);
        }
        return was;
    }

    /**
     * Makes pages that were found good be checked again before answers rely on them, because the file may have been
     * written to.
     */
    synchronized void forget() {
        if (unchecked) {
            return;
        }
        forgotten++; // pages that are being read do not count
        change(TRUSTED, CHECKING);
        for (byte[] of : known) {
            for (int i = 0; of != null && i < of.length; i++) {
                of[i] = of[i] == RIGHT ? STALE : of[i];
            }
        }
        right = 0;
    }

    /** The number of calls of {@link #forget}. */
    int forgotten() {
        return forgotten;
    }

    private synchronized boolean isStale(int i, int j) {
        return known[i][j] == STALE;
    }

    /** Checks the pages that answers relied on before {@link #forget}. */
    void recheck() {
        for (int i = 0; forgotten != 0 && i < known.length; i++) {
            for (int j = 0; known[i] != null && j < known[i].length; j++) {
                if (isStale(i, j)) {
                    check(((long) i << PAGES_SHIFT) + j);
                }
            }
        }
    }

    private synchronized void change(int from, int to) {
        mode = mode == from ? to : mode;
    }

    private String where() {
        return header.isLayer() ? " of layer " + number : "";
    }

    /** Returns the number of pages that were found damaged. */
    long wrongPages() {
        return wrong;
    }

    /** Returns whether a key of this digest may be in the image. */
    boolean mayContain(long digest) {
        return layout == Layout.BLOCKED ? blocked(digest) : layout == Layout.RIBBON ? ribbon(digest) : scattered(digest);
    }

    /**
     * Returns true if a digest is certainly not in the image. Tests a copy of the bytes, and does not check the end of
     * the file. False proves nothing.
     *
     * <p>After a read from an unreadable page, compiled code continues with the old content of a register, but a copy
     * leaves its target unchanged: zeros. Truncated parts of a file also read as zeros, or not at all. So a zero bit
     * counts only if its <em>byte</em> is not zero: then the byte existed, and a byte is read as a whole.
     */
    boolean isSurelyAbsent(long digest) {
        if (!FAULTS_ARE_ERRORS) {
            return false;
        }
        if (layout == Layout.BLOCKED) {
            long offset = blockOf(digest);
            return offset >= 0 && lacks(chunk(offset), (int) offset & CHUNK_MASK, digest * C, k);
        }
        return layout != Layout.RIBBON && lacksCell(digest);
    }

    private boolean lacksCell(long digest) {
        boolean counts = layout == Layout.COUNTING;
        long g = digest;
        for (int i = 0; i < k; i++, g *= C) {
            long x = reduce(g, m);
            if (!isSet(x)) {
                long offset = counts ? x >>> 1 : x >>> 3;
                int near = copy(offset & -8, new byte[8])[(int) offset & 7];
                return near != 0 && (counts ? near >>> ((x & 1) << 2) & 15 : near >>> (x & 7) & 1) == 0;
            }
        }
        return false;
    }

    /**
     * Returns whether one of the first six bits of a digest is zero in a copy of the block at an index, within a
     * nonzero byte.
     */
    private static boolean lacks(ByteBuffer c, int at, long g, int k) {
        byte[] block = new byte[64];
        Copies.copy(c, at, block);
        // No jumps: the processor cannot predict which bit is the first zero.
        int some = zero(block, g);
        some |= k > 1 ? zero(block, g << 9) : 0;
        some |= k > 2 ? zero(block, g << 18) : 0;
        some |= k > 3 ? zero(block, g << 27) : 0;
        some |= k > 4 ? zero(block, g << 36) : 0;
        some |= k > 5 ? zero(block, g << 45) : 0;
        return some < 0;
    }

    /** A negative number if the bit that the first nine bits of g name is zero, in a byte that is not. */
    private static int zero(byte[] block, long g) {
        int near = block[(int) (g >>> 58)] & 255;
        return -near & (near >>> ((int) (g >>> 55) & 7) & 1) - 1;
    }

    /** Returns whether a digest is absent, provided that the file was not truncated: see {@link Tail}. */
    boolean isAbsent(long digest) {
        if (layout == Layout.BLOCKED) {
            return isAbsentInBlock(copy(reduce(digest, blocks) - firstBlock << 6, ONES.clone()), digest);
        }
        if (layout == Layout.RIBBON) {
            long page = reduce(digest, blocks) >>> 6 << 12;
            return !columns(page, digest, Header.u64(copy(page, new byte[8]), 0), true);
        }
        long g = digest;
        for (int i = 0; i < k; i++) {
            long x = reduce(g, m);
            if (!isSet(x) && isZero(x)) {
                return true;
            }
            g *= C;
        }
        return false;
    }

    private boolean isAbsentInBlock(byte[] block, long digest) {
        long g = digest;
        for (int i = 0, shift = 0; i < k; i++, shift -= 9) {
            if (i % 6 == 0) {
                g *= C;
                shift = 55;
            }
            int s = (int) (g >>> shift) & 511;
            if ((block[s >>> 3] >>> (s & 7) & 1) == 0) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a bit or counter is zero in a copy. */
    private boolean isZero(long x) {
        boolean counts = layout == Layout.COUNTING;
        long offset = counts ? x >>> 1 : x >>> 3;
        int near = copy(offset & -64, ONES.clone())[(int) offset & 63];
        return (counts ? near >>> ((x & 1) << 2) & 15 : near >>> (x & 7) & 1) == 0;
    }

    /** Copies bytes of one page over an array. A copy that fails leaves these: see {@link Tail}. */
    private byte[] copy(long offset, byte[] over) {
        Copies.copy(chunk(offset), (int) offset & CHUNK_MASK, over);
        return over;
    }

    /** Where the block of a digest begins in the body, or -1 if it is not here or not known to be right. */
    private long blockOf(long digest) {
        long b = reduce(digest, blocks) - firstBlock;
        long offset = b << 6;
        return b >= 0 && b < ownBlocks && relies(offset) ? offset : -1;
    }

    private boolean blocked(long digest) {
        long offset = blockOf(digest);
        return offset < 0 || block(chunk(offset), (int) offset & CHUNK_MASK, digest, k);
    }

    /** Returns whether all k bits of a digest are one in the block at an index. */
    private static boolean block(ByteBuffer c, int at, long g, int k) {
        int left = k;
        for (;;) {
            g *= C;
            if (left < 6) {
                break;
            }
            int s0 = (int) (g >>> 55);
            int s1 = (int) (g >>> 46);
            int s2 = (int) (g >>> 37);
            int s3 = (int) (g >>> 28);
            int s4 = (int) (g >>> 19);
            int s5 = (int) (g >>> 10);
            // No jump in between: whether a bit is one cannot be foreseen.
            if ((bit(c, at, s0) & bit(c, at, s1) & bit(c, at, s2)
                    & bit(c, at, s3) & bit(c, at, s4) & bit(c, at, s5) & 1) == 0) {
                return false;
            }
            left -= 6;
        }
        long all = 1;
        for (int shift = 55; left > 0; left--, shift -= 9) {
            all &= bit(c, at, (int) (g >>> shift));
        }
        return all != 0;
    }

    /** A number of which the lowest bit is bit s mod 512 of a block. */
    private static long bit(ByteBuffer c, int at, int s) {
        return c.getLong(at + (s >>> 3 & 56)) >>> s;
    }

    private boolean scattered(long digest) {
        long g = digest;
        for (int i = 0; i < k; i++) {
            if (!isSet(reduce(g, m))) {
                return false;
            }
            g *= C;
        }
        return true;
    }

    /** Returns whether a bit is one, or a counter above 0, or its page cannot be relied on. */
    private boolean isSet(long x) {
        if (layout == Layout.COUNTING) {
            long offset = x >>> 1;
            return !relies(offset) || (byteAt(offset) >>> ((x & 1) << 2) & 15) != 0;
        }
        long offset = x >>> 3;
        return !relies(offset) || (byteAt(offset) >>> (x & 7) & 1) != 0;
    }

    private int byteAt(long offset) {
        return chunk(offset).get((int) offset & CHUNK_MASK);
    }

    private boolean ribbon(long digest) {
        long line = reduce(digest, blocks);
        long page = line >>> 6 << 12;
        return !relies(page) || columns(page, digest, headAt(page), false);
    }

    private long headAt(long page) {
        return chunk(page).getLong((int) page & CHUNK_MASK);
    }

    /** Returns whether a digest fulfils its equations in the page of this offset and head: ribbon.md 4. */
    private boolean columns(long page, long digest, long head, boolean copied) {
        int words = words(page >>> 12);
        if (!isHead(head, words)) {
            return true;
        }
        int q = (int) head & 0xFFFF;
        if (q == 0) {
            return true;
        }
        long h = (mix(digest ^ D, C) ^ (head >>> 16 & 127) * C) * D;
        int b = (int) ((h >>> 32) * (q - 1) >>> 32);
        long a = mix(h ^ 0x8CB92BA72F3D8DD7L, C);
        int r = Math.min(32, words / q);
        int few = r == 32 ? q : q * (r + 1) - words;
        int c = b < few ? r : r + 1;
        int place = 8 + 4 * (b * r + Math.max(0, b - few));
        if (copied) {
            return fulfils(page + place, c, a, h);
        }
        ByteBuffer bytes = chunk(page);
        int x = ((int) page & CHUNK_MASK) + place;
        int next = x + 4 * c;
        for (int j = 0; j < c; j++) {
            // Not a sign-extended int: on x86 the Java VM crashes where that instruction cannot read a page.
            long pair = bytes.getInt(x + 4 * j) & 0xFFFFFFFFL | bytes.getLong(next + 4 * j - 4) & -1L << 32;
            if (((Long.bitCount(pair & a) ^ h >>> j) & 1) != 0) {
                return false;
            }
        }
        return true;
    }

    /** Like the method above, on a copy. Two copies of unreadable bytes differ. */
    private boolean fulfils(long offset, int c, long a, long h) {
        byte[] columns = copy(offset, new byte[8 * c]);
        byte[] again = new byte[8 * c];
        Arrays.fill(again, (byte) -1);
        if (!Arrays.equals(columns, copy(offset, again))) {
            return true;
        }
        for (int j = 0; j < c; j++) {
            long pair = Header.u32(columns, 4 * j) & 0xFFFFFFFFL | (long) Header.u32(columns, 4 * (c + j)) << 32;
            if (((Long.bitCount(pair & a) ^ h >>> j) & 1) != 0) {
                return false;
            }
        }
        return true;
    }

    /** W of a page: ribbon.md 2. */
    private int words(long page) {
        return 16 * (int) Math.min(64, ownBlocks - 64 * page) - 2;
    }

    private static boolean isHead(long head, int words) {
        int q = (int) head & 0xFFFF;
        return (head >>> 23 & 511) == 0 && (q == 0 || q >= 2 && q <= words / 2);
    }

    private static long mix(long a, long b) {
        return Xxh3.mulhi(a, b) ^ a * b;
    }

    /** mulhi of an unsigned number and one from 0 to 2^63 - 1. */
    static long reduce(long g, long size) {
        return Math.multiplyHigh(g, size) + (g >> 63 & size);
    }

    /** Looks up digests. Sets {@code out} to true for those that may be present, and leaves the others unchanged. */
    void mayContain(long[] digests, int off, int length, boolean[] out, int outOff) {
        Group group = new Group();
        for (int i = 0; i < length; i += GROUP) {
            int now = Math.min(GROUP, length - i);
            switch (layout) {
                case BLOCKED:
                    blocked(digests, off + i, now, out, outOff + i, group);
                    break;
                case RIBBON:
                    ribbon(digests, off + i, now, out, outOff + i, group);
                    break;
                default:
                    scattered(digests, off + i, now, out, outOff + i, group);
                    break;
            }
        }
    }

    /** Room for a group of lookups. */
    private static final class Group {
        final long[] offsets = new long[GROUP];
        final long[] words = new long[GROUP];
        final int[] indices = new int[GROUP];
        long touched;
    }

    private void blocked(long[] in, int off, int length, boolean[] out, int outOff, Group group) {
        if ((int) MODE.getOpaque(this) == TRUSTED && chunks.length == 1 && ownBlocks == blocks) {
            group.touched = blocks(first, blocks, k, in, off, length, out, outOff, group.indices);
            return;
        }
        for (int i = 0; i < length; i++) {
            out[outOff + i] |= blocked(in[off + i]);
        }
    }

    /** A whole, trusted body in one buffer. Returns a sum of the bytes touched, so that the compiler keeps these reads. */
    private static long blocks(ByteBuffer c, long blocks, int k, long[] in, int off, int length, boolean[] out,
            int outOff, int[] left) {
        long touched = 0;
        if (blocks > NEAR) {
            // The accesses to memory: all are under way before the first is needed.
            for (int i = 0; i < length; i++) {
                touched += c.get((int) reduce(in[off + i], blocks) << 6);
            }
        }
        int count = 0;
        if (k < 3) {
            for (int i = 0; i < length; i++) {
                left[count++] = i;
            }
        } else {
            // Those of which one bit is set, and of these, those of which two more are: without a jump for each.
            for (int i = 0; i < length; i++) {
                long g = in[off + i];
                left[count] = i;
                count += (int) (bit(c, (int) reduce(g, blocks) << 6, (int) (g * C >>> 55)) & 1);
            }
            int still = 0;
            for (int j = 0; j < count; j++) {
                int i = left[j];
                int at = (int) reduce(in[off + i], blocks) << 6;
                long g = in[off + i] * C;
                left[still] = i;
                still += (int) (bit(c, at, (int) (g >>> 46)) & bit(c, at, (int) (g >>> 37)) & 1);
            }
            count = still;
        }
        for (int j = 0; j < count; j++) {
            int i = left[j];
            if (block(c, (int) reduce(in[off + i], blocks) << 6, in[off + i], k)) {
                out[outOff + i] = true;
            }
        }
        return touched;
    }

    private void scattered(long[] in, int off, int length, boolean[] out, int outOff, Group group) {
        long[] g = group.words;
        int[] left = group.indices;
        for (int i = 0; i < length; i++) {
            g[i] = in[off + i];
            left[i] = i;
        }
        int count = length;
        for (int i = 0; i < k && count > 0; i++) {
            int still = 0;
            for (int j = 0; j < count; j++) {
                int which = left[j];
                boolean set = isSet(reduce(g[which], m));
                g[which] *= C;
                left[still] = which;
                still += set ? 1 : 0;
            }
            count = still;
        }
        for (int j = 0; j < count; j++) {
            out[outOff + left[j]] = true;
        }
    }

    private void ribbon(long[] in, int off, int length, boolean[] out, int outOff, Group group) {
        long[] pages = group.offsets;
        long[] heads = group.words;
        for (int i = 0; i < length; i++) {
            long page = reduce(in[off + i], blocks) >>> 6 << 12;
            pages[i] = relies(page) ? page : -1;
            heads[i] = pages[i] < 0 ? 0 : headAt(page);
        }
        for (int i = 0; i < length; i++) {
            if (pages[i] < 0 || columns(pages[i], in[off + i], heads[i], false)) {
                out[outOff + i] = true;
            }
        }
    }

    /** Verifies the whole body: section 12.4. Returns the error, or null. */
    BloomfileException verify(String attempted) {
        CRC32 whole = new CRC32();
        byte[] bytes = new byte[Header.PAGE];
        long ones = 0;
        long overflow = 0;
        long beyond = 0;
        long keys = 0;
        boolean heads = true;
        boolean many = false;
        long lowest = -1;
        long used = layout == Layout.COUNTING ? 4 * m : m;
        for (long page = 0; page < header.pages(); page++) {
            int size = pageSize(page);
            int before = forgotten;
            read(page * Header.PAGE, bytes, size);
            boolean isRight = Header.crc(bytes, 0, size) == expected(page);
            remember(page, isRight, before);
            lowest = !isRight && lowest < 0 ? page : lowest;
            whole.update(bytes, 0, size);
            for (int i = 0; i < size; i += 8) {
                long word = Header.u64(bytes, i);
                ones += count(word);
                overflow += full(word);
                long at = 8 * (page * Header.PAGE + i);
                beyond |= at >= used ? word : at + 64 > used ? word >>> used - at : 0;
            }
            if (layout == Layout.RIBBON) {
                long head = Header.u64(bytes, 0);
                heads &= isHead(head, words(page));
                many |= head >>> 32 == 0xFFFFFFFFL;
                keys += head >>> 32;
            }
        }
        if (lowest >= 0) {
            return new BloomfileException(ErrorCode.EPAGE, attempted, "page " + lowest + where());
        }
        String what = (int) whole.getValue() != header.bodyCrc ? "its checksum"
                : ones != header.ones ? "its number of ones"
                : overflow != header.overflow ? "its number of full counters"
                : beyond != 0 ? "bits beyond m"
                : !heads ? "a head of a page"
                : layout == Layout.RIBBON && keys != header.n && !(many && Long.compareUnsigned(keys, header.n) < 0)
                ? "its number of keys" : null;
        if (what == null) {
            return null;
        }
        synchronized (this) { // not by change(): another thread may be changing it the other way
            mode = BROKEN;
        }
        doubts.found(ErrorCode.EBODY, what + where());
        return new BloomfileException(ErrorCode.EBODY, attempted, what + where());
    }

    /** The bits that are one, or counters above 0. */
    private long count(long word) {
        if (layout != Layout.COUNTING) {
            return Long.bitCount(word);
        }
        long any = word | word >>> 1;
        return Long.bitCount((any | any >>> 2) & 0x1111111111111111L);
    }

    /** The counters that are 15. */
    private long full(long word) {
        if (layout != Layout.COUNTING) {
            return 0;
        }
        long all = word & word >>> 1;
        return Long.bitCount(all & all >>> 2 & 0x1111111111111111L);
    }
}
