// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * The header of one image, sections 6 and 7, slices.md 2.1 and 1.1, of the specification: the static header, and the commit record
 * in force. Fields have the names and values of the tables there; u32 and u64 are to be read as unsigned.
 */
final class Header {
    /** H in file form. */
    static final int FILE = 4096;
    /** H in embedded form. */
    static final int EMBEDDED = 512;
    static final int PAGE = 4096;

    static final int XXH3 = 1;
    static final int COMPAT_KEYS = 1;
    /** The names of kinds of keys; their places are their numbers. */
    static final List<String> KEY_KINDS = List.of("unknown", "text", "lower", "integers", "fixed", "bytes");
    static final int KEYS_FIXED = 4;
    static final int INCOMPAT_LAYER = 1;
    static final int INCOMPAT_SLICE = 2;
    static final int LIVE = 1;
    static final int SEALED = 2;
    static final int POISONED = 3;
    static final int FLAG_ESTIMATED = 1;
    static final int FLAG_SYNCHRONISING = 2;
    /** The sequence of a sealed record. */
    static final long LAST_SEQUENCE = -1;

    static final int LABEL_SIZE = 112;
    static final int TAG_SIZE = 16;
    static final int WATERMARK_SIZE = 32;
    static final int MAX_HASHES = 64;
    static final int MAX_LAYERS = 1000;
    /** The greatest m and capacity. */
    static final long MAX_BITS = 1L << 60;
    /** 1.0, of which a rate is less, as its bits. */
    private static final long ONE = 0x3FF0000000000000L;

