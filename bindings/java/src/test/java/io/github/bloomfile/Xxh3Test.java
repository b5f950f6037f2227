// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.Test;

/** Section 20.3. */
public class Xxh3Test {
    @Test
    public void digestsMatchTheVectors() {
        for (Spec.Vector v : Spec.vectors("digest")) {
            byte[] key = v.has("text") ? v.get("text").getBytes(StandardCharsets.UTF_8)
                    : Xxh3.testString(v.integer("length"));
            assertEquals(v.line, Spec.hex(v.answer[0]), Xxh3.hash(key, v.hex("seed")));
        }
    }

    @Test
    public void selfTestsMatchTheVectors() {
        for (Spec.Vector v : Spec.vectors("selftest")) {
            assertEquals(v.line, Spec.hex(v.answer[0]), Xxh3.selfTest(v.hex("seed")));
        }
    }

    @Test
    public void checksumsMatchTheVectors() {
        for (Spec.Vector v : Spec.vectors("crc")) {
            byte[] text = v.get("text").getBytes(StandardCharsets.UTF_8);
            assertEquals(v.line, Spec.hex(v.answer[0]), Header.crc(text, 0, text.length) & 0xFFFFFFFFL);
        }
    }

    @Test
    public void rangeOfAnArrayHashesLikeACopy() {
        for (int length = 0; length < 2100; length += 1 + length / 40) {
            byte[] key = Xxh3.testString(length);
            byte[] around = new byte[length + 29];
            Arrays.fill(around, (byte) 0x55);
            System.arraycopy(key, 0, around, 17, length);
            assertEquals(Xxh3.hash(key, 42), Xxh3.hash(around, 17, length, 42));
        }
        byte[] b = new byte[20];
        for (int[] range : new int[][] {{-1, 4}, {0, 21}, {17, 4}, {21, 0}, {4, -1}, {Integer.MAX_VALUE, 4}}) {
            assertThrows(IndexOutOfBoundsException.class, () -> Xxh3.hash(b, range[0], range[1], 0));
        }
    }

    @Test
    public void integersHashAsEightBytes() {
        byte[] b = new byte[8];
        for (long key : new long[] {0, 1, -1, 0x0123456789ABCDEFL, Long.MIN_VALUE}) {
            for (long seed : new long[] {0, -1, 0x0123456789ABCDEFL}) {
                Header.LONG.set(b, 0, key);
                assertEquals(Xxh3.hash(b, seed), Xxh3.hash(key, seed));
            }
        }
    }
}
