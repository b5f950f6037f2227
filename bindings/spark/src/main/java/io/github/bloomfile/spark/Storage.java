// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Spark's file systems, as tasks access them: file:, hdfs:, s3a: and so on. */
final class Storage implements Serializable {
    private static final long serialVersionUID = 1;

    private transient Configuration configuration;

    Storage(Configuration configuration) {
        this.configuration = configuration;
    }

    Configuration configuration() {
        return configuration;
    }

    /** Returns the file system of a path; for file:, without the checksum files that Hadoop writes next to each
     * file. */
    FileSystem of(Path path) throws IOException {
        FileSystem found = path.getFileSystem(configuration);
        return found instanceof LocalFileSystem ? ((LocalFileSystem) found).getRawFileSystem() : found;
    }

    /** Returns whether a path is of a regular file. Opening a FIFO would wait for a writer. */
    boolean isFile(Path path) throws IOException {
        FileSystem files = of(path);
        FileStatus found = files.getFileStatus(path);
        return files instanceof RawLocalFileSystem ? ((RawLocalFileSystem) files).pathToFile(path).isFile() : found.isFile();
    }

    /** Opens a regular file. */
    InputStream open(Path path) throws IOException {
        if (!isFile(path)) {
            throw new IOException("it is not a regular file");
        }
        return of(path).open(path);
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        configuration.write(out);
    }

    private void readObject(ObjectInputStream in) throws IOException {
        configuration = new Configuration(false);
        configuration.readFields(in);
    }
}
