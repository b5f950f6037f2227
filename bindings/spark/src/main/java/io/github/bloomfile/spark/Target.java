// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file to be made, and the folder next to it that holds its slices until they are joined. */
final class Target {
    private static final Logger LOG = LoggerFactory.getLogger(Target.class);
    private static final byte[] MAGIC = {(byte) 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n'};
    /** Sizes of the header in file form and embedded form (section 6); offsets of its fields. */
    private static final int HEADER = 4096;
    private static final int EMBEDDED = 512;
    private static final int SIZE = 12;
    private static final int INCOMPAT = 24;
    private static final int LAYER = 248;
    private static final int GENERATIONS = 256;
    private static final int LAYERS = 260;
    /** Offsets of state, flags and keys in a record (section 7); values of the state. */
    private static final int STATE = 8;
    private static final int FLAGS = 12;
    private static final int KEYS = 16;
    private static final int LIVE = 1;
    private static final int SEALED = 2;
    private static final int POISONED = 3;

    private static final String END = ".building";
    private static final int TRIES = 100;
    private static final long WEEK = 7L * 24 * 3600 * 1000;

    /** Hadoop's name for stores of objects whose uploads can be given up (3.3.1 and later). */
    private static final String ABORTABLE = "fs.capability.outputstream.abortable";

    private final Storage storage;
    private final FileSystem files;
    private final Path path;
    private final boolean replace;
    /** Whether the file that is to be replaced may have any. */
    private boolean hasKeys;

    Target(Storage storage, Path path, boolean replace) throws IOException {
        this.storage = storage;
        this.replace = replace;
        files = storage.of(path);
        this.path = path.makeQualified(files.getUri(), files.getWorkingDirectory());
    }

    /** Writes the content of a file. */
    interface Content {
        void writeTo(OutputStream out) throws IOException;
    }

    Path path() {
        return path;
    }

    /** Throws if it is already certain that the file cannot be made. Returns whether it replaces a file. */
    boolean check() throws IOException {
        if (path.isRoot()) {
            throw new IOException("cannot make " + path + ": it has no name");
        }
        if (!isStore() && !isLocal()) {
            context();
        }
        hasKeys = false;
        if (!files.exists(path)) {
            checkFirst();
            return false;
        }
        if (!replace) {
            throw exists();
        }
        byte[] head = new byte[HEADER];
        boolean regular = storage.isFile(path);
        int n = regular ? readHead(path, head) : 0;
        if (!regular || n > 0 && !isFilter(head)) {
            throw new IOException("cannot replace " + path + ": it is not a filter (write to another file)");
        }
        ByteBuffer header = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        boolean embedded = isEmbedded(header);
        hasKeys = n > 0 && !isEmpty(header, embedded ? EMBEDDED : HEADER);
        if (!embedded && isLive(header)) {
            throw new IOException("cannot replace " + path + ": it is a live filter, to which programs may add (write to"
                    + " another file)");
        }
        if (!embedded && !(isIntact(header, 0, HEADER / 2) && isSealed(header))) {
            checkFirst();
        }
        return true;
    }

    /** Throws if the path is that of a live series' lost first file. A new file would hide the other layers' keys. */
    private void checkFirst() throws IOException {
        if (!isLocal()) {
            return; // not a live series
        }
        java.nio.file.Path first = Paths.get(path.toUri().getPath());
        for (int left = TRIES; left > 0 && Files.isSymbolicLink(first); left--) {
            first = first.resolveSibling(Files.readSymbolicLink(first));
        }
        java.nio.file.Path second = first.resolveSibling(first.getFileName() + ".1");
        if (!Files.isRegularFile(second)) {
            return;
        }
        byte[] head = new byte[HEADER];
        readHead(new Path(second.toUri()), head);
        ByteBuffer header = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        if (!isFilter(head) || isEmbedded(header)) {
            return;
        }
        long layer = header.getLong(LAYER);
        int generations = header.getInt(GENERATIONS);
        boolean isSecond = isLiveLayer(header) && (generations == 0 ? layer : layer % generations) == 1;
        if (isSecond || !isIntact(header, 0, HEADER / 2)) {
            throw new IOException("cannot make " + path + ": the live series of that name has lost its first file"
                    + " (restore that file, or write to another file)");
        }
    }

    /** Reads the first bytes of a file. Returns their number. */
    private int readHead(Path file, byte[] head) throws IOException {
        try (InputStream in = files.open(file)) {
            return in.readNBytes(head, 0, head.length);
        }
    }

    private static boolean isFilter(byte[] head) {
        return Arrays.equals(head, 0, MAGIC.length, MAGIC, 0, MAGIC.length);
    }

    /** The same for a new filter with this number of keys. */
    private boolean check(long keys) throws IOException {
        boolean replaces = check();
        if (keys == 0 && hasKeys) {
            throw new IOException("cannot replace " + path + ": the new filter has no keys"
                    + " (write to another file)");
        }
        return replaces;
    }

    /** Returns whether some bytes end with their checksum (section 12.1). */
    private static boolean isIntact(ByteBuffer head, int at, int size) {
        CRC32 crc = new CRC32();
        crc.update(head.array(), at, size - 4);
        return head.getInt(at + size - 4) == (int) crc.getValue();
    }

    /** Returns whether a header certainly is of a filter without keys. The other layers of a series may have keys. */
    private static boolean isEmpty(ByteBuffer head, int size) {
        boolean empty = isIntact(head, 0, size / 2) && (head.getInt(INCOMPAT) & 1) == 0;
        for (int at = size / 2; at < size; at += size / 4) {
            empty &= isIntact(head, at, size / 4) && head.getLong(at + KEYS) == 0 && head.getInt(at + FLAGS) == 0;
        }
        return empty;
    }

    private static boolean isEmbedded(ByteBuffer head) {
        return head.getInt(SIZE) == EMBEDDED && isIntact(head, 0, EMBEDDED / 2);
    }

    /** Returns whether a static header is intact, and that of a layer of a live series. */
    private static boolean isLiveLayer(ByteBuffer head) {
        return isIntact(head, 0, HEADER / 2) && (head.getInt(INCOMPAT) & 1) != 0 && head.getInt(LAYERS) == 0;
    }

    /** Returns whether a header, which may be damaged, has an intact sealed record. */
    private static boolean isSealed(ByteBuffer head) {
        boolean sealed = false;
        for (int at = HEADER / 2; at < HEADER; at += HEADER / 4) {
            sealed |= head.getInt(at + STATE) == SEALED && isIntact(head, at, HEADER / 4);
        }
        return sealed;
    }

    /**
     * Returns whether a header, which may be damaged, is that of a live layer, or has a record that is live or poisoned, and
     * no intact sealed record.
     */
    private static boolean isLive(ByteBuffer head) {
        boolean live = isLiveLayer(head);
        for (int at = HEADER / 2; at < HEADER; at += HEADER / 4) {
            int state = head.getInt(at + STATE);
            live |= state == LIVE || state == POISONED;
        }
        return live && !isSealed(head);
    }

    private IOException exists() {
        return new FileAlreadyExistsException("cannot make " + path + ": it exists (write to another file,"
                + " or allow replacing it)");
    }

    /** Makes the folder for slices, with a name of its own. */
    Scratch begin() throws IOException {
        Path folder = new Path(path.getParent(), "." + path.getName() + "." + UUID.randomUUID() + END);
        if (!files.mkdirs(folder)) {
            throw new IOException("cannot make the folder " + folder);
        }
        // If the driver is ended, but not killed.
        files.deleteOnExit(folder);
        return new Scratch(folder);
    }

    /** Removes the folders of builds whose driver died at least a week ago, and returns the others. */
    List<String> leftovers() throws IOException {
        List<String> found = new ArrayList<>();
        if (!files.exists(path.getParent())) {
            return found;
        }
        RemoteIterator<FileStatus> all = files.listStatusIterator(path.getParent());
        while (all.hasNext()) {
            FileStatus one = all.next();
            String name = one.getPath().getName();
            if (name.matches(Pattern.quote("." + path.getName() + ".") + "[0-9a-f-]{36}" + Pattern.quote(END))) {
                if (one.getModificationTime() < System.currentTimeMillis() - WEEK) {
                    LOG.info("Removing {}, which a build left behind", one.getPath());
                    files.delete(one.getPath(), true);
                } else {
                    LOG.warn("{} is of a build that died, or is under way; remove it if that is not so", one.getPath());
                    found.add(one.getPath().toString());
                }
            }
        }
        return found;
    }

    private boolean isLocal() {
        return "file".equals(path.toUri().getScheme());
    }

    /** Returns whether a file there appears when its upload ends, and not before. */
    private boolean isStore() throws IOException {
        return files.hasPathCapability(path, ABORTABLE);
    }

    private FileContext context() throws IOException {
        try {
            return FileContext.getFileContext(path.toUri(), storage.configuration());
        } catch (UnsupportedFileSystemException none) {
            throw new IOException("cannot make " + path + ": its file system can neither replace a file at once nor give"
                    + " up an upload (make the filter on another file system, and copy it)", none);
        }
    }

    /** The folder for slices. Closing removes it. */
    final class Scratch implements Closeable {
        private final Path folder;

        Scratch(Path folder) {
            this.folder = folder;
        }

        Path folder() {
            return folder;
        }

        /** Publishes the file at its path, complete and on disk. If this throws, an existing file is unchanged. */
        void publish(long keys, Content content) throws IOException {
            check(keys);
            if (isStore()) {
                upload(keys, content);
                return;
            }
            Path whole = new Path(folder, "whole");
            try (FSDataOutputStream out = files.createFile(whole).overwrite(false).build()) {
                content.writeTo(out);
                if (out.hasCapability(StreamCapabilities.HSYNC)) {
                    out.hsync();
                }
            }
            java.nio.file.Path from = Paths.get(whole.toUri().getPath());
            java.nio.file.Path to = Paths.get(path.toUri().getPath());
            if (isLocal()) {
                sync(from);
            }
            for (int left = TRIES; !move(whole, from, to, check(keys)); left--) { // another file may have appeared
                if (!replace || left == 1) {
                    throw exists();
                }
            }
            if (isLocal()) {
                sync(to.getParent());
                sync(to); // After an error XFS loses the name, and reports that when the file is synced, not when the folder is.
            }
        }

        /** Gives the file its name. Returns false if the name is taken, and the file there may not be replaced. */
        private boolean move(Path whole, java.nio.file.Path from, java.nio.file.Path to, boolean replaces) throws IOException {
            try {
                if (!isLocal()) {
                    context().rename(whole, path, replaces ? Options.Rename.OVERWRITE : Options.Rename.NONE);
                } else if (replaces || replace && isDangling(to) || !link(from, to)) {
                    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
                }
                return true;
            } catch (FileAlreadyExistsException | java.nio.file.FileAlreadyExistsException another) {
                return false;
            }
        }

        /** Returns whether it is a symbolic link to a file that does not exist. */
        private boolean isDangling(java.nio.file.Path to) {
            return Files.isSymbolicLink(to) && !Files.exists(to);
        }

        /** Returns false if the file system has no links, and a file may be replaced. */
        private boolean link(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
            try {
                Files.createLink(to, from);
                return true;
            } catch (java.nio.file.FileAlreadyExistsException another) {
                throw another;
            } catch (UnsupportedOperationException | FileSystemException none) {
                if (!replace) {
                    throw none;
                }
                return false;
            }
        }

        private void upload(long keys, Content content) throws IOException {
            FSDataOutputStream out = files.create(path, replace);
            boolean done = false;
            try {
                content.writeTo(out);
                check(keys);
                done = true;
            } finally {
                if (!done) {
                    out.abort();
                }
                out.close();
            }
        }

        private void sync(java.nio.file.Path what) throws IOException {
            try (FileChannel channel = FileChannel.open(what, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }

        @Override
        public void close() {
            try {
                files.delete(folder, true);
                files.cancelDeleteOnExit(folder);
            } catch (IOException left) {
                LOG.warn("{} is left behind, and can be removed: {}", folder, left.toString());
            }
        }
    }
}
