// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/** The driver of the Java library: answers the commands of tests/languages/README.md. */
final class Driver {
    private static final String ABILITIES = "blocked classic counting ribbon slices series applications verify "
            + "build-blocked build-classic build-ribbon fold union join";
    private Filter image;
    private boolean keysAreDigests;

    private Driver() {
    }

    private String open(String[] words) throws IOException {
        Filter.Options options = Filter.Options.DEFAULT.applications();
        keysAreDigests = false;
        if (words.length == 4) {
            int id = Integer.parseUnsignedInt(words[2], 16);
            options = options.hash(id, Spec.hex(words[3]));
            keysAreDigests = id != 1;
        }
        image = Filter.open(Path.of(words[1]), options);
        Info info = image.info();
        return String.join("\t", "ok", info.layout().name().toLowerCase(Locale.ROOT), column(Info::keys), column(Info::bits),
                column(Info::hashes), Long.toUnsignedString(info.seed()), info.isEmbedded() ? "embedded" : "file", info.keyKind());
    }

    /** A number of the image, or of each layer. */
    private String column(ToLongFunction<Info> number) {
        int layers = image.info().layers();
        Stream<Info> infos = layers == 0 ? Stream.of(image.info()) : IntStream.range(0, layers).mapToObj(image::info);
        return infos.map(info -> Long.toUnsignedString(number.applyAsLong(info))).collect(Collectors.joining(","));
    }

    private static List<byte[]> lines(String path) throws IOException {
        byte[] all = Files.readAllBytes(Path.of(path));
        List<byte[]> lines = new ArrayList<>();
        for (int i = 0, from = 0; i < all.length; i++) {
            if (all[i] == '\n') {
                lines.add(java.util.Arrays.copyOfRange(all, from, i));
                from = i + 1;
            }
        }
        return lines;
    }

    private long digest(byte[] key) {
        return keysAreDigests ? Spec.hex(new String(key, StandardCharsets.US_ASCII)) : Xxh3.hash(key, image.info().seed());
    }

    private String lookup(String path) throws IOException {
        List<byte[]> keys = lines(path);
        boolean anyKind = List.of("unknown", "text", "bytes").contains(image.info().keyKind()) && !keysAreDigests;
        long maybes = keys.stream().filter(key -> anyKind ? image.mayContain(key) : image.mayContainDigest(digest(key))).count();
        return "ok\t" + maybes + "\t" + keys.size();
    }

    private String batch(String path) throws IOException {
        long[] digests = lines(path).stream().mapToLong(this::digest).toArray();
        return "ok\t" + image.mayContainDigests(digests, new boolean[digests.length]) + "\t" + digests.length;
    }

    private String random(String[] words) {
        long state = Long.parseUnsignedLong(words[1]);
        long maybes = 0;
        CRC32 crc = new CRC32();
        byte[] key = new byte[8];
        for (long left = Long.parseLong(words[2]); left > 0; left--) {
            state += 0x9E3779B97F4A7C15L;
            long z = (state ^ state >>> 30) * 0xBF58476D1CE4E5B9L;
            z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
            z ^= z >>> 31;
            for (int i = 0; i < 8; i++) {
                key[i] = (byte) (z >>> 8 * i);
            }
            boolean maybe = image.mayContain(key);
            maybes += maybe ? 1 : 0;
            crc.update(maybe ? '1' : '0');
        }
        return String.format("ok\t%d\t%08x", maybes, crc.getValue());
    }

    private String verify() throws IOException {
        image.verify();
        return "ok";
    }

    private String error() {
        return image.error() == null ? "ok" : "error\t" + image.error().code().fullName();
    }

    private static String build(String[] words) throws IOException {
        Params params = new Params().layout(Layout.valueOf(words[1].toUpperCase(Locale.ROOT))).bits(Long.parseLong(words[3]))
                .hashes(Integer.parseInt(words[4])).seed(Long.parseUnsignedLong(words[5])).capacity(Long.parseLong(words[7]))
                .embedded(words[8].equals("embedded"));
        if (Double.parseDouble(words[6]) != 0) {
            params.fpr(Double.parseDouble(words[6]));
        }
        try (Builder builder = new Builder(params)) {
            for (byte[] key : lines(words[9])) {
                builder.addDigest(Xxh3.hash(key, Long.parseUnsignedLong(words[5])));
            }
            builder.finish(Path.of(words[10]), WriteOption.REPLACE, WriteOption.OVERFULL, WriteOption.ALLOW_EMPTY);
        }
        return "ok";
    }

    private static List<Path> paths(String[] words) {
        return Stream.of(words).skip(2).map(Path::of).collect(Collectors.toList());
    }

    private static String fold(String[] words) throws IOException {
        Fold.byFactor(Path.of(words[3]), Path.of(words[2]), Long.parseLong(words[1]), WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
        return "ok";
    }

    private static String union(String[] words) throws IOException {
        Merge.union(Path.of(words[1]), paths(words), WriteOption.REPLACE, WriteOption.OVERFULL, WriteOption.ALLOW_EMPTY);
        return "ok";
    }

    private static String join(String[] words) throws IOException {
        Slices.join(Path.of(words[1]), paths(words), WriteOption.REPLACE, WriteOption.ALLOW_EMPTY);
        return "ok";
    }

    private String answer(String[] words) throws IOException {
        switch (words[0]) {
        case "abilities": return "ok\t" + ABILITIES;
        case "open": return open(words);
        case "lookup": return lookup(words[1]);
        case "batch": return batch(words[1]);
        case "random": return random(words);
        case "verify": return verify();
        case "error": return error();
        case "build": return build(words);
        case "fold": return fold(words);
        case "union": return union(words);
        case "join": return join(words);
        default: return "error\t-\tno such command";
        }
    }

    private String answerOrError(String line) {
        try {
            return answer(line.split("\t", -1));
        } catch (BloomfileException refused) {
            return "error\t" + refused.code().fullName();
        } catch (IOException failed) {
            return "error\t-\t" + failed.getMessage();
        }
    }

    public static void main(String[] arguments) throws IOException {
        Driver driver = new Driver();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(driver.answerOrError(line));
        }
    }
}
