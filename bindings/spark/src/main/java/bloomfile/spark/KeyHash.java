// SPDX-License-Identifier: MIT
package bloomfile.spark;

import bloomfile.Xxh3;
import java.io.Serializable;

/**
 * From a key to its digest.
 *
 * @param <K> what a key is
 */
interface KeyHash<K> extends Serializable {
    long digest(K key);

    /** Of keys that are bytes, as they are. */
    static KeyHash<byte[]> ofBytes(long seed) {
        return key -> Xxh3.hash(key, 0, key.length, seed);
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
}
