// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Where a slice can be read: a file of any file system. It is opened twice. */
public interface SliceSource {
    /**
     * Opens the slice.
     *
     * @return its bytes from the first one on; the caller closes it
     * @throws IOException if it cannot be opened
     */
    InputStream open() throws IOException;

    /**
     * Returns the size in bytes.
     *
     * @return bytes
     * @throws IOException if that cannot be learned
     */
    long length() throws IOException;

    /**
     * The name of the slice in messages.
     *
     * @return such as its path
     */
    String name();

    /**
     * A file.
     *
     * @param path its name
     * @return a source that reads it
     */
    static SliceSource of(Path path) {
        return new SliceSource() {
            @Override
            public InputStream open() throws IOException {
                if (!Files.readAttributes(path, BasicFileAttributes.class).isRegularFile()) {
                    // A pipe would wait for a writer.
                    throw new BloomfileException(ErrorCode.ENOTREGULAR, "join " + path, null);
                }
                return Files.newInputStream(path);
            }

            @Override
            public long length() throws IOException {
                return Files.size(path);
            }

            @Override
            public String name() {
                return path.toString();
            }
        };
    }
}
