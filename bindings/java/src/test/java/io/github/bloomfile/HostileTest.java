// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** What goes wrong while a filter is made: there is the right file, or none, or the old one. */
public class HostileTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private Path root;
    private Path path;

    @Before
    public void root() {
        root = folder.getRoot().toPath();
        path = root.resolve("x.bloom");
    }

    private static Builder builder(Params params, int count) throws IOException {
        Builder builder = new Builder(params);
        builder.addDigests(new Random(1).longs(count).toArray());
        return builder;
    }

    /** Runs {@link #main} in a program of its own. Returns its exit status. */
    private int run(String limits, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("sh", "-c", limits + " exec \"$@\"", "sh",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + root, "-cp", System.getProperty("java.class.path"),
                HostileTest.class.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        process.getInputStream().transferTo(said);
        int status = process.waitFor();
        assertTrue(said.toString(), status == 0 || status == 3);
        return status;
    }

    /** Ends with 3 if the system fails. */
    public static void main(String[] arguments) throws IOException {
        Path to = Path.of(arguments[1]);
        try {
            switch (arguments[0]) {
                case "build":
                    try (Builder builder = builder(new Params().bits(1 << 26).hashes(4), 1000)) {
                        builder.finish(to, WriteOption.REPLACE);
                    }
                    break;
                case "spool":
                    try (Builder builder = builder(new Params().bits(1 << 20).hashes(4).memory(1 << 20), 2_000_000)) {
                        builder.finish(to, WriteOption.REPLACE, WriteOption.OVERFULL);
                    }
                    break;
                default:
                    large(to);
                    break;
            }
        } catch (IOException e) {
            System.out.println(e);
            System.exit(3);
        }
    }

    /** 256 MB in slices, and their joining, in a heap of 64 MB. */
    private static void large(Path to) throws IOException {
        long capacity = 200_000_000;
        List<Path> slices = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            try (Builder builder = builder(new Params().bits(1L << 31).hashes(6).capacity(capacity).slice(i, 4), 500_000)) {
                slices.add(to.resolveSibling("slice" + i));
                builder.finish(slices.get(i));
            }
        }
        Slices.join(to, slices);
        try (Builder builder = builder(new Params().bits(1L << 31).hashes(6).capacity(capacity), 500_000)) {
            Path whole = to.resolveSibling("whole");
            builder.finish(whole);
            try (InputStream a = Files.newInputStream(to); InputStream b = Files.newInputStream(whole)) {
                for (byte[] part = a.readNBytes(1 << 20); part.length > 0; part = a.readNBytes(1 << 20)) {
                    assertArrayEquals(part, b.readNBytes(part.length));
                }
            }
            assertEquals(Files.size(to), Files.size(whole));
        }
    }

    @Test
    public void fullDiskLeavesTheOldFile() throws Exception {
        try (Builder builder = builder(new Params(), 10)) {
            builder.finish(path);
        }
        byte[] old = Files.readAllBytes(path);
        assertEquals(3, run("ulimit -f 4000;", "build", path.toString()));
        assertEquals(3, run("ulimit -f 4000;", "spool", path.toString()));
        assertArrayEquals(old, Files.readAllBytes(path));
        assertEquals(1, root.toFile().list().length);
        assertEquals(0, run("", "build", path.toString()));
        assertEquals(0, run("", "spool", path.toString()));
        assertEquals(1, root.toFile().list().length);
    }

    @Test
    public void filtersLargerThanTheHeapAreBuiltAndCombined() throws Exception {
        assertEquals(0, run("", "large", path.toString()));
        assertEquals(6, root.toFile().list().length);
    }

    @Test
    public void missingFolderOrPermissionIsAnError() throws IOException {
        try (Builder builder = builder(new Params(), 10)) {
            assertThrows(NoSuchFileException.class, () -> builder.finish(root.resolve("none/x.bloom")));
            assertThrows(IOException.class, () -> builder.finish(Path.of("/proc/x.bloom")));
            Files.createDirectory(path);
            assertThrows(IOException.class, () -> builder.finish(path, WriteOption.REPLACE));
        }
    }

    @Test
    public void fileThatTakesTheNameIsKept() throws IOException {
        byte[] text = "mine".getBytes(StandardCharsets.UTF_8);
        try (NewFile file = new NewFile(path)) {
            Files.write(path, text);
            assertThrows(FileAlreadyExistsException.class, () -> file.publish(true));
        }
        try (NewFile file = new NewFile(root.resolve("y"), WriteOption.REPLACE)) {
            Files.write(root.resolve("y"), text);
            assertThrows(FileSystemException.class, () -> file.publish(true));
        }
        assertArrayEquals(text, Files.readAllBytes(path));
        assertArrayEquals(text, Files.readAllBytes(root.resolve("y")));
        assertEquals(2, root.toFile().list().length);
    }

    /** A link succeeds only if the name is free: then the filter has not been published, and must not be. */
    @Test
    public void liveFilterThatTakesTheNameDuringPublishingIsKept() throws Exception {
        Path live = Files.copy(Spec.GOLDEN.resolve("live/growing-1/filter.bloom"), root.resolve("live"));
        byte[] image = Files.readAllBytes(live);
        for (int i = 0; i < 300; i++) {
            AtomicBoolean linked = new AtomicBoolean();
            AtomicBoolean start = new AtomicBoolean();
            long pause = i % 100 * 1000L;
            Thread other = new Thread(() -> {
                while (!start.get()) {
                    Thread.onSpinWait();
                }
                for (long begin = System.nanoTime(); System.nanoTime() - begin < pause;) {
                    Thread.onSpinWait();
                }
                try {
                    Files.createLink(path, live);
                    linked.set(true);
                } catch (IOException exists) {
                    linked.set(false);
                }
            });
            other.start();
            boolean published = true;
            try (NewFile file = new NewFile(path, WriteOption.REPLACE)) {
                start.set(true);
                file.publish(true);
            } catch (FileSystemException refused) {
                published = false;
            }
            other.join();
            assertTrue("published over a live filter, round " + i, published != linked.get());
            assertEquals(linked.get(), Arrays.equals(image, Files.readAllBytes(path)));
            Files.delete(path);
        }
    }

    /** A stream that fails at any point: the caller knows, and the builder can try again. */
    @Test
    public void failedStreamIsReportedAndCanBeRetried() throws IOException {
        try (Builder builder = builder(new Params().bits(1 << 16).hashes(4), 1000)) {
            byte[] wanted = builder.toBytes();
            for (int limit = 0; limit < wanted.length; limit += 997) {
                int room = limit;
                assertThrows(IOException.class, () -> builder.finish(new OutputStream() {
                    private int left = room;

                    @Override
                    public void write(int b) throws IOException {
                        if (left-- == 0) {
                            throw new IOException("No space left on device");
                        }
                    }
                }));
            }
            assertArrayEquals(wanted, builder.toBytes());
        }
    }

    /** A builder that could not keep a digest makes no filter without it. */
    @Test
    public void builderThatLostKeysMakesNoFilter() throws IOException {
        Params params = new Params().memory(1 << 20).temporaryFolder(root.resolve("none"));
        try (Builder builder = new Builder(params)) {
            assertThrows(IOException.class, () -> builder.addDigests(new Random(1).longs(1_000_000).toArray()));
            assertThrows(IllegalStateException.class, () -> builder.finish(path));
            assertThrows(IllegalStateException.class, () -> builder.addDigest(1));
        }
        assertEquals(0, root.toFile().list().length);
    }
}
