// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The last mapped bytes of a file. If the file was truncated, they are unreadable. So reading them after a lookup
 * shows, without a system call, that the bytes of the lookup existed.
 *
 * <p>After a read from an unreadable page, compiled code continues with the old content of a register. So these bytes
 * are <em>copied</em>, over bytes that differ from all of them: a failed copy leaves the latter. Safe for use by
 * several threads.
 */
final class Tail {
    /** More than the few bytes that the Java VM copies one by one. */
    static final int LENGTH = 16;

    /** Mappings between collections: a quarter of the number that Linux allows a process. */
    static final int COLLECTED = 1 << 14;

    private static final AtomicInteger MAPPINGS = new AtomicInteger();

    private final ByteBuffer mapped;
    private final byte[] there = new byte[LENGTH];
    private final byte[] gone = new byte[LENGTH];

    /**
     * Maps bytes of a file. Runs the garbage collector now and then, to unmap closed filters. If the mappings reached the
     * limit of Linux, the Java VM would exit when it next started a thread.
     *
     * @param file the file
     * @param offset of the first byte
     * @param length number of bytes
     * @return the bytes
     * @throws IOException if they cannot be mapped
     */
    static MappedByteBuffer map(RandomAccessFile file, long offset, long length) throws IOException {
        if (MAPPINGS.incrementAndGet() % COLLECTED == 0) {
            System.gc();
        }
        return file.getChannel().map(FileChannel.MapMode.READ_ONLY, offset, length);
    }

    /**
     * The last bytes before an offset.
     *
     * @param file where it is
     * @param end the end of the mapped bytes; at least {@link #LENGTH}
     * @throws IOException if it cannot be read
     */
    Tail(RandomAccessFile file, long end) throws IOException {
        mapped = map(file, end - LENGTH, LENGTH);
        file.seek(end - LENGTH);
        file.readFully(there);
        for (int i = 0; i < LENGTH; i++) {
            gone[i] = (byte) ~there[i];
        }
    }

    /**
     * Returns whether these bytes can show that the file was truncated. Zeros cannot: the rest of a mapped file's last
     * page is zeros.
     */
    boolean tells() {
        return !Arrays.equals(there, new byte[LENGTH]);
    }

    /** Returns whether all was there until now. */
    boolean isThere() {
        byte[] now = gone.clone();
        Copies.copy(mapped, 0, now);
        return Arrays.equals(now, there);
    }
}
