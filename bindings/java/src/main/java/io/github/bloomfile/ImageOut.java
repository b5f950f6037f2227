// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;

/** Where an image is put together: its header comes last. */
interface ImageOut {
    /** Writes all bytes of a buffer. */
    void write(ByteBuffer bytes, long position) throws IOException;

    /** A file. */
    static ImageOut of(FileChannel channel) {
        return (bytes, position) -> {
            long at = position;
            while (bytes.hasRemaining()) {
                at += channel.write(bytes, at);
            }
        };
    }

    /** Allocates an array for an image. */
    static byte[] array(Header h) throws BloomfileException {
        try {
            if (h.imageSize() <= Integer.MAX_VALUE - 8) {
                return new byte[(int) h.imageSize()];
            }
        } catch (OutOfMemoryError e) {
            // throws the error below
        }
        throw new BloomfileException(ErrorCode.ETOOBIG, "return a filter", h.imageSize() + " bytes");
    }

    /** Writes to an array. */
    static ImageOut of(byte[] image) {
        return (bytes, position) -> bytes.get(image, (int) position, bytes.remaining());
    }

    /** Memory, in pieces: an image may be larger than an array. */
    final class Memory implements ImageOut {
        private static final int PIECE = 1 << 20;
        private final List<byte[]> pieces = new ArrayList<>();
        private long size;

        @Override
        public void write(ByteBuffer bytes, long position) {
            size = Math.max(size, position + bytes.remaining());
            while ((long) pieces.size() * PIECE < size) {
                pieces.add(new byte[PIECE]);
            }
            for (long at = position; bytes.hasRemaining();) {
                int off = (int) (at % PIECE);
                int length = Math.min(PIECE - off, bytes.remaining());
                bytes.get(pieces.get((int) (at / PIECE)), off, length);
                at += length;
            }
        }

        void copyTo(OutputStream out) throws IOException {
            for (int i = 0; i < pieces.size(); i++) {
                out.write(pieces.get(i), 0, (int) Math.min(PIECE, size - (long) i * PIECE));
            }
        }
    }
}
