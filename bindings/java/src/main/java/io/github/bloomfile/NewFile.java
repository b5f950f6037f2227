// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A file that appears under its name complete and on disk, or not at all. Until then it has a temporary name in the same
 * folder, {@code .bloomfile-} and a number, and closing removes it; if the program is killed, it stays.
 */
final class NewFile implements Closeable {
    private static final int TRIES = 100;
    private static final Set<PosixFilePermission> OWNER = PosixFilePermissions.fromString("rw-------");

    private final Path target;
    private final Path temporary;
    private final WriteOption[] options;
    private final FileChannel channel;
    private boolean published;

    /**
     * Makes the temporary file.
     *
     * @param path the name that it will get; if that is a symbolic link, the file that it points to is replaced
     * @throws FileAlreadyExistsException if it exists and may not be replaced
     */
    NewFile(Path path, WriteOption... options) throws IOException {
        this.options = options;
        target = Files.isSymbolicLink(path) && Files.exists(path) ? path.toRealPath() : path;
        boolean replaces = checkOld();
        temporary = target.resolveSibling(".bloomfile-" + Long.toHexString(new SecureRandom().nextLong()));
        channel = create(temporary, replaces);
    }

    /**
     * Makes and opens a file.
     *
     * @param isPrivate whether only this user may read it, if the file system has rights
     */
    static FileChannel create(Path path, boolean isPrivate, OpenOption... more) throws IOException {
        Set<OpenOption> options = new HashSet<>(List.of(more));
        options.addAll(List.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE));
        boolean can = isPrivate && path.getFileSystem().supportedFileAttributeViews().contains("posix");
        return can ? FileChannel.open(path, options, PosixFilePermissions.asFileAttribute(OWNER))
                : FileChannel.open(path, options);
    }

    FileChannel channel() {
        return channel;
    }

    /** Looks up the name. Returns whether it exists. */
    private boolean checkOld() throws IOException {
        if (!Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
            checkFirst();
            return false;
        }
        if (!WriteOption.has(options, WriteOption.REPLACE)) {
            throw new FileAlreadyExistsException(target.toString(), null, "it exists (write to another file; the option REPLACE would overwrite this file)");
        }
        if (!Files.isRegularFile(target)) {
            throw refusal("it is not a regular file (write to another file)");
        }
        oldMayHaveKeys();
        return true;
    }

    /** Returns whether some bytes end with their checksum. */
    private static boolean isIntact(byte[] head, int at, int size) {
        return Header.u32(head, at + size - 4) == Header.crc(head, at, size - 4);
    }

    /** Returns whether a static header is intact, and that of a layer of a live series. */
    private static boolean isLiveLayer(byte[] head) {
        boolean isLayer = (Header.u32(head, 24) & Header.INCOMPAT_LAYER) != 0;
        return isLayer && Header.u32(head, 260) == 0 && isIntact(head, 0, Header.FILE / 2);
    }

    /**
     * Returns whether a damaged header is that of a live layer, or has a record that is live or poisoned, and no intact
     * sealed record.
     */
    private static boolean looksLive(byte[] head) {
        int size = Header.FILE / 4;
        boolean live = isLiveLayer(head);
        for (int at = Header.FILE / 2; at < Header.FILE; at += size) {
            int state = Header.u32(head, at + 8);
            if (state == Header.SEALED && isIntact(head, at, size)) {
                return false;
            }
            live |= state == Header.LIVE || state == Header.POISONED;
        }
        return live;
    }

    /** The first {@link Header#FILE} bytes of a file, padded with zeros. */
    private static byte[] headOf(FileChannel file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Header.FILE);
        while (bytes.hasRemaining() && file.read(bytes) > 0) {
            continue;
        }
        return bytes.array();
    }

    /** Throws if the path is that of a live series' lost first file. A new file would hide the other layers' keys. */
    private void checkFirst() throws IOException {
        Path second = target.resolveSibling(target.getFileName() + ".1");
        if (!Files.isRegularFile(second)) {
            return;
        }
        byte[] head;
        try (FileChannel file = FileChannel.open(second, StandardOpenOption.READ)) {
            head = headOf(file);
        }
        boolean embedded = Header.u32(head, 12) == Header.EMBEDDED && isIntact(head, 0, Header.EMBEDDED / 2);
        if (embedded || !Header.begins(head, head.length, Header.MAGIC)) {
            return;
        }
        long layer = Header.u64(head, 248);
        int generations = Header.u32(head, 256);
        boolean isSecond = isLiveLayer(head) && (generations == 0 ? layer : layer % generations) == 1;
        if (isSecond || !isIntact(head, 0, Header.FILE / 2)) {
            throw refusal("the live series of that name has lost its first file (restore that file, or write to another file)");
        }
    }

    private FileSystemException refusalOfLive() {
        return refusal("it is a live filter, to which programs may add (write to another file)");
    }

    /** Throws if the file to be replaced is live or not a filter. Returns false if it certainly has no keys. */
    private boolean oldMayHaveKeys() throws IOException {
        byte[] head = {};
        try (FileChannel old = FileChannel.open(target, StandardOpenOption.READ)) {
            head = headOf(old);
            Header header = Header.decode(head, old.size(), new Header.Source("replace " + target, true));
            return header.n != 0 || header.flags != 0 || header.isLayer(); // other layers may have keys
        } catch (NoSuchFileException e) {
            return false;
        } catch (BloomfileException e) {
            switch (e.code()) {
                case EEMPTY:
                    checkFirst();
                    return false;
                case EMAGIC:
                    throw refusal("it is not a filter (write to another file)");
                case ELIVE:
                case EPOISONED:
                    throw refusalOfLive();
                default:
                    if (looksLive(head)) {
                        throw refusalOfLive();
                    }
                    checkFirst();
                    return true;
            }
        }
    }

    private FileSystemException refusal(String why) {
        return new FileSystemException(target.toString(), null, "cannot replace it: " + why);
    }

    /**
     * Gives the file its name. All of it is on disk then, and so is the name where the system allows a folder to be
     * synchronised.
     *
     * @param keys whether the filter has any
     */
    void publish(boolean keys) throws IOException {
        channel.force(true);
        for (int left = TRIES; !(checkOld() ? replace(keys) : link(left > 1)); left--) {
            continue; // another file took the name
        }
        published = true;
        syncFolder();
    }

    /** Replaces the file that has the name. Returns true. */
    private boolean replace(boolean keys) throws IOException {
        keepRights();
        boolean hadKeys = oldMayHaveKeys(); // throws if it is live now
        if (hadKeys && !keys && !WriteOption.has(options, WriteOption.ALLOW_EMPTY)) {
            throw refusal("the new filter has no keys (to replace the old file anyway: the option ALLOW_EMPTY)");
        }
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        return true;
    }

    /** Gives the file permissions, group and owner of the file that it replaces. No user gets new rights. */
    private void keepRights() throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(temporary, PosixFileAttributeView.class);
        if (view == null) {
            return;
        }
        PosixFileAttributes old = Files.readAttributes(target, PosixFileAttributes.class);
        Set<PosixFilePermission> rights = new HashSet<>(old.permissions());
        try {
            view.setGroup(old.group());
        } catch (IOException e) {
            withoutGroup(rights);
        }
        view.setPermissions(rights);
        try {
            view.setOwner(old.owner());
        } catch (IOException e) {
            return; // Only root can change the owner.
        }
    }

    /** The group's members then get the rights of all users. */
    private static void withoutGroup(Set<PosixFilePermission> rights) {
        String all = PosixFilePermissions.toString(rights);
        rights.retainAll(PosixFilePermissions.fromString(all.substring(0, 3) + "---" + all.substring(3, 6)));
    }

    /** Moves the file to a free name. Returns false if another file took it, and may be replaced. */
    private boolean link(boolean again) throws IOException {
        try {
            Files.createLink(target, temporary);
        } catch (FileAlreadyExistsException e) {
            if (again && WriteOption.has(options, WriteOption.REPLACE)) {
                return false;
            }
            throw e;
        } catch (UnsupportedOperationException | FileSystemException e) {
            // A file system without links: here another file may slip in between, and is then replaced.
            if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
                throw new FileAlreadyExistsException(target.toString());
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
            return true;
        }
        Files.delete(temporary);
        return true;
    }

    /** Once the file has its name, an interrupt must not make a failure of it. */
    private void syncFolder() throws IOException {
        Path folder = target.toAbsolutePath().getParent();
        Uninterrupted.run(() -> sync(folder));
        // After an error XFS loses the name, and reports that when the file is synced, not when the folder is.
        Uninterrupted.run(() -> {
            if (!channel.isOpen()) {
                return sync(target);
            }
            channel.force(true);
            return null;
        });
    }

    private static Void sync(Path what) throws IOException {
        FileChannel opened;
        try {
            opened = FileChannel.open(what, StandardOpenOption.READ);
        } catch (IOException e) {
            return null; // Windows opens no folders, and does not need this.
        }
        try (FileChannel channel = opened) {
            channel.force(true);
        }
        return null;
    }

    @Override
    public void close() throws IOException {
        try {
            channel.close();
        } finally {
            if (!published) {
                Files.deleteIfExists(temporary);
            }
        }
    }
}
