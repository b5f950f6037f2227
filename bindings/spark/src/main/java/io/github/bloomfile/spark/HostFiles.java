// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Filters shared by all processes of a user on a host, each named by the SHA-256 of its bytes. Spark gives every
 * executor its own copy; mapped from here, they share one copy in memory.
 *
 * <p>The folder belongs to the user: its mode is 0700, and it is refused if another user created it. Files are
 * published by rename. A process that uses a file holds a shared lock, which ends with the process even if it is
 * killed. When a process starts or ends, it removes the files that are not in use. The locks are bytes of one file,
 * which is never removed.
 */
final class HostFiles {
    private static final Logger LOG = LoggerFactory.getLogger(HostFiles.class);

    /** Where the folder is, if not where this machine has its temporary files. */
    private static final String OPTION = "spark.bloomfile.dir";

    private static final String END = ".bloom";
    private static final String UNFINISHED = ".unfinished";

    /** The locks on the files that this process uses, by SHA-256. */
    private static final Map<String, FileLock> USED = new HashMap<>();
    private static Path folder;
    private static FileChannel locks;

    private HostFiles() {
    }

    /** Where a file comes from. */
    interface Source {
        /**
         * A file on this host that may be linked instead of copied, which is Spark's own copy, or null. The user's own
         * file must not be linked: the link would change with it if a program such as cp overwrites it in place.
         */
        Path local();

        /** Its bytes. */
        InputStream open() throws IOException;
    }

    /**
     * Returns the path of a file that exists until {@link #release} or the end of the process.
     *
     * @throws IOException if the source cannot be read, or its bytes have another checksum
     */
    static synchronized Path keep(String sha256, Source source) throws IOException {
        try {
            prepare();
        } catch (IOException | UnsupportedOperationException refused) {
            LOG.warn("This process does not share filters with others of the host: {}", refused.toString());
            return alone(sha256, source);
        }
        Path file = folder.resolve(sha256 + END);
        if (USED.containsKey(sha256) && Files.exists(file)) {
            return file;
        }
        release(sha256);
        FileLock making;
        FileLock using = null;
        try {
            making = locks.lock(place(sha256), 1, false);
            try {
                using = locks.lock(place(sha256) + 1, 1, true);
            } finally {
                if (using == null) {
                    making.release();
                }
            }
        } catch (IOException | OverlappingFileLockException refused) {
            // OverlappingFileLockException: two class loaders loaded this class.
            LOG.warn("This process does not share filters with others of the host: {}", refused.toString());
            return alone(sha256, source);
        }
        boolean kept = false;
        try {
            if (!isIntact(file, sha256)) {
                make(folder.resolve(sha256 + UNFINISHED), sha256, source);
                Files.move(folder.resolve(sha256 + UNFINISHED), file, StandardCopyOption.ATOMIC_MOVE);
            }
            USED.put(sha256, using);
            kept = true;
        } finally {
            if (!kept) {
                using.release();
            }
            making.release();
        }
        removeUnused();
        return file;
    }

    /** Returns whether the file exists unchanged. Writes to a changed file, so that processes that map it notice. */
    private static boolean isIntact(Path file, String sha256) throws IOException {
        if (!Files.exists(file)) {
            return false;
        }
        if (sha256.equals(sha256(Files.newInputStream(file), OutputStream.nullOutputStream()))) {
            return true;
        }
        LOG.warn("{} was changed; it is made again", file);
        try (OutputStream mark = Files.newOutputStream(file, StandardOpenOption.WRITE)) {
            mark.write(0);
        }
        return false;
    }

    /** Ends the use of a file by this process. Existing mappings remain readable. */
    static synchronized void release(String sha256) {
        FileLock using = USED.remove(sha256);
        if (using != null) {
            try {
                using.release();
                removeUnused();
            } catch (IOException left) {
                LOG.info("{}{} stays in {} for now: {}", sha256, END, folder, left.toString());
            }
        }
    }

    private static synchronized void releaseAll() {
        for (String sha256 : USED.keySet().toArray(new String[0])) {
            release(sha256);
        }
    }

