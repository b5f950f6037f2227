// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import org.junit.Test;

/** Sections 4, 6, 7 and 13. */
public class HeaderTest {
    private static final Header.Source SOURCE = new Header.Source("open it", false);

    private static Header decode(byte[] image) throws BloomfileException {
        return Header.decode(Arrays.copyOf(image, Math.min(image.length, Header.FILE)), image.length, SOURCE);
    }

    @Test
    public void wholeFileOfTheSpecificationDecodes() throws BloomfileException {
        Header h = decode(Spec.wholeFile());
        assertEquals(512, h.headerSize);
        assertEquals(Layout.CLASSIC, h.layout);
        assertEquals(100, h.m);
        assertEquals(3, h.k);
        assertEquals(0.05, Double.longBitsToDouble(h.fpr), 0);
        assertEquals("tiny é", h.label);
        assertEquals((byte) 0xAF, h.tag[15]);
        assertEquals(10, h.capacity);
        assertEquals(3, h.n);
        assertEquals(8, h.ones);
        assertEquals(0xC748F94B, h.bodyCrc);
        assertEquals(Header.LAST_SEQUENCE, h.sequence);
        assertEquals(580, h.imageSize());
    }

    @Test
    public void refusedHeadersHaveTheirErrors() throws BloomfileException {
        int refused = 0;
        for (Spec.Vector v : Spec.vectors("refused")) {
            byte[] image = Spec.wholeFile();
            if (v.has("at")) {
                byte[] bytes = Spec.bytes(v.get("bytes"));
                for (String at : v.get("at").split(",")) {
                    System.arraycopy(bytes, 0, image, Integer.parseInt(at), bytes.length);
                }
            }
            if (v.has("mend")) {
                Spec.mend(image);
            }
            byte[] changed = v.has("size") ? Arrays.copyOf(image, v.integer("size")) : image;
            if (v.answer[1].equals("12.4")) {
                decode(changed);
                continue;
            }
            ErrorCode code = assertThrows(v.line, BloomfileException.class, () -> decode(changed)).code();
            assertEquals(v.line, v.answer[0], code.fullName());
            refused++;
        }
        assertTrue(refused > 40);
    }

    @Test
    public void everyErrorOfTheSpecificationHasItsName() {
        int found = 0;
        for (String line : new String(Spec.read(Spec.TREE.resolve("format-spec.md")),
                java.nio.charset.StandardCharsets.UTF_8).split("\n")) {
            if (line.startsWith("| BLOOMFILE_E")) {
                String name = line.split(" ")[1];
                assertEquals(name, ErrorCode.valueOf(name.substring("BLOOMFILE_".length())).fullName());
                found++;
            }
        }
        assertTrue(found > 35);
    }

    @Test
    public void messageNamesTheAttemptAndTheRemedy() {
        Header.Source source = new Header.Source("open users.bloom", false);
        BloomfileException e = assertThrows(BloomfileException.class, () -> Header.decode(new byte[0], 0, source));
        assertEquals("cannot open users.bloom: the file is empty (copy it again, or rebuild it) [BLOOMFILE_EEMPTY]",
                e.getMessage());
        assertEquals(ErrorCode.EEMPTY, e.code());
    }
}
