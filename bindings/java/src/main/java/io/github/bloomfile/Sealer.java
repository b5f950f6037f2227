// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/**
 * Writes a sealed image: takes the pages of the body in order, makes their checksums and counts, and at the end the page
 * checksums and the header. Memory: 4 bytes a page, and {@link #BUFFER}.
 */
final class Sealer {
    private static final int BUFFER = 1 << 18;

    private final Header header;
    private final ImageOut out;
    private final ByteBuffer buffer;
    private final CRC32 body = new CRC32();
    private final CRC32 page = new CRC32();
    private final int[] sums;
    private long position;
    private int pages;

    /**
     * Begins an image.
     *
     * @param header all of its static fields
     * @throws BloomfileException ETOOBIG: its page checksums do not fit into an array
     */
    Sealer(Header header, ImageOut out) throws BloomfileException {
        if (header.pages() > Integer.MAX_VALUE - 8) {
            throw new BloomfileException(ErrorCode.ETOOBIG, "write a filter", header.bodySize + " bytes");
        }
        this.header = header;
        this.out = out;
        buffer = ByteBuffer.allocateDirect((int) Math.min(BUFFER, header.imageSize() + Header.PAGE));
        sums = new int[(int) header.pages()];
        position = header.headerSize;
        header.ones = 0;
        header.overflow = 0;
    }

    /** The size of the next page: 4096, but for the last page of an image in embedded form. */
    int nextSize() {
        return (int) Math.min(Header.PAGE, header.bodySize - (long) pages * Header.PAGE);
    }

    /**
     * The next page.
     *
     * @param bytes {@link #nextSize} bytes from {@code off} on
     */
    void page(byte[] bytes, int off) throws IOException {
        int size = nextSize();
        page.reset();
        page.update(bytes, off, size);
        sums[pages++] = (int) page.getValue();
        body.update(bytes, off, size);
        count(bytes, off, size);
        append(bytes, off, size);
    }

    private void count(byte[] bytes, int off, int size) {
        long ones = 0;
        long full = 0;
        boolean counters = header.layout == Layout.COUNTING;
        for (int i = off; i < off + size; i += 8) {
            long x = Header.u64(bytes, i);
            if (counters) {
                long pairs = x | x >>> 1;
                ones += Long.bitCount((pairs | pairs >>> 2) & 0x1111111111111111L);
                pairs = x & x >>> 1;
                full += Long.bitCount(pairs & pairs >>> 2 & 0x1111111111111111L);
            } else {
                ones += Long.bitCount(x);
            }
        }
        header.ones += ones;
        header.overflow += full;
    }

    /** Writes the rest after the last page. The caller must have set n and flags. */
    void finish() throws IOException {
        if (pages != sums.length) {
            throw new IllegalStateException(pages + " of " + sums.length + " pages");
        }
        header.bodyCrc = (int) body.getValue();
        byte[] entry = new byte[4];
        for (int sum : sums) {
            Header.INT.set(entry, 0, sum ^ header.bodyCrc);
            append(entry, 0, entry.length);
        }
        flush();
        out.write(ByteBuffer.wrap(HeaderEncoder.encode(header)), 0);
    }

    private void append(byte[] bytes, int off, int size) throws IOException {
        if (buffer.remaining() < size) {
            flush();
        }
        buffer.put(bytes, off, size);
    }

    private void flush() throws IOException {
        buffer.flip();
        int size = buffer.remaining();
        out.write(buffer, position);
        position += size;
        buffer.clear();
    }
}
