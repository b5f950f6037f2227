// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** XXH3 in its 64-bit variant with a seed: section 19 of the specification. Allocates nothing. */
public final class Xxh3 {
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private static final long A1 = 0x9E3779B185EBCA87L;
    private static final long A2 = 0xC2B2AE3D27D4EB4FL;
    private static final long A3 = 0x165667B19E3779F9L;
    private static final long A4 = 0x85EBCA77C2B2AE63L;
    private static final long A5 = 0x27D4EB2F165667C5L;
    private static final long B1 = 0x9E3779B1L;
    private static final long B2 = 0x85EBCA77L;
    private static final long B3 = 0xC2B2AE3DL;
    private static final long X1 = 0x165667919E3779F9L;
    private static final long X2 = 0x9FB21C651E98DF25L;

    private static final byte[] SECRET = bytes(
            "B8FE6C3923A44BBE7C01812CF721AD1CDED46DE9839097DB7240A4A4B7B3671F"
            + "CB79E64ECCC0E578825AD07DCCFF7221B8084674F743248EE03590E6813A264C"
            + "3C2852BB91C300CB88D0658B1B532EA371644897A20DF94E3819EF46A9DEACD8"
            + "A8FA763FE39C343FF9DCBBC7C70B4F1D8A51E04BCDB45931C89F7EC9D9787364"
            + "EAC5AC8334D3EBC3C581A0FFFA1363EB170DDD51B7F0DA49D316552629D4689E"
            + "2B16BE587D47A1FC8FF8B8D17AD031CE45CB3A8F95160428AFD7FBCABB4B407E");

    /** k64(8 * i). */
    private static final long[] K = new long[24];

    static {
        for (int i = 0; i < K.length; i++) {
            K[i] = k64(8 * i);
        }
    }

    private Xxh3() {
    }

    /**
     * The hash of a range of bytes.
     *
     * @param b the array
     * @param off where the range begins
     * @param len its length, from 0 on
     * @param seed the seed
     * @return all 64 bits of it
     * @throws IndexOutOfBoundsException if the range is not inside the array
     */
    public static long hash(byte[] b, int off, int len, long seed) {
        if ((off | len | (b.length - off - len)) < 0) {
            throw new IndexOutOfBoundsException("offset " + off + ", length " + len + ", of " + b.length + " bytes");
        }
        if (len <= 16) {
            return len > 8 ? hash9to16(b, off, len, seed) : len >= 4 ? hash4to8(b, off, len, seed)
                    : len > 0 ? hash1to3(b, off, len, seed) : av64(seed ^ K[7] ^ K[8]);
        }
        return len <= 128 ? hash17to128(b, off, len, seed) : len <= 240 ? hash129to240(b, off, len, seed)
                : hashLong(b, off, len, seed);
    }

    /**
     * The hash of all bytes of an array.
     *
     * @param b the array
     * @param seed the seed
     * @return all 64 bits of it
     */
    public static long hash(byte[] b, long seed) {
        return hash(b, 0, b.length, seed);
    }

    /**
     * The hash of a number as a key: of its eight bytes, the least significant first.
     *
     * @param key the number
     * @param seed the seed
     * @return all 64 bits of it
     */
    public static long hash(long key, long seed) {
        // The branch for 4 to 8 bytes, of which the first four are the low half.
        return finish4to8(((key >>> 32) + (key << 32)), 8, seed);
    }

    /** The self-test of section 9.2 for a seed. */
    static long selfTest(long seed) {
        long test = 0;
        for (int length : SELF_TEST_LENGTHS) {
            test ^= hash(TEST_STRING, 0, length, seed);
        }
        return test;
    }

    private static final int[] SELF_TEST_LENGTHS = {0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 144,
        240, 241, 1024, 1025, 1088, 1100};
    private static final byte[] TEST_STRING = testString(1100);

    /** The first bytes of the test string of section 9.2. */
    static byte[] testString(int length) {
        byte[] t = new byte[length];
        for (int i = 0; i < length; i++) {
            t[i] = (byte) (128 + 157 * i);
        }
        return t;
    }

    private static long hash1to3(byte[] b, int off, int len, long seed) {
        int c = (b[off] & 0xFF) << 16 | (b[off + len / 2] & 0xFF) << 24 | b[off + len - 1] & 0xFF | len << 8;
        return av64((c & 0xFFFFFFFFL) ^ (((k32(0) ^ k32(4)) & 0xFFFFFFFFL) + seed));
    }

    private static long hash4to8(byte[] b, int off, int len, long seed) {
        return finish4to8(r32(b, off + len - 4) + (r32(b, off) << 32), len, seed);
    }

    private static long finish4to8(long v, int len, long seed) {
        long s = seed ^ (long) Integer.reverseBytes((int) seed) << 32;
        long h = v ^ ((K[1] ^ K[2]) - s);
        h ^= Long.rotateLeft(h, 49) ^ Long.rotateLeft(h, 24);
        h *= X2;
        h ^= (h >>> 35) + len;
        h *= X2;
        return h ^ h >>> 28;
    }

    private static long hash9to16(byte[] b, int off, int len, long seed) {
        long lo = r64(b, off) ^ ((K[3] ^ K[4]) + seed);
        long hi = r64(b, off + len - 8) ^ ((K[5] ^ K[6]) - seed);
        return av3(len + Long.reverseBytes(lo) + hi + mulfold(lo, hi));
    }

    private static long hash17to128(byte[] b, int off, int len, long seed) {
        long acc = len * A1;
        for (int i = (len - 1) / 32; i >= 0; i--) {
            acc += mix16(b, off + 16 * i, K[4 * i], K[4 * i + 1], seed);
            acc += mix16(b, off + len - 16 * (i + 1), K[4 * i + 2], K[4 * i + 3], seed);
        }
        return av3(acc);
    }

