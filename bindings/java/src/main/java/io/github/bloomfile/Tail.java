// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The last bytes of what is mapped of a file, which are gone if any of it is: by them a lookup sees, without a system
 * call, that what it has read was there.
 *
 * <p>Compiled code that reads from a page that is gone goes on with whatever is in a register. So these bytes are
 * <em>copied</em>, over bytes that differ from all of them: a copy that fails leaves those. Safe for use by several
 * threads.
 */
final class Tail {
    /** More than the few that the Java machine copies one by one. */
    static final int LENGTH = 16;

    private final ByteBuffer mapped;
    private final byte[] there = new byte[LENGTH];
    private final byte[] gone = new byte[LENGTH];

    /**
     * Of a file.
     *
     * @param file where it is
     * @param mapping what maps it
     * @param end where what is mapped ends; at least {@link #LENGTH}
     * @throws IOException if it cannot be read
     */
    Tail(RandomAccessFile file, Mapping mapping, long end) throws IOException {
        mapped = mapping.map(file.getChannel(), end - LENGTH, LENGTH);
        file.seek(end - LENGTH);
        file.readFully(there);
        for (int i = 0; i < LENGTH; i++) {
            gone[i] = (byte) ~there[i];
        }
    }

    /** Whether it says anything: zeros are what is behind the end of a file on its last page, too. */
    boolean tells() {
        return !Arrays.equals(there, new byte[LENGTH]);
    }

    /** Whether all was there until now. */
    boolean isThere() {
        byte[] now = gone.clone();
        Copies.copy(mapped, 0, now);
        return Arrays.equals(now, there);
    }
}
