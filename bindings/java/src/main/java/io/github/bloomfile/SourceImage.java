// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.zip.CRC32;

/** A sealed image that an operation reads once from its beginning, page by page, and verifies as it goes: section 12.4. */
final class SourceImage implements Closeable {
    private static final int STRETCH = 64 * Header.PAGE;

    final Header header;
    private final String attempted;
    private final FileChannel channel;
    private final byte[] buffer = new byte[STRETCH];
    private final byte[] entries = new byte[Header.PAGE];
    private int at;
    private int end;
    private long next;
    private final CRC32 crc = new CRC32();
    private long ones;
    private long overflow;
    private boolean clean = true;

    /**
     * Opens an image.
     *
     * @param attempted what for, such as {@code "fold a.bloom"}
     * @throws BloomfileException as {@link Header#decode}; EISSERIES of a series, EISSLICE of a slice, EISRIBBON of ribbon, and
     *     ELAYOUT of a layout that cannot be combined here
     */
    SourceImage(Path path, String attempted) throws IOException {
        this.attempted = attempted;
        Header.Source source = new Header.Source(attempted, true);
        // A pipe would wait for a writer.
        source.check(Files.readAttributes(path, BasicFileAttributes.class).isRegularFile(), ErrorCode.ENOTREGULAR, null);
        channel = FileChannel.open(path, StandardOpenOption.READ);
        try {
            byte[] head = new byte[(int) Math.min(Header.FILE, channel.size())];
            read(head, head.length, 0);
            header = Header.decode(head, channel.size(), source);
            source.check(!header.isLayer(), ErrorCode.EISSERIES, null);
            source.check(!header.isSlice(), ErrorCode.EISSLICE, null);
            source.check(header.layout != Layout.RIBBON, ErrorCode.EISRIBBON, null);
            if (header.layout == Layout.COUNTING) {
                throw new BloomfileException(ErrorCode.ELAYOUT, attempted, "a counting filter", "use bffold or bfmerge");
            }
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private void read(byte[] into, int length, long position) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(into, 0, length);
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, position + bytes.position()) < 0) {
                throw new BloomfileException(ErrorCode.ECHANGED, attempted, null);
            }
        }
    }

    /** Starts again from the first byte. */
    void rewind() {
        at = 0;
        end = 0;
        next = 0;
        crc.reset();
        ones = 0;
    }

    /** Eight bytes of the body. */
    long word() throws IOException {
        if (at == end) {
            load();
        }
        long word = Header.u64(buffer, at);
        at += 8;
        return word;
    }

    private void load() throws IOException {
        long left = header.bodySize - next;
        if (left <= 0) {
            throw new IllegalStateException("behind the body");
        }
        end = (int) Math.min(STRETCH, left);
        at = 0;
        read(buffer, end, header.headerSize + next);
        long firstPage = next / Header.PAGE;
        int pages = (end + Header.PAGE - 1) / Header.PAGE;
        read(entries, 4 * pages, header.headerSize + header.bodySize + 4 * firstPage);
        crc.update(buffer, 0, end);
        for (int i = 0; i < pages; i++) {
            int off = i * Header.PAGE;
            int sum = Header.crc(buffer, off, Math.min(Header.PAGE, end - off));
            if ((sum ^ header.bodyCrc) != Header.u32(entries, 4 * i)) {
                throw new BloomfileException(ErrorCode.EPAGE, attempted, "page " + (firstPage + i));
            }
        }
        for (int i = 0; i < end; i += 8) {
            long word = Header.u64(buffer, i);
            ones += Long.bitCount(word);
            long beyond = 8 * (next + i) + 64 - header.m;
            if (beyond > 0) {
                clean &= beyond >= 64 ? word == 0 : word >>> 64 - beyond == 0;
            }
        }
        next += end;
    }

    /** Reads the remaining bytes. Throws if the body contradicts the header. */
    void finish() throws IOException {
        while (next < header.bodySize) {
            load();
        }
        at = end;
        if ((int) crc.getValue() != header.bodyCrc || ones != header.ones || !clean) {
            throw new BloomfileException(ErrorCode.EBODY, attempted, null);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