    private static long hash129to240(byte[] b, int off, int len, long seed) {
        long acc = len * A1;
        for (int i = 0; i < 8; i++) {
            acc += mix16(b, off + 16 * i, K[2 * i], K[2 * i + 1], seed);
        }
        acc = av3(acc);
        for (int i = 8; i < len / 16; i++) {
            int o = 16 * (i - 8) + 3;
            acc += mix16(b, off + 16 * i, k64(o), k64(o + 8), seed);
        }
        return av3(acc + mix16(b, off + len - 16, k64(119), k64(127), seed));
    }

    private static long hashLong(byte[] b, int off, int len, long seed) {
        long a0 = B3;
        long a1 = A1;
        long a2 = A2;
        long a3 = A3;
        long a4 = A4;
        long a5 = B2;
        long a6 = A5;
        long a7 = B1;
        int stripes = (len - 1) / 64;
        for (int n = 0; n < stripes; n++) {
            int p = off + 64 * n;
            int j = n & 15;
            // The derived secret at 8 * (j + i): the seed is added at even places, and taken away at odd ones.
            long s = (j & 1) == 0 ? seed : -seed;
            long v0 = r64(b, p);
            long v1 = r64(b, p + 8);
            long v2 = r64(b, p + 16);
            long v3 = r64(b, p + 24);
            long v4 = r64(b, p + 32);
            long v5 = r64(b, p + 40);
            long v6 = r64(b, p + 48);
            long v7 = r64(b, p + 56);
            a0 += v1 + lane(v0 ^ K[j] + s);
            a1 += v0 + lane(v1 ^ K[j + 1] - s);
            a2 += v3 + lane(v2 ^ K[j + 2] + s);
            a3 += v2 + lane(v3 ^ K[j + 3] - s);
            a4 += v5 + lane(v4 ^ K[j + 4] + s);
            a5 += v4 + lane(v5 ^ K[j + 5] - s);
            a6 += v7 + lane(v6 ^ K[j + 6] + s);
            a7 += v6 + lane(v7 ^ K[j + 7] - s);
            if (j == 15) {
                a0 = scramble(a0, K[16] + seed);
                a1 = scramble(a1, K[17] - seed);
                a2 = scramble(a2, K[18] + seed);
                a3 = scramble(a3, K[19] - seed);
                a4 = scramble(a4, K[20] + seed);
                a5 = scramble(a5, K[21] - seed);
                a6 = scramble(a6, K[22] + seed);
                a7 = scramble(a7, K[23] - seed);
            }
        }
        int p = off + len - 64;
        long v0 = r64(b, p);
        long v1 = r64(b, p + 8);
        long v2 = r64(b, p + 16);
        long v3 = r64(b, p + 24);
        long v4 = r64(b, p + 32);
        long v5 = r64(b, p + 40);
        long v6 = r64(b, p + 48);
        long v7 = r64(b, p + 56);
        a0 += v1 + lane(v0 ^ derived(121, seed));
        a1 += v0 + lane(v1 ^ derived(129, seed));
        a2 += v3 + lane(v2 ^ derived(137, seed));
        a3 += v2 + lane(v3 ^ derived(145, seed));
        a4 += v5 + lane(v4 ^ derived(153, seed));
        a5 += v4 + lane(v5 ^ derived(161, seed));
        a6 += v7 + lane(v6 ^ derived(169, seed));
        a7 += v6 + lane(v7 ^ derived(177, seed));
        return av3(len * A1
                + mulfold(a0 ^ derived(11, seed), a1 ^ derived(19, seed))
                + mulfold(a2 ^ derived(27, seed), a3 ^ derived(35, seed))
                + mulfold(a4 ^ derived(43, seed), a5 ^ derived(51, seed))
                + mulfold(a6 ^ derived(59, seed), a7 ^ derived(67, seed)));
    }

    private static long lane(long x) {
        return (x & 0xFFFFFFFFL) * (x >>> 32);
    }

    private static long scramble(long acc, long secret) {
        return (acc ^ acc >>> 47 ^ secret) * B1;
    }

    /** The derived secret at an offset that is not a multiple of 8. */
    private static long derived(int offset, long seed) {
        int i = offset >> 3;
        int bits = (offset & 7) << 3;
        long s = (i & 1) == 0 ? seed : -seed;
        return K[i] + s >>> bits | K[i + 1] - s << 64 - bits;
    }

    private static long mix16(byte[] b, int p, long k0, long k1, long seed) {
        return mulfold(r64(b, p) ^ k0 + seed, r64(b, p + 8) ^ k1 - seed);
    }

    private static long av64(long h) {
        h = (h ^ h >>> 33) * A2;
        h = (h ^ h >>> 29) * A3;
        return h ^ h >>> 32;
    }

    private static long av3(long h) {
        h = (h ^ h >>> 37) * X1;
        return h ^ h >>> 32;
    }

    private static long mulfold(long a, long b) {
        return a * b ^ mulhi(a, b);
    }

    /** The high half of the product of two unsigned numbers: section 2. */
    static long mulhi(long a, long b) {
        return Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
    }

    private static long r32(byte[] b, int p) {
        return (int) INT.get(b, p) & 0xFFFFFFFFL;
    }

    private static long r64(byte[] b, int p) {
        return (long) LONG.get(b, p);
    }

    private static int k32(int offset) {
        return (int) INT.get(SECRET, offset);
    }

    private static long k64(int offset) {
        return (long) LONG.get(SECRET, offset);
    }

    private static byte[] bytes(String hex) {
        byte[] b = new byte[hex.length() / 2];
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return b;
    }
}
