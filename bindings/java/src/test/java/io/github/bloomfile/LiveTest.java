// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Live filters that C programs make, read while they change. */
public class LiveTest {
    private static final Filter.Options LIVE = Filter.Options.DEFAULT.live();
    private static final String TOOLS = System.getProperty("bloomfile.tools", "");
    private static final int RECORD = 2048;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private Path path;

    @Before
    public void path() {
        path = folder.getRoot().toPath().resolve("live.bloom");
    }

    private int run(String tool, String... words) throws Exception {
        String[] command = new String[words.length + 1];
        command[0] = Path.of(TOOLS, tool).toString();
        System.arraycopy(words, 0, command, 1, words.length);
        Process process = new ProcessBuilder(command).directory(folder.getRoot()).redirectErrorStream(true).start();
        process.getOutputStream().close();
        process.getInputStream().readAllBytes();
        return process.waitFor();
    }

    private void add(int from, int to) throws Exception {
        StringBuilder lines = new StringBuilder();
        for (int i = from; i < to; i++) {
            lines.append('k').append(i).append('\n');
        }
        Path keys = Files.writeString(folder.getRoot().toPath().resolve("keys"), lines);
        assertEquals(0, run("bfadd", path.toString(), keys.toString()));
    }

    private void create(String... more) throws Exception {
        assumeTrue(Files.isExecutable(Path.of(TOOLS, "bfcreate")));
        String[] words = new String[more.length + 4];
        System.arraycopy(new String[] {"--live", "-n", "5000"}, 0, words, 0, 3);
        System.arraycopy(more, 0, words, 3, more.length);
        words[words.length - 1] = path.toString();
        assertEquals(0, run("bfcreate", words));
    }

    private static int found(Filter f, int from, int to) {
        int found = 0;
        long[] digests = new long[to - from];
        for (int i = from; i < to; i++) {
            found += f.mayContain("k" + i) ? 1 : 0;
            digests[i - from] = f.digest("k" + i);
        }
        assertEquals(found, f.mayContainDigests(digests, new boolean[to - from]));
        return found;
    }

    private static void refused(String attempted, String why, ThrowingRunnable call) {
        assertEquals("cannot " + attempted + ": " + why + " [BLOOMFILE_ELIVE]", assertThrows(BloomfileException.class, call).getMessage());
    }

    /** The file systems of live.md, R7, by their names in the mount table. */
    @Test
    public void fileSystemsOfOtherHostsAreRefused() {
        for (String type : new String[] {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "coda", "lustre", "gpfs", "ocfs2", "gfs2", "pvfs2",
            "beegfs", "panfs", "cvfs", "snfs", "acfs", "vxfs", "ibrix", "ncpfs", "vboxsf", "vmhgfs", "prl_fs", "hostfs", "aufs"}) {
            assertTrue(type, Live.isShared(type));
        }
        for (String type : new String[] {"ext4", "xfs", "btrfs", "tmpfs", "overlay"}) {
            assertFalse(type, Live.isShared(type));
        }
    }

    @Test
    public void keysOfAnotherProgramAreFound() throws Exception {
        for (String layout : new String[] {"blocked", "classic", "counting"}) {
            create("-l", layout);
            refused("open " + path, "live, without checksums (open it with Options.live(), or seal it first: bfseal FILE)",
                    () -> Filter.open(path));
            for (Filter.Options part : new Filter.Options[] {LIVE.inMemory(), LIVE.range(0, Files.size(path))}) {
                refused("open " + path, "live, without checksums (open the whole file, mapped, or seal it first: bfseal FILE)",
                        () -> Filter.open(path, part));
            }
            try (Filter f = Filter.open(path, LIVE); Filter uncut = Filter.open(path, LIVE.uncut())) {
                assertTrue(f.info().isLive());
                assertEquals(0, found(f, 0, 5000) + found(uncut, 0, 5000));
                add(0, 2500);
                assertEquals(2500, found(f, 0, 2500));
                assertEquals(2500, found(uncut, 0, 2500));
                assertTrue(found(f, 2500, 5000) < 100);
                assertNull(f.error());
                refused("verify " + path, "it was live when it was opened (seal it, bfseal FILE, and open it again)", f::verify);
                add(2500, 3000);
                assertEquals(0, run("bfseal", path.toString()));
                assertEquals(3000, found(f, 0, 3000));
                assertNull(f.error());
            }
            try (Filter f = Filter.open(path, LIVE)) {
                assertFalse(f.info().isLive());
                f.verify();
                assertEquals(3000, found(f, 0, 3000));
            }
            Files.delete(path);
        }
    }

