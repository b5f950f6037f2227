// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The conformance suite, section 20.1, as the README of tests/golden says. */
public class GoldenTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    /** One way to open an image. */
    private interface Way {
        Filter open(Path path, Filter.Options options) throws IOException;
    }

    private static Filter inside(Path path, Filter.Options options, boolean told) throws IOException {
        byte[] image = Spec.read(path);
        ByteBuffer around = ByteBuffer.allocateDirect(image.length + 20);
        around.position(3);
        around.put(image);
        around.flip();
        return Filter.of(around, options.range(3, told ? image.length : -1));
    }

    private static final Way FULLY_CHECKED = (path, options) -> Filter.open(path, options.check(Filter.Check.FULL));
    private static final List<Way> WAYS = List.of(
            Filter::open,
            (path, options) -> Filter.open(path, options.inMemory()),
            FULLY_CHECKED,
            (path, options) -> Filter.of(ByteBuffer.wrap(Spec.read(path)), options),
            (path, options) -> inside(path, options, true),
            (path, options) -> Filter.read(new ByteArrayInputStream(Spec.read(path)), options));

    /** The ways that know where the image ends. */
    private static final List<Way> WAYS_TO_REFUSE = WAYS.subList(0, 5);

    private static byte[][] keys(String file) {
        byte[] all = Spec.read(Spec.GOLDEN.resolve(file));
        List<byte[]> keys = new ArrayList<>();
        for (int i = 0, from = 0; i < all.length; i++) {
            if (all[i] == '\n') {
                keys.add(Arrays.copyOfRange(all, from, i));
                from = i + 1;
            }
        }
        return keys.toArray(new byte[0][]);
    }

    /** The digests of keys, or those that a file lists in place of keys. */
    private static long[] digests(Filter f, String file, boolean listed) {
        byte[][] keys = keys(file);
        long[] digests = new long[keys.length];
        for (int i = 0; i < keys.length; i++) {
            digests[i] = listed ? Spec.hex(new String(keys[i])) : Xxh3.hash(keys[i], f.info().seed());
        }
        return digests;
    }

    /** How many keys, or digests, of a file are maybe, the same in all ways to ask. */
    private static int maybes(Filter f, String file) {
        boolean listed = file.endsWith(".digests");
        long[] digests = digests(f, file, listed);
        boolean[] one = new boolean[digests.length];
        int count = 0;
        for (int i = 0; i < digests.length; i++) {
            one[i] = f.mayContainDigest(digests[i]);
            count += one[i] ? 1 : 0;
        }
        boolean[] batch = new boolean[digests.length];
        assertEquals(count, f.mayContainDigests(digests, batch));
        assertArrayEquals(one, batch);
        assertEquals(count, f.mayContainDigests(digests).cardinality());
        if (!listed && List.of("unknown", "text", "bytes").contains(f.info().keyKind())) {
            byte[][] keys = keys(file);
            for (int i = 0; i < keys.length; i++) {
                assertEquals(one[i], f.mayContain(keys[i]));
            }
        }
        return count;
    }

    private static Filter.Options options(Map<String, String> row) {
        if (row.get("hash").equals("xxh3")) {
            return Filter.Options.DEFAULT;
        }
        String[] words = row.get("hash").split(" ");
        return Filter.Options.DEFAULT.hash((int) Spec.hex(words[0]), Spec.hex(words[1]));
    }

    private static String sha256(byte[] bytes) throws Exception {
        StringBuilder digits = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(bytes)) {
            digits.append(String.format("%02x", b));
        }
        return digits.toString();
    }

    @Test
    public void imagesOpenAndAnswer() throws Exception {
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("index.tsv"))) {
            String file = row.get("file");
            Path path = Spec.GOLDEN.resolve(file);
            assertEquals(file, row.get("sha256"), sha256(Spec.read(path)));
            for (Way way : WAYS) {
                try (Filter f = way.open(path, options(row))) {
                    Info info = f.info();
                    assertEquals(file, row.get("n"), Long.toUnsignedString(info.keys()));
                    assertEquals(file, row.get("n_estimated"), info.keysEstimated() ? "1" : "0");
                    assertEquals(file, row.get("layout").toUpperCase(), info.layout().name());
                    assertEquals(file, row.get("m"), Long.toString(info.bits()));
                    assertEquals(file, row.get("k"), Integer.toString(info.hashes()));
                    assertEquals(file, row.get("seed"), Long.toUnsignedString(info.seed()));
                    assertEquals(file, row.get("key_kind"), info.keyKind());
                    assertEquals(file, row.get("form"), info.isEmbedded() ? "embedded" : "file");
                    assertEquals(file, row.get("first_block"), info.isSlice() ? "" + info.firstBlock() : "-");
                    assertEquals(file, row.get("whole_blocks"), info.isSlice() ? "" + info.wholeBlocks() : "-");
                    ask(f, row);
                    f.verify();
                    ask(f, row);
                    assertNull(file, f.error());
                    assertEquals(0, f.damagedPages());
                }
            }
            found++;
        }
        assertTrue(found > 50);
    }

    private static void ask(Filter f, Map<String, String> row) {
        int all = keys(row.get("keys")).length;
        assertEquals(row.get("file"), all, maybes(f, row.get("keys")));
        String absent = row.get("hash").equals("xxh3") ? "keys/absent.keys" : "keys/absent.digests";
        assertEquals(row.get("file"), Integer.parseInt(row.get("maybes")), maybes(f, absent));
    }

    /** What operations.tsv names, as far as it is implemented here: the same header, but for the form, and the same answers. */
    @Test
    public void operationsMakeTheGoldenAnswers() throws Exception {
        Path made = folder.getRoot().toPath().resolve("made");
        List<Map<String, String>> index = Spec.table(Spec.GOLDEN.resolve("index.tsv"));
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("operations.tsv"))) {
            List<Path> sources = new ArrayList<>(); // copies, since one may be named twice
            for (String name : row.get("sources").split(",")) {
                Path copy = made.resolveSibling("source" + sources.size());
                sources.add(Files.write(copy, Spec.read(Spec.GOLDEN.resolve(name))));
            }
            String[] words = row.get("operation").split(" ");
            Map<String, String> result = index.stream().filter(r -> r.get("file").equals(row.get("result"))).findAny().get();
            boolean counting = result.get("layout").equals("counting");
            Files.deleteIfExists(made);
            if (words[0].equals("fold") && !counting) {
                Fold.byFactor(made, sources.get(0), Long.parseLong(words[1]));
            } else if (words[0].equals("union")) {
                new Merge().fpr(1).write(made, sources);
            } else {
                continue;
            }
            try (Filter f = Filter.open(made, options(result)); Filter g = Filter.open(Spec.GOLDEN.resolve(row.get("result")),
                    options(result))) {
                f.verify();
                ask(f, result);
                for (Function<Info, Object> field : List.<Function<Info, Object>>of(Info::bits, Info::unfoldedBits, Info::hashes,
                        Info::seed, Info::keyKind, Info::capacity, Info::fpr, Info::label, Info::keysEstimated)) {
                    assertEquals(row.get("result"), field.apply(g.info()), field.apply(f.info()));
                }
            }
            found++;
        }
        assertTrue(found > 5);
    }

    @Test
    public void applicationHashMustBeNamed() throws Exception {
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("index.tsv"))) {
            Path path = Spec.GOLDEN.resolve(row.get("file"));
            if (row.get("hash").equals("xxh3")) {
                continue;
            }
            assertRefused(row.get("file"), ErrorCode.EHASH, () -> Filter.open(path));
            String[] words = row.get("hash").split(" ");
            int id = (int) Spec.hex(words[0]);
            long test = Spec.hex(words[1]);
            Filter.Options known = Filter.Options.DEFAULT.applications();
            assertRefused("another", ErrorCode.EHASH, () -> Filter.open(path, known.hash(id ^ 1, test)));
            assertRefused("another", ErrorCode.ESELFTEST, () -> Filter.open(path, known.hash(id, test ^ 1)));
            try (Filter f = Filter.open(path, known)) {
                int absent = keys("keys/absent.digests").length;
                assertEquals(absent, maybes(f, "keys/absent.digests"));
                assertRefused("another", ErrorCode.EHASH, () -> f.nameHash(1, test));
                assertEquals(absent, maybes(f, "keys/absent.digests"));
                f.nameHash(id, test);
                ask(f, row);
                assertNull(f.error());
                assertTrue(f.mayContain("no such key"));
                assertTrue(f.mayContain(7L));
                assertEquals(ErrorCode.EHASH, f.error().code());
                assertRefused("another", ErrorCode.ESELFTEST, () -> f.nameHash(id, test ^ 1));
                assertEquals(absent, maybes(f, "keys/absent.digests"));
            }
            found++;
        }
        assertTrue(found > 5);
        // One of XXH3 needs no name; another one than its own is respected.
        try (Filter f = Filter.open(Spec.GOLDEN.resolve("blocked-file.bloom"))) {
            assertFalse(f.mayContain("no such key"));
            assertRefused("another", ErrorCode.EHASH, () -> f.nameHash(0x80000000, 0));
            assertTrue(f.mayContain("no such key"));
            f.nameHash(1, Xxh3.selfTest(0));
            assertFalse(f.mayContain("no such key"));
        }
    }

    @Test
    public void sealedSeriesOpenAndLiveSeriesAreRefused() throws Exception {
        int sealed = 0;
        for (Map<String, String> row : Spec.table(Spec.GOLDEN.resolve("series.tsv"))) {
            String file = row.get("file");
            Path path = Spec.GOLDEN.resolve(file);
            if (file.startsWith("live/")) {
                assertRefused(file, ErrorCode.ELIVE, () -> Filter.open(path, options(row)));
                continue;
            }
            assertEquals(file, row.get("sha256"), sha256(Spec.read(path)));
            for (Way way : WAYS) {
                try (Filter f = way.open(path, options(row))) {
                    List<Info> layers = new ArrayList<>();
                    for (int i = 0; i < f.info().layers(); i++) {
                        layers.add(f.info(i));
                    }
                    assertEquals(file, row.get("n"), joined(layers, i -> Long.toUnsignedString(i.keys())));
                    assertEquals(file, row.get("m"), joined(layers, i -> "" + i.bits()));
                    assertEquals(file, row.get("k"), joined(layers, i -> "" + i.hashes()));
                    assertEquals(file, row.get("layout").toUpperCase(), f.info().layout().name());
                    assertEquals(file, row.get("key_kind"), f.info().keyKind());
                    ask(f, row);
                    f.verify();
                    ask(f, row);
                    assertNull(f.error());
                }
            }
            sealed++;
        }
        assertTrue(sealed >= 4);
    }

    private static String joined(List<Info> layers, java.util.function.Function<Info, String> of) {
        return layers.stream().map(of).collect(Collectors.joining(","));
    }

    @Test
    public void refusedFilesHaveTheirErrors() throws Exception {
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("index.tsv"))) {
            Path path = Spec.REFUSED.resolve(row.get("file"));
            String wanted = row.get("error");
            for (Way way : WAYS_TO_REFUSE) {
                BloomfileException e = assertThrows(row.get("file"), BloomfileException.class, () -> {
                    try (Filter f = way.open(path, Filter.Options.DEFAULT)) {
                        assertEquals(row.get("file"), "12.4", row.get("rule"));
                        f.verify();
                    }
                });
                assertEquals(row.get("file"), wanted, e.code().fullName());
                assertTrue(e.getMessage(), e.getMessage().startsWith("cannot "));
            }
            found++;
        }
        assertTrue(found > 200);
    }

    @Test
    public void damagedBodiesAnswerMaybe() throws Exception {
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("index.tsv"))) {
            if (!row.get("rule").equals("12.4")) {
                continue;
            }
            try (Filter f = Filter.open(Spec.REFUSED.resolve(row.get("file")))) {
                ErrorCode code = assertThrows(BloomfileException.class, f::verify).code();
                ErrorCode kept = f.error().code(); // the worst
                assertTrue(row.get("file"), kept == code || kept == ErrorCode.EBODY);
                assertEquals(row.get("file"), code == ErrorCode.EPAGE, f.damagedPages() > 0);
                if (code == ErrorCode.EBODY) {
                    int all = keys("keys/absent.keys").length;
                    assertEquals(row.get("file"), all, maybes(f, "keys/absent.keys"));
                }
            }
            found++;
        }
        assertTrue(found > 10);
    }

    /** What doubt.tsv says, before and after verifying; maybes() compares single lookups with batches. */
    @Test
    public void answersFromDamagedFilesMatchTheTable() throws Exception {
        int found = 0;
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("doubt.tsv"))) {
            Path refused = Spec.REFUSED.resolve(row.get("file"));
            Path path = Files.exists(refused) ? refused : Spec.GOLDEN.resolve(row.get("file"));
            for (Way way : WAYS) {
                if (way == FULLY_CHECKED && !row.get("verify").equals("-")) {
                    continue;
                }
                try (Filter f = way.open(path, Filter.Options.DEFAULT.applications())) {
                    stateNames(f, row);
                    answer(f, row, "maybes");
                    verifyAs(f, row);
                    answer(f, row, "maybes_verified");
                }
                try (Filter f = way.open(path, Filter.Options.DEFAULT.applications())) {
                    stateNames(f, row);
                    verifyAs(f, row);
                    answer(f, row, "maybes_verified");
                }
            }
            found++;
        }
        assertTrue(found > 100);
    }

    private static void stateNames(Filter f, Map<String, String> row) throws BloomfileException {
        if (row.get("names").equals("-")) {
            return;
        }
        String[] names = row.get("names").split(",");
        String[] errors = row.get("name_errors").split(",");
        for (int i = 0; i < names.length; i++) {
            String[] words = names[i].split(" ");
            int id = (int) Spec.hex(words[0]);
            long test = Spec.hex(words[1]);
            if (errors[i].equals("-")) {
                f.nameHash(id, test);
            } else {
                assertEquals(row.get("file"), errors[i],
                        assertThrows(BloomfileException.class, () -> f.nameHash(id, test)).code().fullName());
            }
        }
    }

    private static void verifyAs(Filter f, Map<String, String> row) throws BloomfileException {
        if (row.get("verify").equals("-")) {
            f.verify();
            return;
        }
        BloomfileException e = assertThrows(row.get("file"), BloomfileException.class, f::verify);
        assertEquals(row.get("file"), row.get("verify"), e.code().fullName());
        boolean named = row.get("page").equals("-") || e.getMessage().contains("page " + row.get("page"));
        assertTrue(e.getMessage(), named);
    }

    private static void answer(Filter f, Map<String, String> row, String column) {
        String absent = row.get("keys").endsWith(".digests") ? "keys/absent.digests" : "keys/absent.keys";
        assertEquals(row.toString(), Integer.parseInt(row.get(column)), maybes(f, absent));
        assertEquals(row.toString(), keys(row.get("keys")).length, maybes(f, row.get("keys")));
    }

    @Test
    public void liveSeriesOfTheTableAreRefused() throws Exception {
        for (Map<String, String> row : Spec.table(Spec.REFUSED.resolve("series.tsv"))) {
            Path path = Spec.REFUSED.resolve(row.get("file"));
            assertThrows(row.get("file"), BloomfileException.class, () -> Filter.open(path));
        }
    }

    @Test
    public void concatenatedImagesAreReadFromOneStream() throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        List<Map<String, String>> rows = new ArrayList<>(Spec.table(Spec.GOLDEN.resolve("index.tsv")));
        rows.addAll(Spec.table(Spec.GOLDEN.resolve("series.tsv")));
        rows.removeIf(row -> row.get("file").startsWith("live/"));
        for (Map<String, String> row : rows) {
            all.write(Spec.read(Spec.GOLDEN.resolve(row.get("file"))));
        }
        InputStream in = new ByteArrayInputStream(all.toByteArray());
        for (Map<String, String> row : rows) {
            try (Filter f = Filter.read(in, options(row))) {
                ask(f, row);
            }
        }
        assertEquals(-1, in.read());
        assertRefused("nothing left", ErrorCode.EEMPTY, () -> Filter.read(in, Filter.Options.DEFAULT));
        byte[] image = Spec.read(Spec.GOLDEN.resolve("blocked-file.bloom"));
        for (int size : new int[] {1, 8, 15, 16, 100, 4095, 4096, 5000, image.length - 1}) {
            InputStream cut = new ByteArrayInputStream(image, 0, size);
            assertRefused(size + " bytes", ErrorCode.ETRUNCATED, () -> Filter.read(cut, Filter.Options.DEFAULT));
        }
    }


    private interface VoidCall {
        void run() throws IOException;
    }

    private static void assertRefused(String what, ErrorCode code, VoidCall call) {
        assertEquals(what, code, assertThrows(what, BloomfileException.class, call::run).code());
    }
}
