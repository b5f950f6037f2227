// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;

/** Runs of numbers of one size that did not fit into memory, in a temporary file that has no name where systems allow it. */
final class Spool implements Closeable {
    private static final int STAGE = 1 << 20;

    private final FileChannel channel;
    private final int run;
    private final ByteBuffer stage = ByteBuffer.allocateDirect(STAGE).order(ByteOrder.nativeOrder());
    private long written;

    /**
     * Makes the file.
     *
     * @param folder where
     * @param run numbers in a run, a divisor of 2^17
     */
    Spool(Path folder, int run) throws IOException {
        channel = temporary(folder);
        this.run = run;
    }

    /** Creates a temporary file that is deleted when it is closed or the program ends. */
    static FileChannel temporary(Path folder) throws IOException {
        Path path = folder.resolve(".bloomfile-" + Long.toHexString(new SecureRandom().nextLong()));
        FileChannel channel = NewFile.create(path, true, StandardOpenOption.DELETE_ON_CLOSE);
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            // Where an open file cannot be removed, closing removes it.
            return channel;
        }
        return channel;
    }

    /** Appends a run. */
    void append(long[] numbers) throws IOException {
        stage.asLongBuffer().put(numbers, 0, run);
        stage.position(stage.position() + 8 * run);
        if (!stage.hasRemaining()) {
            flush();
        }
    }

    private void flush() throws IOException {
        stage.flip();
        while (stage.hasRemaining()) {
            written += channel.write(stage, written);
        }
        stage.clear();
    }

    /** Copies a run out: the index-th that was appended, from 0 on. */
    void read(long index, long[] into, int off) throws IOException {
        long position = index * run * 8;
        if (position >= written) {
            ByteBuffer staged = stage.duplicate().order(ByteOrder.nativeOrder());
            staged.position((int) (position - written));
            staged.asLongBuffer().get(into, off, run);
            return;
        }
        ByteBuffer bytes = reading();
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, position + bytes.position()) < 0) {
                throw new IOException("cannot read a temporary file: it became shorter");
            }
        }
        bytes.flip();
        bytes.asLongBuffer().get(into, off, run);
    }

    private ByteBuffer readBuffer;

    private ByteBuffer reading() {
        if (readBuffer == null) {
            readBuffer = ByteBuffer.allocateDirect(8 * run).order(ByteOrder.nativeOrder());
        }
        readBuffer.clear();
        return readBuffer;
    }

    boolean isOpen() {
        return channel.isOpen();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
