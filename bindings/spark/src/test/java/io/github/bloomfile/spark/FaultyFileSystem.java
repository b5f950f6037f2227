// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Local files under the scheme faulty:, with faults. The property {@code faulty.plan} has words, each a fault and a part of
 * the names of the files that it meets, such as {@code once=slice-1-}:
 *
 * <ul>
 *   <li>{@code once}: the first file that any process makes cannot be written;
 *   <li>{@code slow}: closing the first one takes a minute;
 *   <li>{@code full}: no file gets more than 50 kB;
 *   <li>{@code flip}: one bit of the body is another than what was written;
 *   <li>{@code cut}: the last 100 bytes are missing;
 *   <li>{@code store}: whatever the name, files appear when they are closed and uploads can be given up, as in stores of
 *       objects.
 * </ul>
 */
public final class FaultyFileSystem extends RawLocalFileSystem {
    private static final long FULL = 50_000;
    private static final long FLIPPED = 4096 + 5;
    private static final int CUT = 100;

    private String[] plan = {};
    private File state;

    @Override
    public URI getUri() {
        return URI.create("faulty:///");
    }

    @Override
    public String getScheme() {
        return "faulty";
    }

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        plan = conf.get("faulty.plan", "").split(" ");
        state = new File(conf.get("faulty.state", "/nowhere"));
    }

    @Override
    public boolean hasPathCapability(Path path, String capability) throws IOException {
        return capability.equals("fs.capability.outputstream.abortable") ? has("store", "")
                : super.hasPathCapability(path, capability);
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
            short replication, long blockSize, Progressable progress) throws IOException {
        return faulty(path, overwrite);
    }

    @Override
    public FSDataOutputStream create(Path path, boolean overwrite, int bufferSize, short replication, long blockSize,
            Progressable progress) throws IOException {
        return faulty(path, overwrite);
    }

    @Override
    public FSDataOutputStream createNonRecursive(Path path, FsPermission permission, EnumSet<CreateFlag> flags,
            int bufferSize, short replication, long blockSize, Progressable progress) throws IOException {
        return faulty(path, flags.contains(CreateFlag.OVERWRITE));
    }

    private FSDataOutputStream faulty(Path path, boolean overwrite) throws IOException {
        if (has("once", path.getName()) && first("once")) {
            throw new IOException("the fault that was planned for " + path);
        }
        if (!overwrite && exists(path)) {
            throw new IOException(path + " exists");
        }
        return new FSDataOutputStream(has("store", "") ? new Upload(path) : new Faulty(path, path), null);
    }

    private boolean has(String fault, String name) {
        for (String word : plan) {
            String[] parts = word.split("=");
            if (parts[0].equals(fault) && (parts.length < 2 || name.contains(parts[1]))) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether this process is the first to ask. */
    private boolean first(String fault) throws IOException {
        return new File(state, fault).createNewFile();
    }

    private class Faulty extends FilterOutputStream {
        private final Path file;
        private final Path name;
        private long written;

        Faulty(Path file, Path name) throws IOException {
            super(FaultyFileSystem.super.createNonRecursive(file, FsPermission.getFileDefault(),
                    EnumSet.of(CreateFlag.CREATE), 1 << 16, (short) 1, 1 << 20, null));
            this.file = file;
            this.name = name;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] b, int off, int len) throws IOException {
            if (has("full", name.getName()) && written + len > FULL) {
                throw new IOException("No space left on device");
            }
            byte[] copy = java.util.Arrays.copyOfRange(b, off, off + len);
            if (has("flip", name.getName()) && FLIPPED >= written && FLIPPED < written + len) {
                copy[(int) (FLIPPED - written)] ^= 4;
            }
            out.write(copy);
            written += len;
        }

        @Override
        public void close() throws IOException {
            super.close();
            if (has("slow", name.getName()) && first("slow")) {
                try {
                    Thread.sleep(60_000);
                } catch (InterruptedException ended) {
                    throw new IOException(ended);
                }
            }
            if (has("cut", name.getName())) {
                truncate(file, written - CUT);
            }
        }
    }

    /** Appears under its name when it is closed. */
    private final class Upload extends OutputStream implements Abortable {
        private final Path hidden;
        private final Path name;
        private final OutputStream out;
        private boolean over;

        Upload(Path path) throws IOException {
            name = path;
            hidden = new Path(path.getParent(), "upload-" + System.nanoTime());
            out = new Faulty(hidden, path);
        }

        @Override
        public void write(int b) throws IOException {
            out.write(b);
        }

        @Override
        public void write(byte[] b, int off, int len) throws IOException {
            out.write(b, off, len);
        }

        @Override
        public void close() throws IOException {
            if (!over) {
                over = true;
                out.close();
                pathToFile(hidden).renameTo(pathToFile(name));
            }
        }

        @Override
        public AbortableResult abort() {
            over = true;
            try {
                out.close();
                delete(hidden, false);
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            return null;
        }
    }

    /** What FileContext knows it as. */
    public static final class Context extends DelegateToFileSystem {
        /** For Hadoop. */
        public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(uri, new FaultyFileSystem(), conf, "faulty", false);
        }
    }
}
