// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.util.Objects;

/**
 * The kinds of keys that filters accept: section 6 of the specification. Kinds are as the header stores them, with the
 * size of records.
 */
final class KeyKind {
    static final int UNKNOWN = 0;
    static final int TEXT = 1;
    static final int LOWER = 2;
    static final int INTEGERS = 3;
    static final int BYTES = 5;

    private KeyKind() {
    }

    /**
     * Throws if a key does not fit.
     *
     * @param filter the kind of the filter's keys
     * @param key {@link #TEXT}, {@link #INTEGERS} or {@link #BYTES}
     * @param size of bytes; -1 if it is not known yet
     */
    static void check(int filter, int key, int size, String attempted) throws BloomfileException {
        if (!Header.knowsKeyKind(filter)) {
            throw new BloomfileException(ErrorCode.EFEATURE, attempted, "the kind of its keys");
        }
        if (!accepts(filter, key, size)) {
            String given = key == BYTES && size >= 0 ? size + " bytes" : Header.KEY_KINDS.get(key);
            throw new BloomfileException(ErrorCode.EKEYKIND, attempted, "filter: " + Info.keyKind(filter) + ", key: " + given);
        }
    }

    private static boolean accepts(int filter, int key, int size) {
        switch (filter & 0xFF) {
            case UNKNOWN: return true;
            case INTEGERS: return key == INTEGERS; // not 8 bytes: those of ByteBuffer.putLong are in the wrong order
            case Header.KEYS_FIXED: return key == BYTES && (size == filter >>> 8 || size < 0);
            case BYTES: return key == BYTES;
            default: return key != INTEGERS;
        }
    }

    /** The digest of a key that fits; lower-case text is folded first. */
    static long digest(int filter, byte[] b, int off, int len, long seed) {
        if (filter != LOWER) {
            return Xxh3.hash(b, off, len, seed);
        }
        Objects.checkFromIndexSize(off, len, b.length);
        byte[] lower = new byte[len];
        for (int i = 0; i < len; i++) {
            byte c = b[off + i];
            lower[i] = c >= 'A' && c <= 'Z' ? (byte) (c | 0x20) : c;
        }
        return Xxh3.hash(lower, 0, len, seed);
    }
}
