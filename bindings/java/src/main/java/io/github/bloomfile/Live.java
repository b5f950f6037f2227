// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;

/**
 * Reads a live filter: live.md 2. Never writes. Java's file locks are released when the VM closes any channel of the
 * file, so a Java program cannot be a writer. The only lock here is held briefly, to test whether another process holds
 * byte 3.
 */
final class Live {
    /** The live filters that may be opened. */
    enum Admit { NONE, CLEAN, ALL }

    /** R1: a record may be in the middle of a write. */
    private static final int READS = 100;
    /** File systems that other hosts may write to, or that may keep an older copy, as the mount table names them. */
    private static final Set<String> SHARED = Set.of("nfs", "nfs4", "smb", "smb2", "smb3", "smbfs", "cifs", "9p", "afs", "ceph", "coda", "lustre",
            "gpfs", "ocfs2", "gfs2", "vboxsf", "vmhgfs", "prl_fs", "hostfs", "pvfs2", "beegfs", "panfs", "cvfs", "snfs", "acfs",
            "vxfs", "ibrix", "ncpfs", "aufs");
    private static final int STATE = 8;
    private static final byte[] POISON = {Header.POISONED, 0, 0, 0, 0, 0, 0, 0};

    private final RandomAccessFile file;
    private final String path;
    private final boolean applications;
    private final Admit admit;
    private final ByteBuffer records;
    private byte[] head;
    private Header first;
    private Header last;

    private Live(RandomAccessFile file, Path path, Admit admit, boolean applications) throws IOException {
        this.file = file;
        this.path = path.toString();
        this.admit = admit;
        this.applications = applications;
        records = file.length() < Header.FILE ? null
                : Tail.map(file, Header.FILE / 2, Header.FILE / 2).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The live filter of a file, or null if it is sealed, or refused as other files are. */
    static Live of(RandomAccessFile file, Path path, boolean isFit, Admit admit, boolean applications) throws IOException {
        Live live = new Live(file, path, admit, applications);
        if (live.records == null) {
            return null;
        }
        Header h = live.read(true);
        if (h.state != Header.LIVE) {
            return null;
        }
        live.first = h;
        live.last = h;
        live.source().check(isFit, ErrorCode.EFILESYSTEM, Files.getFileStore(path).type());
        return live;
    }

    /** The header that was found valid when the file was opened. */
    byte[] head() {
        return head;
    }

    private Header.Source source() {
        Header.Source source = new Header.Source("open " + path, applications);
        source.live = true;
        return source;
    }

    /** R1 to R5: a header that is valid, and clean unless all are admitted. */
    private Header read(boolean opening) throws IOException {
        for (;;) {
            Header h = intact();
            boolean dirty = h.state == Header.LIVE && !(opening && Arrays.equals(h.bootId, new byte[16])); // R3
            if (!dirty || admit == Admit.ALL) {
                return h;
            }
            if (opening) { // R11 applies R5 alone
                source().check(Arrays.equals(h.bootId, boot()), ErrorCode.EUNCLEAN, "the machine died"); // R4
            }
            if ((h.flags & Header.FLAG_SYNCHRONISING) == 0 || isSynchronising()) { // R5
                return h;
            }
            source().check(intact().sequence != h.sequence, ErrorCode.EUNCLEAN, "a writer died in a sync");
        }
    }

    /** R1: reads again while a record is damaged. */
    private Header intact() throws IOException {
        for (int i = 1;; i++) {
            byte[] bytes = new byte[Header.FILE];
            long size;
            synchronized (file) {
                size = file.length();
                file.seek(0);
                try {
                    file.readFully(bytes);
                } catch (EOFException e) {
                    throw source().error(ErrorCode.ETRUNCATED, size + " bytes");
                }
            }
            try {
                Header h = Header.decode(bytes, size, source());
                head = head == null || first == null ? bytes : head;
                return h;
            } catch (BloomfileException e) {
                if (e.code() != ErrorCode.ERECORD || i == READS) {
                    throw e;
                }
                Thread.yield();
            }
        }
    }

    /** The identity of the present boot. */
    private byte[] boot() throws IOException {
        byte[] id = new byte[16];
        try {
            String digits = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim().replace("-", "");
            for (int i = 0; i < id.length; i++) {
                id[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
            }
            return id;
        } catch (IOException | RuntimeException e) {
            throw source().error(ErrorCode.ENOBOOT, null);
        }
    }

    /** Returns whether a process holds byte 3 exclusively: a shared lock is refused then. */
    private boolean isSynchronising() throws IOException {
        synchronized (Live.class) {
            for (;;) {
                try (FileLock lock = file.getChannel().tryLock(3, 1, true)) {
                    return lock == null;
                } catch (OverlappingFileLockException e) {
                    Thread.yield(); // a copy of this class in another class loader
                }
            }
        }
    }

    /**
     * R7: whether the file system is fit for live filters. Called before the file is opened: on overlayfs, an opening that is
     * older than the first one for writing keeps an older copy.
     */
    static boolean isFit(Path path) throws IOException {
        String type = Files.getFileStore(path).type().toLowerCase(Locale.ROOT);
        if (!type.equals("overlay")) {
            return !isShared(type);
        }
        try (FileChannel copied = FileChannel.open(path, StandardOpenOption.WRITE)) {
            return copied.isOpen();
        } catch (IOException e) {
            return false;
        }
    }

    static boolean isShared(String type) {
        return SHARED.contains(type);
    }

    /**
     * R8: why bits may be missing, or null: a record is poisoned, or both are zeros, because the file was truncated and
     * extended again. Call this after the bits were read.
     */
    ErrorCode poison() {
        VarHandle.acquireFence();
        int first = state(STATE);
        int second = state(Header.FILE / 4 + STATE);
        return first == Header.POISONED || second == Header.POISONED ? ErrorCode.EPOISONED
                : (first | second) == 0 ? ErrorCode.ECHANGED : null;
    }

    /** Reads by a copy: if the file was truncated, the copy leaves the initial value, which is "poisoned". */
    private int state(int at) {
        byte[] word = POISON.clone();
        Copies.copy(records, at, word);
        return Header.u32(word, 0);
    }

    /** R11: returns the error of the file, or null. */
    synchronized ErrorCode look() {
        try {
            Header now = read(false);
            boolean sealed = now.state == Header.SEALED;
            boolean same = sealed || Arrays.equals(now.identity, first.identity)
                    && Long.compareUnsigned(now.sequence, last.sequence) >= 0;
            last = now;
            return same ? null : ErrorCode.ECHANGED;
        } catch (BloomfileException e) {
            return e.code() == ErrorCode.EPOISONED || e.code() == ErrorCode.EUNCLEAN ? e.code() : ErrorCode.ECHANGED;
        } catch (IOException e) {
            return ErrorCode.ECHANGED;
        }
    }
}
