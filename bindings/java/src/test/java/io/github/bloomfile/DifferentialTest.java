// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Golden files, changed in many ways, with their checksums put right or not: what this reader and the C library say of
 * them is the same. {@code bloomfile.answers} names the program that asks the library, {@code bloomfile.mutations} and
 * {@code bloomfile.seed} how many files, and which.
 */
public class DifferentialTest {
    private static final int DIGESTS = 256;
    /** Where fields of headers of 4096 and of 512 bytes are, and how large. */
    private static final int[][] FIELDS = {{8, 4}, {12, 4}, {16, 4}, {20, 4}, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4},
        {44, 4}, {48, 8}, {56, 8}, {64, 8}, {72, 8}, {80, 8}, {88, 8}, {96, 8}, {104, 8}, {112, 8}, {128, 8}, {200, 8},
        {240, 8}, {248, 8}, {256, 4}, {260, 4}, {264, 8}, {272, 8}, {280, 8}, {288, 8}, {296, 8}};
    private static final int[][] RECORD_FIELDS = {{0, 8}, {8, 4}, {12, 4}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8},
        {56, 4}, {60, 4}, {64, 4}, {68, 8}};

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private final SplittableRandom random = new SplittableRandom(Long.getLong("bloomfile.seed", 1));

    /** One file to begin with, and where its layers begin. */
    private static final class Base {
        final String name;
        final byte[] image;
        final int[] layers;

        Base(Path path) throws IOException {
            name = path.getFileName().toString();
            image = Spec.read(path);
            List<Integer> starts = new ArrayList<>();
            try (Filter f = Filter.open(path, Filter.Options.DEFAULT.applications())) {
                int at = 0;
                for (Image layer : f.layers()) {
                    starts.add(at);
                    at += (int) (layer.header.imageSize() + 4095) / 4096 * 4096;
                }
            }
            layers = starts.stream().mapToInt(i -> i).toArray();
        }
    }

    @Test
    public void answersMatchTheCLibrary() throws Exception {
        String program = System.getProperty("bloomfile.answers");
        assumeTrue("no program to ask", program != null);
        List<Base> bases = new ArrayList<>();
        for (String table : new String[] {"index.tsv", "series.tsv"}) {
            for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve(table))) {
                Path path = Spec.GOLDEN.resolve(row.get("file"));
                if (!row.get("file").startsWith("live/") && Files.size(path) < 40000) {
                    bases.add(new Base(path));
                }
            }
        }
        long[] digests = new SplittableRandom(7).longs(DIGESTS).toArray();
        digests[0] = 0;
        digests[1] = -1;
        digests[2] = Long.MIN_VALUE;
        Process process = new ProcessBuilder(program).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Map<String, Integer> verdicts = new TreeMap<>();
        try (PrintStream out = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
                BufferedReader in = new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (long digest : digests) {
                out.println(Long.toHexString(digest));
            }
            out.println();
            Path path = folder.getRoot().toPath().resolve("changed.bloom");
            int mutations = Integer.getInteger("bloomfile.mutations", 1000);
            for (int i = 0; i < mutations; i++) {
                Base base = bases.get(random.nextInt(bases.size()));
                byte[] image = changed(base);
                Files.write(path, image);
                out.println(path);
                String theirs = in.readLine();
                String ours = verdict(path, digests);
                if (!ours.equals("BLOOMFILE_ELIVE") && !ours.equals(theirs)) {
                    Path kept = Files.write(Files.createTempFile("differs", ".bloom"), image);
                    assertEquals(base.name + ", change " + i + ": " + kept, theirs, ours);
                }
                String[] words = ours.split(" ");
                verdicts.merge(words.length > 1 ? "verified: " + words[2] : words[0], 1, Integer::sum);
            }
        } finally {
            process.destroy();
        }
        // All kinds were met.
        assertTrue(verdicts.toString(), verdicts.size() > 15 && verdicts.get("verified: 0") > 20);
        System.out.println(verdicts);
    }

    private static String verdict(Path path, long[] digests) throws IOException {
        try (Filter f = Filter.open(path)) {
            String before = answers(f, digests);
            String verified = "0";
            try {
                f.verify();
            } catch (BloomfileException e) {
                verified = e.code().fullName();
            }
            return "0 " + before + " " + verified + " " + answers(f, digests);
        } catch (BloomfileException e) {
            return e.code().fullName();
        }
    }

    private static String answers(Filter f, long[] digests) {
        StringBuilder digits = new StringBuilder();
        boolean[] batch = new boolean[digests.length];
        f.mayContainDigests(digests, batch);
        for (int i = 0; i < digests.length; i += 4) {
            int four = 0;
            for (int j = 0; j < 4; j++) {
                boolean maybe = f.mayContainDigest(digests[i + j]);
                assertEquals(maybe, batch[i + j]);
                four |= maybe ? 1 << j : 0;
            }
            digits.append(Character.forDigit(four, 16));
        }
        return digits.toString();
    }

    private byte[] changed(Base base) {
        byte[] image = base.image.clone();
        int start = base.layers[random.nextInt(base.layers.length)];
        int headerSize = Header.u32(image, start + 12);
        int body = start + headerSize;
        for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
            switch (random.nextInt(8)) {
                case 0:
                    flip(image, start, headerSize);
                    break;
                case 1:
                case 2:
                case 3:
                    set(image, start, FIELDS[random.nextInt(FIELDS.length)]);
                    break;
                case 4:
                    int record = start + headerSize / 2 + headerSize / 4 * random.nextInt(2);
                    set(image, record, RECORD_FIELDS[random.nextInt(RECORD_FIELDS.length)]);
                    break;
                case 5:
                    // Both records alike.
                    int at = start + headerSize / 2;
                    set(image, at, RECORD_FIELDS[random.nextInt(RECORD_FIELDS.length)]);
                    System.arraycopy(image, at, image, at + headerSize / 4, headerSize / 4);
                    break;
                case 6:
                    flip(image, body, image.length - body);
                    break;
                default:
                    int from = random.nextInt(image.length);
                    Arrays.fill(image, from, Math.min(image.length, from + 1 + random.nextInt(4096)), (byte) 0);
                    break;
            }
        }
        boolean mendAll = random.nextInt(3) == 0;
        if (mendAll) {
            mendBody(image, start);
        }
        if (mendAll || random.nextInt(3) != 0) {
            mend(image, start);
        }
        switch (random.nextInt(12)) {
            case 0:
                return Arrays.copyOf(image, random.nextInt(image.length + 1));
            case 1:
                return Arrays.copyOf(image, image.length + 1 + random.nextInt(5000));
            default:
                return image;
        }
    }

    private void flip(byte[] image, int from, int length) {
        image[from + random.nextInt(length)] ^= 1 << random.nextInt(8);
    }

    private void set(byte[] image, int start, int[] field) {
        int at = start + field[0];
        long was = field[1] == 4 ? Header.u32(image, at) : Header.u64(image, at);
        long[] values = {0, 1, 2, 3, 4, 64, 512, 4096, 1000, 1001, -1, -2, was + 1, was - 1, was * 2, was / 2, was + 512,
            was ^ 1L << random.nextInt(64), 1L << 60, (1L << 60) + 512, 1L << 63, 1L << random.nextInt(64),
            random.nextLong(), random.nextInt(100), 0x3FF0000000000000L, 0x80000000L};
        long value = values[random.nextInt(values.length)];
        if (field[1] == 4) {
            Header.INT.set(image, at, (int) value);
        } else {
            Header.LONG.set(image, at, value);
        }
    }

    /** Checksums of the pages, and in the records that of the body, made right, if the body is where it should be. */
    private static void mendBody(byte[] image, int start) {
        int headerSize = Header.u32(image, start + 12);
        long size = Header.u64(image, start + 80);
        if (headerSize != 512 && headerSize != 4096 || size <= 0 || size > image.length) {
            return;
        }
        int body = start + headerSize;
        int end = body + (int) size;
        int pages = (int) (size + 4095) / 4096;
        if (end + 4 * pages > image.length) {
            return;
        }
        int crc = Header.crc(image, body, (int) size);
        for (int i = 0; i < pages; i++) {
            int from = body + 4096 * i;
            Header.INT.set(image, end + 4 * i, crc ^ Header.crc(image, from, Math.min(4096, end - from)));
        }
        for (int record = start + headerSize / 2; record < body; record += headerSize / 4) {
            Header.INT.set(image, record + 56, crc);
        }
    }

    private static void mend(byte[] image, int start) {
        int headerSize = Header.u32(image, start + 12);
        if (headerSize == 512 || headerSize == 4096 && start + headerSize <= image.length) {
            byte[] head = Arrays.copyOfRange(image, start, start + headerSize);
            Spec.mend(head);
            System.arraycopy(head, 0, image, start, headerSize);
        }
    }
}
