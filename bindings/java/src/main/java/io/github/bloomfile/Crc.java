// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** Combines the CRC-32s of two byte sequences into that of their concatenation. */
final class Crc {
    /** The polynomial, the coefficient of x^0 at the top. */
    private static final int POLYNOMIAL = 0xEDB88320;

    private Crc() {
    }

    /**
     * Returns the CRC-32 of the concatenation of A and B.
     *
     * @param a the CRC-32 of A
     * @param b the CRC-32 of B
     * @param length the number of bytes of B
     */
    static int combine(int a, int b, long length) {
        // To append a zero bit is to multiply by x; 2^(8 * length) of them by squares of x.
        int power = 1 << 31 - 8; // x^8
        int shift = 1 << 31; // x^0
        for (long bytes = length; bytes != 0; bytes >>>= 1) {
            if ((bytes & 1) != 0) {
                shift = times(shift, power);
            }
            power = times(power, power);
        }
        return times(shift, a) ^ b;
    }

    /** The product of two polynomials over GF(2), modulo {@link #POLYNOMIAL}. */
    private static int times(int a, int b) {
        int product = 0;
        int term = b;
        for (int bits = a; bits != 0; bits <<= 1) {
            if (bits < 0) {
                product ^= term;
            }
            term = (term & 1) != 0 ? term >>> 1 ^ POLYNOMIAL : term >>> 1;
        }
        return product;
    }
}
