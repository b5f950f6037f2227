// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import java.io.IOException;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.junit.Test;

/** The vectors of whole bodies and images: sections 20.6, 20.7, slices.md 3.2 and sections 20.5. */
public class VectorBuildTest {
    /** The image that a vector describes: of the first 0, 1, 2, ... bytes of the test string. */
    private static byte[] image(Spec.Vector v) throws IOException {
        int keys = v.integer("keys");
        Params params = new Params().keyKind("unknown").layout(v.layout()).bits(v.number("m")).hashes(v.integer("k")).seed(v.hex("seed"))
                .capacity(keys).embedded(v.has("header_size") && v.integer("header_size") == Header.EMBEDDED);
        if (v.has("slice")) {
            params.slice(v.integer("slice"), v.integer("slices"));
        }
        byte[] test = Xxh3.testString(keys);
        try (Builder builder = new Builder(params)) {
            for (int i = 0; i < keys; i++) {
                builder.add(test, 0, i);
            }
            return builder.toBytes(WriteOption.OVERFULL);
        }
    }

    @Test
    public void bodiesMatchTheVectors() throws IOException {
        int bodies = 0;
        for (Spec.Vector v : Spec.vectors("body")) {
            byte[] image = image(v);
            int record = v.integer("header_size") / 2;
            assertEquals(v.line, v.answer[0], String.format("%08x", Header.u32(image, record + 56)));
            assertEquals(v.line, v.answer[1], Long.toString(Header.u64(image, record + 24)));
            assertEquals(v.line, v.answer[2], Long.toString(Header.u64(image, record + 32)));
            bodies++;
        }
        assertEquals(23, bodies);
    }

    @Test
    public void pageEntriesMatchTheVectors() throws IOException {
        for (Spec.Vector v : Spec.vectors("entries")) {
            byte[] image = image(v);
            for (int i = 0; i < v.answer.length; i++) {
                int at = image.length - 4 * (v.answer.length - i);
                assertEquals(v.line, v.answer[i], String.format("%08x", Header.u32(image, at)));
            }
        }
    }

    @Test
    public void imagesMatchTheVectors() throws IOException {
        for (String kind : new String[] {"image", "slice"}) {
            for (Spec.Vector v : Spec.vectors(kind)) {
                byte[] image = image(v);
                assertEquals(v.line, v.answer[0], Integer.toString(image.length));
                assertEquals(v.line, v.answer[1], String.format("%016x", Xxh3.hash(image, 0)));
            }
        }
    }

    /** The image of section 4, which has a tag, a label and a rate. */
    @Test
    public void builderMakesTheWholeFileOfTheSpecification() throws IOException {
        byte[] tag = new byte[16];
        for (int i = 0; i < 16; i++) {
            tag[i] = (byte) (0xA0 + i);
        }
        try (Builder builder = new Builder(new Params().keyKind("unknown").layout(Layout.CLASSIC).bits(100).hashes(3).capacity(10).fpr(0.05)
                .label("tiny é").tag(tag).embedded(true))) {
            builder.add("bloomfile");
            builder.add("");
            builder.add(new byte[] {(byte) 0x80, 0x1D, (byte) 0xBA});
            assertArrayEquals(Spec.wholeFile(), builder.toBytes());
        }
    }

    @Test
    public void combinedChecksumsEqualTheWhole() {
        byte[] bytes = Xxh3.testString(70_000);
        for (int first : new int[] {0, 1, 7, 4096, 69_999, 70_000}) {
            CRC32 whole = new CRC32();
            whole.update(bytes);
            int a = Header.crc(bytes, 0, first);
            int b = Header.crc(Arrays.copyOfRange(bytes, first, bytes.length), 0, bytes.length - first);
            assertEquals((int) whole.getValue(), Crc.combine(a, b, bytes.length - first));
        }
    }
}