    private byte[] golden(String name) throws IOException {
        return Files.readAllBytes(Spec.REFUSED.resolve(name));
    }

    /** The record in force and its copy, with other flags and identity of the boot. */
    private static byte[] record(byte[] image, int flags, String boot) {
        for (int at = RECORD; at < 4096; at += 1024) {
            Header.INT.set(image, at + 8, Header.LIVE);
            Header.INT.set(image, at + 12, flags);
            byte[] id = boot.isEmpty() ? new byte[16] : Spec.bytes(boot);
            System.arraycopy(id, 0, image, at + 40, 16);
            System.arraycopy(image, RECORD, image, at, 144);
        }
        Spec.mend(image);
        return image;
    }

    private static String boot() throws IOException {
        return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim().replace("-", "");
    }

    @Test
    public void poisonWrittenWhileOpenAnswersMaybe() throws Exception {
        for (int slot : new int[] {RECORD, RECORD + 1024}) {
            Files.write(path, record(golden("live-clean.bloom"), 0, ""));
            try (Filter f = Filter.open(path, LIVE); Filter uncut = Filter.open(path, LIVE.uncut())) {
                long absent = new Random(1).longs().filter(x -> !f.mayContainDigest(x)).findFirst().getAsLong();
                assertFalse(uncut.mayContainDigest(absent));
                try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                    file.seek(slot + 8);
                    file.write(Header.POISONED);
                }
                assertEquals(1, f.mayContainDigests(new long[] {absent}, new boolean[1]));
                assertTrue(f.mayContainDigest(absent));
                assertTrue(uncut.mayContainDigest(absent));
                assertEquals(ErrorCode.EPOISONED, f.error().code());
            }
            assertEquals(ErrorCode.EPOISONED, assertThrows(BloomfileException.class, () -> Filter.open(path, LIVE)).code());
            Files.delete(path);
        }
    }

    /** A file of another boot, and one whose writer is gone without a trace but its mark. */
    @Test
    public void uncleanFileIsRefused() throws Exception {
        byte[][] images = {record(golden("live-clean.bloom"), 0, "000102030405060708090a0b0c0d0e0f"),
            record(golden("live-clean.bloom"), Header.FLAG_SYNCHRONISING, boot())};
        for (byte[] image : images) {
            Files.write(path, image);
            assertEquals(ErrorCode.EUNCLEAN, assertThrows(BloomfileException.class, () -> Filter.open(path, LIVE)).code());
            Filter.open(path, Filter.Options.DEFAULT.unclean()).close();
        }
        Files.write(path, record(golden("live-clean.bloom"), 0, boot()));
        try (Filter f = Filter.open(path, LIVE)) {
            assertNull(f.error());
            Files.write(path, images[1], StandardOpenOption.WRITE);
            assertEquals(ErrorCode.EUNCLEAN, f.error().code());
            assertTrue(f.mayContainDigest(12345));
        }
    }

    /** R3 reads a clean record as clean at opening; afterwards a mark in it counts (R11). */
    @Test
    public void markWithoutWriterInCleanRecordIsUnclean() throws Exception {
        Files.write(path, record(golden("live-clean.bloom"), 0, ""));
        byte[] marked = record(golden("live-clean.bloom"), Header.FLAG_SYNCHRONISING, "");
        try (Filter f = Filter.open(path, LIVE)) {
            assertNull(f.error());
            Files.write(path, marked, StandardOpenOption.WRITE);
            assertEquals(ErrorCode.EUNCLEAN, f.error().code());
        }
        Filter.open(path, LIVE).close();
    }

    private void write(byte[] bytes, long at) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.seek(at);
            file.write(bytes);
        }
    }

    /** An empty live filter, whose lookups each need a look at the end of the file: a zero byte proves nothing. */
    private Header empty() throws IOException {
        byte[] image = record(golden("live-clean.bloom"), 0, "");
        Header h = Header.decode(image, image.length, live());
        Arrays.fill(image, Header.FILE, image.length, (byte) 0);
        Arrays.fill(image, image.length - Tail.LENGTH, image.length, (byte) 5);
        Files.write(path, image);
        return h;
    }

    private static Header.Source live() {
        Header.Source source = new Header.Source("open", false);
        source.live = true;
        return source;
    }

    /** R9: a writer that seals the filter writes checksums over its last bytes. */
    @Test
    public void checksumsWrittenByASealAreNotAChange() throws Exception {
        Header h = empty();
        try (Filter f = Filter.open(path, LIVE)) {
            assertFalse(f.layers()[0].isSurelyAbsent(12345));
            assertFalse(f.mayContainDigest(12345));
            byte[] tail = new byte[Tail.LENGTH];
            Arrays.fill(tail, (byte) 6);
            write(tail, Header.FILE + h.bodySize + 4 * h.pages() - tail.length);
            assertFalse(f.mayContainDigest(12345));
            assertNull(f.error());
        }
    }

    /** The first look saw no bits, and a writer set them before the second. */
    @Test
    public void keyAddedBetweenTwoReadsIsFound() throws Exception {
        Header h = empty();
        try (Filter f = Filter.open(path, LIVE)) {
            assertFalse(f.revises(12345));
            byte[] bits = new byte[(int) (h.m / 8)];
            Arrays.fill(bits, (byte) -1);
            write(bits, Header.FILE);
            assertTrue(f.revises(12345));
            assertNull(f.error());
        }
    }

    /** Before Java 14 a copy from a page that was cut may be anything. */
    @Test
    public void copiedPagesNeverAnswerNoBeforeJava14() throws Exception {
        try (Filter f = Filter.open(Spec.GOLDEN.resolve("blocked-file.bloom"))) {
            long sure = new Random(3).longs(1000).filter(f.layers()[0]::isSurelyAbsent).count();
            assertEquals(Runtime.version().feature() >= 14, sure > 0);
        }
    }

    /** Holds byte 3 until it is killed, as a writer in a sync does. */
    static final class Holder {
        public static void main(String[] args) throws Exception {
            try (FileChannel file = FileChannel.open(Path.of(args[0]), StandardOpenOption.WRITE)) {
                file.lock(3, 1, false);
                System.out.println("locked");
                System.in.read();
            }
        }
    }

    @Test
    public void runningSyncIsNotUnclean() throws Exception {
        Files.write(path, record(golden("live-clean.bloom"), Header.FLAG_SYNCHRONISING, boot()));
        Process holder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), Holder.class.getName(), path.toString()).start();
        try {
            assertEquals('l', holder.getInputStream().read());
            Filter.open(path, LIVE).close();
        } finally {
            holder.destroy();
            holder.waitFor();
        }
        assertEquals(ErrorCode.EUNCLEAN, assertThrows(BloomfileException.class, () -> Filter.open(path, LIVE)).code());
    }

    @Test
    public void fileCopiedOverTheFilterAnswersMaybe() throws Exception {
        byte[] image = record(golden("live-clean.bloom"), 0, "");
        Files.write(path, image);
        try (Filter f = Filter.open(path, LIVE)) {
            image[RECORD + 128] ^= 1;
            image[RECORD + 1024 + 128] ^= 1;
            Spec.mend(image);
            Files.write(path, image, StandardOpenOption.WRITE);
            assertEquals(ErrorCode.ECHANGED, f.error().code());
            assertTrue(f.mayContainDigest(12345));
        }
    }

    @Test
    public void truncatedLiveFileAnswersMaybe() throws Exception {
        assumeTrue("Java 11 ends when a mapped file is cut", Runtime.version().feature() >= 14);
        for (long size : new long[] {0, 5000}) {
            Files.write(path, record(golden("live-clean.bloom"), 0, ""));
            try (Filter f = Filter.open(path, LIVE)) {
                try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                    long whole = file.length();
                    file.setLength(size);
                    file.setLength(size == 0 ? whole : size); // zeros, which neither record ever is
                }
                for (long digest : new Random(2).longs(1000).toArray()) {
                    assertTrue(f.mayContainDigest(digest));
                }
                assertEquals(ErrorCode.ECHANGED, f.error().code());
            }
        }
    }

    /** Damaged live files are refused as the table says; valid ones are opened unless they are unclean. */
    @Test
    public void damagedLiveFilesHaveTheirErrors() throws Exception {
        int refused = 0;
        int opened = 0;
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("index.tsv"))) {
            String name = row.get("file");
            Path file = Spec.REFUSED.resolve(name);
            if (row.get("error").equals("BLOOMFILE_ELIVE")) {
                Filter.open(file, Filter.Options.DEFAULT.unclean()).close();
                if (!name.equals("live.bloom")) {
                    opened++;
                    continue;
                }
            } else if (!name.contains("live") && !name.contains("poison")) {
                continue;
            }
            BloomfileException e = assertThrows(name, BloomfileException.class, () -> Filter.open(file, LIVE));
            assertEquals(name, name.equals("live.bloom") ? "BLOOMFILE_EUNCLEAN" : row.get("error"), e.code().fullName());
            refused++;
        }
        assertTrue(refused > 20 && opened > 0);
        Path series = Spec.GOLDEN.resolve("live/growing-2/filter.bloom");
        assertEquals(ErrorCode.ELIVE, assertThrows(BloomfileException.class, () -> Filter.open(series, LIVE)).code());
    }
}