    static final byte[] MAGIC = {(byte) 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n'};
    /** The magic number after a transfer in text mode. */
    private static final byte[][] TEXT_MODES = {
        {(byte) 0xBF, 'B', 'L', 'M', '\n', 0x1A, '\n'},
        {(byte) 0xBF, 'B', 'L', 'M', '\r', '\r', '\n', 0x1A, '\r', '\n'},
        {(byte) 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\r', '\n'},
        {(byte) 0xBF, 'B', 'L', 'M', '\r', '\r', 0x1A, '\r'},
        {(byte) 0xBF, 'B', 'L', 'M', '\n', '\n', 0x1A, '\n'},
        {'?', 'B', 'L', 'M', '\r', '\n', 0x1A, '\n'},
    };

    static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    int version = 1;
    /** H. */
    int headerSize;
    int compat;
    int roCompat;
    int incompat;
    int provenance;
    Layout layout;
    int hashId = XXH3;
    int k;
    /** As stored; it means something only with {@link #COMPAT_KEYS}. */
    int keyKind;
    long m;
    long seed;
    long selfTest;
    long bodySize;
    long capacity;
    /** The bits of {@code fpr}. */
    long fpr;
    long mUnfolded;
    byte[] tag = new byte[TAG_SIZE];
    String label = "";
    int headerCrc;

    /** Fields of a layer, else 0. */
    long series;
    long layer;
    int generations;
    int layers;
    long restSize;
    long link;
    /** The bits of {@code series_fpr}. */
    long seriesFpr;
    long period;
    long began;

    /** Fields of a slice, else 0. */
    long firstBlock;
    long wholeBlocks;
    long keysRead;
    long keysElsewhere;
    long digestSum;

    /** Fields of the record in force. */
    long sequence;
    int state;
    int flags;
    long n;
    long ones;
    long overflow;
    byte[] bootId = new byte[16];
    int bodyCrc;
    int writers;
    byte[] watermark = new byte[WATERMARK_SIZE];
    int recordCrc;
    byte[] identity = new byte[16];

    boolean isLayer() {
        return (incompat & INCOMPAT_LAYER) != 0;
    }

    boolean isSlice() {
        return (incompat & INCOMPAT_SLICE) != 0;
    }

    /** Kind and size of the keys, as stored; 0 if unknown. */
    int keyKind() {
        return (compat & COMPAT_KEYS) != 0 ? keyKind : 0;
    }

    static boolean knowsKeyKind(int kind) {
        return (kind & 0xFF) < KEY_KINDS.size() && ((kind & 0xFF) == KEYS_FIXED) == (kind >>> 8 != 0);
    }

    /** The blocks of the filter that digests are spread over: of a slice those of its whole. */
    long blocks() {
        return isSlice() ? wholeBlocks : m / 512;
    }

    long pages() {
        return bodySize / PAGE + (bodySize % PAGE != 0 ? 1 : 0);
    }

    /** The size of the image, at most 2^61. */
    long imageSize() {
        return headerSize + bodySize + 4 * pages();
    }

    /** The required value of S: the size of the image, or of the series from this layer on, unsigned. */
    private long wantedSize() {
        return layers != 0 ? restSize : imageSize();
    }

    /** The source of a header, and the kinds of filters that it may have. */
    static final class Source {
        /** The action for messages, such as {@code "open users.bloom"}. */
        final String attempted;
        /** Whether hash functions of applications are accepted: app-hashes.md. */
        final boolean applications;
        /** Returns whether the record in force may be live: live.md. */
        boolean live;
        /** The remedy in the error for a refused live filter. */
        String liveRemedy = ErrorCode.ELIVE.remedy();

        Source(String attempted, boolean applications) {
            this.attempted = attempted;
            this.applications = applications;
        }

        BloomfileException error(ErrorCode code, String detail) {
            return new BloomfileException(code, attempted, detail);
        }

        void check(boolean holds, ErrorCode code, String detail) throws BloomfileException {
            if (!holds) {
                throw error(code, detail);
            }
        }
    }

    /**
     * Decodes the header of a sealed image, and checks all rules of section 13, including those of layers and slices.
     *
     * @param head the first bytes of the image: {@link #FILE} of them, or all
     * @param size S
     */
    static Header decode(byte[] head, long size, Source source) throws BloomfileException {
        Header h = new Header();
        h.headerSize = startOf(head, size, source);
        source.check(size >= h.headerSize, ErrorCode.ETRUNCATED, size + " bytes"); // V5
        h.decodeStatic(head, source);
        h.checkSize(size, source);
        h.decodeRecords(head, source);
        return h;
    }

    /**
     * The size of an image in a stream, or of the series that it begins, from its first bytes, unsigned.
     *
     * @param head H bytes
     */
    static long sizeInStream(byte[] head, Source source) throws BloomfileException {
        Header h = new Header();
        h.headerSize = startOf(head, Long.MAX_VALUE, source);
        h.decodeStatic(head, source);
        return h.wantedSize();
    }

    /** Rules V1 to V4. Returns H. */
    static int startOf(byte[] head, long size, Source source) throws BloomfileException {
        source.check(size >= 1, ErrorCode.EEMPTY, null); // V1
        if (!begins(head, size, MAGIC)) { // V2
            for (byte[] pattern : TEXT_MODES) {
                source.check(Math.min(size, pattern.length) < 6 || !begins(head, size, pattern),
                        ErrorCode.ETEXTMODE, null);
            }
            throw source.error(ErrorCode.EMAGIC, null);
        }
        source.check(size >= 16, ErrorCode.ETRUNCATED, size + " bytes"); // V3
        int headerSize = u32(head, 12);
        source.check(headerSize == FILE || headerSize == EMBEDDED, ErrorCode.EFORM, // V4
                Integer.toUnsignedString(headerSize));
        return headerSize;
    }

    static boolean begins(byte[] head, long size, byte[] pattern) {
        int length = (int) Math.min(size, pattern.length);
        return Arrays.equals(head, 0, length, pattern, 0, length);
    }

    /** Rules V6 to V25. */
    private void decodeStatic(byte[] b, Source source) throws BloomfileException {
        headerCrc = u32(b, headerSize / 2 - 4);
        source.check(headerCrc == crc(b, 0, headerSize / 2 - 4), ErrorCode.EHEADER, null); // V6
        version = u32(b, 8);
        source.check(version == 1, ErrorCode.EVERSION, Integer.toUnsignedString(version)); // V7
        compat = u32(b, 16);
        roCompat = u32(b, 20);
        incompat = u32(b, 24);
        int unknown = incompat & ~(INCOMPAT_LAYER | INCOMPAT_SLICE);
        source.check(unknown == 0, ErrorCode.EFEATURE, "bit " + Integer.numberOfTrailingZeros(unknown)); // V8
        provenance = u32(b, 28);
        layout = Layout.of(u32(b, 32));
        source.check(layout != null, ErrorCode.ELAYOUT, Integer.toUnsignedString(u32(b, 32))); // V9
        hashId = u32(b, 36);
        source.check(hashId == XXH3 || hashId < 0 && source.applications, ErrorCode.EHASH, // V10
                String.format("0x%08x", hashId));
        seed = u64(b, 56);
        selfTest = u64(b, 64);
        source.check(hashId != XXH3 || selfTest == Xxh3.selfTest(seed), ErrorCode.ESELFTEST, null); // V11
        k = u32(b, 40);
        source.check(layout == Layout.RIBBON ? k == 0 : k >= 1 && k <= MAX_HASHES, ErrorCode.EHASHCOUNT, // V12
                Integer.toUnsignedString(k));
        keyKind = u32(b, 44);
        m = u64(b, 48);
        source.check(m >= 1 && m <= MAX_BITS && (!layout.hasBlocks() || m % 512 == 0), ErrorCode.EBITS, // V13
                Long.toUnsignedString(m));
        bodySize = u64(b, 80);
        source.check(u64(b, 72) == headerSize && bodySize == layout.bodySize(m, headerSize), // V14
                ErrorCode.EOFFSET, null);
        capacity = u64(b, 88);
        source.check(capacity >= 1 && capacity <= MAX_BITS, ErrorCode.ECAPACITY, // V15
                Long.toUnsignedString(capacity));
        fpr = u64(b, 96);
        source.check(isRate(fpr), ErrorCode.ERATE, null); // V16
        mUnfolded = u64(b, 104);
        source.check(mUnfolded >= m && mUnfolded <= MAX_BITS && mUnfolded % m == 0 // V17
                && (layout != Layout.RIBBON || mUnfolded == m), ErrorCode.EUNFOLDED, Long.toUnsignedString(mUnfolded));
        System.arraycopy(b, 112, tag, 0, TAG_SIZE);
        label = labelIn(b);
        source.check(label != null, ErrorCode.ELABEL, null); // V18
        if (isSlice()) {
            decodeSlice(b, source);
        } else if (isLayer()) {
            decodeLayer(b, source);
        }
    }

    private void decodeLayer(byte[] b, Source source) throws BloomfileException {
        series = u64(b, 240);
        layer = u64(b, 248);
        generations = u32(b, 256);
        layers = u32(b, 260);
        restSize = u64(b, 264);
        link = u64(b, 272);
        seriesFpr = u64(b, 280);
        period = u64(b, 288);
        began = u64(b, 296);
        source.check(headerSize == FILE && (layout == Layout.BLOCKED || layout == Layout.CLASSIC), // V21
                ErrorCode.ESERIES, "in this form or layout there are none");
        if (layers == 0) { // V22
            source.check(series != 0 && restSize == 0 && link == 0 && (generations == 0
                    ? layer >= 0 && layer <= 999 && fpr != 0 && seriesFpr != 0 && period == 0 && began == 0
                    : generations >= 2 && generations <= MAX_LAYERS && layer >= 0), ErrorCode.ESERIES, "of a live one");
        } else {
            source.check(layers > 0 && layers <= MAX_LAYERS && layer >= 0 && layer < layers && series == 0 // V23
                    && generations == 0 && period == 0 && began == 0, ErrorCode.ESERIES, null);
            long end = (imageSize() + PAGE - 1) / PAGE * PAGE;
            source.check(layer == layers - 1 ? restSize == imageSize() : Long.compareUnsigned(restSize, end) > 0, // V25
                    ErrorCode.ESERIES, null);
        }
        source.check(isRate(seriesFpr), ErrorCode.ESERIES, "its rate"); // V24
    }

    private void decodeSlice(byte[] b, Source source) throws BloomfileException {
        firstBlock = u64(b, 240);
        wholeBlocks = u64(b, 248);
        keysRead = u64(b, 256);
        keysElsewhere = u64(b, 264);
        digestSum = u64(b, 272);
        source.check(headerSize == FILE && !isLayer() && layout == Layout.BLOCKED && mUnfolded == m, // V19
                ErrorCode.ESLICE, null);
        source.check(wholeBlocks >= 0 && wholeBlocks <= 1L << 51 && firstBlock >= 0 && firstBlock < wholeBlocks // V20
                && firstBlock % 64 == 0 && m / 512 <= wholeBlocks - firstBlock
                && (m / 512 == wholeBlocks - firstBlock || m / 512 % 64 == 0), ErrorCode.ESLICE, null);
    }

    /** Rules V26 and V27. */
    private void checkSize(long size, Source source) throws BloomfileException {
        long wanted = wantedSize();
        source.check(Long.compareUnsigned(size, wanted) >= 0, ErrorCode.ETRUNCATED,
                size + " bytes of " + Long.toUnsignedString(wanted));
        source.check(size <= wanted, ErrorCode.ETRAILING, size + " bytes, not " + wanted);
    }

    /** Rules V28 to V36. */
    private void decodeRecords(byte[] b, Source source) throws BloomfileException {
        int size = headerSize / 4;
        int first = headerSize / 2;
        int second = first + size;
        boolean firstIntact = isIntact(b, first, size);
        boolean secondIntact = isIntact(b, second, size);
        boolean identical = Arrays.equals(b, first, second, b, second, second + size);
        source.check(firstIntact || secondIntact, ErrorCode.ERECORD, null); // V28
        source.check(!firstIntact || !secondIntact || u64(b, first) != u64(b, second) || identical,
                ErrorCode.ERECORD, null);
        boolean firstCounts = firstIntact
                && (!secondIntact || Long.compareUnsigned(u64(b, first), u64(b, second)) >= 0);
        int at = firstCounts ? first : second;
        int other = firstCounts ? second : first;
        boolean otherIntact = firstIntact && secondIntact;
        sequence = u64(b, at);
        state = u32(b, at + 8);
        flags = u32(b, at + 12);
        n = u64(b, at + 16);
        ones = u64(b, at + 24);
        overflow = u64(b, at + 32);
        System.arraycopy(b, at + 40, bootId, 0, bootId.length);
        bodyCrc = u32(b, at + 56);
        writers = u32(b, at + 64);
        System.arraycopy(b, at + 72, watermark, 0, WATERMARK_SIZE);
        recordCrc = u32(b, at + size - 4);
        boolean sealed = state == SEALED;
        boolean mayLive = headerSize == FILE && layout != Layout.RIBBON && !isSlice();
        source.check(sealed || (state == LIVE || state == POISONED) && mayLive, ErrorCode.ESTATE, // V29
                "state " + Integer.toUnsignedString(state));
        source.check(sealed == (sequence == LAST_SEQUENCE), ErrorCode.ESTATE, null);
        source.check(ones >= 0 && ones <= m && overflow >= 0 && overflow <= ones // V30
                && (overflow == 0 || layout == Layout.COUNTING)
                && (sealed ? u64(b, at + 40) == 0 && u64(b, at + 48) == 0 : bodyCrc == 0), ErrorCode.ESTATE, null);
        boolean inFile = headerSize == FILE;
        source.check(!inFile || sealed == (u64(b, at + 128) == 0 && u64(b, at + 136) == 0), ErrorCode.ESTATE, null); // V31
        source.check(!inFile || !otherIntact || sealed || u32(b, other + 8) != LIVE && u32(b, other + 8) != POISONED // V32
                || Arrays.equals(b, at + 128, at + 144, b, other + 128, other + 144), ErrorCode.ERECORD, null);
        source.check(!sealed || identical || mayLive && otherIntact && u32(b, other + 8) == LIVE // V33
                && u64(b, other) != LAST_SEQUENCE, ErrorCode.ERECORD, null);
        source.check(!isLayer() || sealed == (layers != 0), ErrorCode.ESERIES, null); // V34
        source.check(sealed || u32(b, at + 8) != POISONED && u32(b, other + 8) != POISONED, // V35
                ErrorCode.EPOISONED, null);
        source.check(sealed || !isLayer(), ErrorCode.ELIVE, "a series"); // V36
        if (!sealed && !source.live) {
            throw new BloomfileException(ErrorCode.ELIVE, source.attempted, ErrorCode.ELIVE.meaning(), source.liveRemedy);
        }
        System.arraycopy(b, inFile ? at + 128 : at, identity, 0, inFile ? identity.length : 0);
    }

    private boolean isIntact(byte[] b, int at, int size) {
        return u32(b, at + size - 4) == crc(b, at, size - 4) && u32(b, at + 60) == headerCrc;
    }

    /** Returns whether these are the bits of a number from +0 on and below 1. */
    static boolean isRate(long bits) {
        return bits >= 0 && bits < ONE;
    }

    /** The label, or null if it is not valid by section 6. */
    private static String labelIn(byte[] b) {
        int end = 128 + LABEL_SIZE;
        int length = 0;
        while (length < LABEL_SIZE && b[128 + length] != 0) {
            length++;
        }
        for (int i = 128 + length; i < end; i++) {
            if (b[i] != 0) {
                return null;
            }
        }
        return isCleanText(b, 128, length) ? new String(b, 128, length, StandardCharsets.UTF_8) : null;
    }

    /** Returns whether bytes are UTF-8 as RFC 3629 has it, without control characters. */
    static boolean isCleanText(byte[] b, int off, int length) {
        int end = off + length;
        int i = off;
        while (i < end) {
            int c = b[i++] & 0xFF;
            int more = c < 0x80 ? 0 : c < 0xC2 ? -1 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : -1;
            if (more < 0 || more > end - i) {
                return false;
            }
            int point = more == 0 ? c : c & 0x3F >> more;
            for (int j = 0; j < more; j++) {
                int d = b[i++] & 0xFF;
                if ((d & 0xC0) != 0x80) {
                    return false;
                }
                point = point << 6 | d & 0x3F;
            }
            boolean overlong = more == 2 && point < 0x800 || more == 3 && point < 0x10000;
            boolean surrogate = point >= 0xD800 && point < 0xE000;
            boolean control = point < 0x20 || point >= 0x7F && point < 0xA0;
            if (overlong || surrogate || control || point > 0x10FFFF) {
                return false;
            }
        }
        return true;
    }

    /** CRC-32 of section 12.1. */
    static int crc(byte[] b, int off, int length) {
        CRC32 crc = new CRC32();
        crc.update(b, off, length);
        return (int) crc.getValue();
    }

    static int u32(byte[] b, int at) {
        return (int) INT.get(b, at);
    }

    static long u64(byte[] b, int at) {
        return (long) LONG.get(b, at);
    }
}
