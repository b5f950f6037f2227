// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.Xxh3;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Iterator;
import java.util.stream.IntStream;

/**
 * Computes the digest of a key.
 *
 * @param <K> type of the keys
 */
interface KeyHash<K> extends Serializable {
    long digest(K key);

    /**
     * A hash of byte keys.
     *
     * @param kind of the filter's keys, as in {@code Params.keyKind}
     */
    static KeyHash<byte[]> ofBytes(long seed, String kind) {
        if (kind.equals("lower")) {
            return key -> Xxh3.hash(lower(key), 0, key.length, seed);
        }
        int size = kind.startsWith("fixed ") ? Integer.parseInt(kind.substring(6)) : -1;
        return key -> {
            if (size >= 0 && key.length != size) {
                throw new IllegalArgumentException("a key of " + key.length + " bytes does not fit key_kind " + kind);
            }
            return Xxh3.hash(key, 0, key.length, seed);
        };
    }

    /** The letters A to Z become a to z. */
    private static byte[] lower(byte[] key) {
        byte[] result = key.clone();
        for (int i = 0; i < result.length; i++) {
            if (result[i] >= 'A' && result[i] <= 'Z') {
                result[i] |= 0x20;
            }
        }
        return result;
    }

    /** Of numbers: their 8 bytes, little-endian. */
    static KeyHash<Long> ofLongs(long seed) {
        return new KeyHash<>() {
            private static final long serialVersionUID = 1;
            private final byte[] bytes = new byte[8];

            @Override
            public long digest(Long key) {
                KeyType.put(key, bytes);
                return Xxh3.hash(bytes, 0, 8, seed);
            }
        };
    }

    /** Of digests, which they are already. */
    static KeyHash<Long> ofDigests() {
        return digest -> digest;
    }

    /** The digests in bytes, 8 bytes each, little-endian. */
    static Iterator<Long> digestsIn(byte[] bytes) {
        if (bytes.length % 8 != 0) {
            throw new IllegalArgumentException("digests have 8 bytes each, and here are " + bytes.length);
        }
        LongBuffer digests = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
        return IntStream.range(0, digests.limit()).mapToObj(digests::get).iterator();
    }
}
