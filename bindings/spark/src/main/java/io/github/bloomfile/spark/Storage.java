// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

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

    private void writeObject(ObjectOutputStream out) throws IOException {
        configuration.write(out);
    }

    private void readObject(ObjectInputStream in) throws IOException {
        configuration = new Configuration(false);
        configuration.readFields(in);
    }
}