    /** Copies a stream and returns the SHA-256 of its bytes, in hexadecimal. Closes the stream. */
    static String sha256(InputStream in, OutputStream copy) throws IOException {
        MessageDigest sum;
        try {
            sum = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
        byte[] buffer = new byte[1 << 18];
        try (in) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                sum.update(buffer, 0, n);
                copy.write(buffer, 0, n);
            }
        }
        StringBuilder text = new StringBuilder(64);
        for (byte b : sum.digest()) {
            text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return text.toString();
    }

    /** A private file of this process, for hosts without a shared folder. */
    private static Path alone(String sha256, Source source) throws IOException {
        Path own = Files.createTempDirectory("bloomfile");
        own.toFile().deleteOnExit();
        Path file = own.resolve(sha256 + END);
        file.toFile().deleteOnExit();
        make(file, sha256, source);
        return file;
    }

    /** Makes the file, as a link if that can be. */
    private static void make(Path file, String sha256, Source source) throws IOException {
        Files.deleteIfExists(file);
        if (source.local() != null) {
            try {
                Files.createLink(file, source.local());
                check(sha256, sha256(Files.newInputStream(file), OutputStream.nullOutputStream()), source);
                return;
            } catch (IOException | UnsupportedOperationException noLink) {
                // Another file system, or not this user's file.
                Files.deleteIfExists(file);
            }
        }
        boolean done = false;
        try (OutputStream copy = Files.newOutputStream(file)) {
            check(sha256, sha256(source.open(), copy), source);
            done = true;
        } finally {
            if (!done) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static void check(String wanted, String found, Source source) throws IOException {
        if (!wanted.equals(found)) {
            throw new IOException("cannot use " + source + ": its bytes are not those of the filter that was registered"
                    + " (SHA-256 " + found + ", not " + wanted + "). If the file was replaced, register it again;"
                    + " if not, it was damaged on its way to this machine");
        }
    }

    /** Opens the folder, and the locks in it, once. */
    private static void prepare() throws IOException {
        boolean first = locks == null;
        if (!first && locks.isOpen()) {
            return;
        }
        // Java closes a channel when a thread is interrupted in it, as Spark does to tasks. That ends the locks.
        USED.clear();
        Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        Path wanted = Path.of(parent(), "bloomfile-" + user);
        try {
            Files.createDirectory(wanted, PosixFilePermissions.asFileAttribute(
                    PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException there) {
            // The folder exists: made by an earlier process, or refused below.
        }
        if (!Files.isDirectory(wanted, LinkOption.NOFOLLOW_LINKS)
                || !user.equals(Files.getAttribute(wanted, "unix:uid", LinkOption.NOFOLLOW_LINKS))
                || !PosixFilePermissions.toString(Files.getPosixFilePermissions(wanted)).equals("rwx------")) {
            throw new IOException(wanted + " is not a folder of this user alone (owner " + user + ", mode 0700); remove"
                    + " it, or name another place by " + OPTION);
        }
        folder = wanted;
        locks = FileChannel.open(folder.resolve("locks"), StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.READ);
        if (first) {
            Runtime.getRuntime().addShutdownHook(new Thread(HostFiles::releaseAll));
        }
    }

    /** Returns a folder in which all executors of this host may write, as YARN or Spark configures it. */
    private static String parent() {
        String option = SparkEnv.get() == null ? "" : SparkEnv.get().conf().get(OPTION, "");
        if (!option.isEmpty()) {
            return option;
        }
        String yarn = System.getenv("LOCAL_DIRS");
        if (yarn != null && !yarn.isEmpty()) {
            return yarn.split(",")[0];
        }
        return System.getProperty("java.io.tmpdir", File.separator + "tmp");
    }

    private static void removeUnused() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*{" + END + "," + UNFINISHED + "}")) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                String sha256 = name.substring(0, name.indexOf('.'));
                if (sha256.matches("[0-9a-f]{64}") && !USED.containsKey(sha256)) {
                    try (FileLock alone = locks.tryLock(place(sha256) + 1, 1, false)) {
                        if (alone != null) {
                            Files.deleteIfExists(file);
                        }
                    } catch (OverlappingFileLockException used) {
                        // This process has it locked through another class loader.
                        LOG.debug("{} is in use", file);
                    }
                }
            }
        }
    }

    /** The first of two bytes that are locked for a file: by who makes it, alone, and by those who use it, together. */
    private static long place(String sha256) {
        return Long.parseLong(sha256.substring(0, 15), 16) << 2;
    }
}
