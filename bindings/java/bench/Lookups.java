// SPDX-License-Identifier: MIT
import io.github.bloomfile.Builder;
import io.github.bloomfile.Filter;
import io.github.bloomfile.Params;
import io.github.bloomfile.WriteOption;
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Lookups of absent keys in filters of equal rate: this library, DataSketches, Spark's sketch, Guava's BloomFilter, and the C
 * library's scalar kernel, in one run. Lookups LOOKUPS-OF-C FOLDER KEYS...: prints Markdown, nanoseconds a lookup.
 *
 * <p>Contenders take turns. What is timed at once takes less time than a processor is lent out for, and of each such
 * piece the best turn counts, so that what else the machine does matters little.
 */
public final class Lookups {
    private static final int PIECE = 8192;
    private static final int BATCH = 1024;
    private static final int TURNS = 10;
    private static final double FPR = 0.01;

    private Lookups() {
    }

    /** Looks up a piece of keys; returns how many are maybe. */
    private interface Contender {
        int look(int from);
    }

    /** The same numbers as in lookups.c. */
    private static long mix(long x) {
        x += 0x9E3779B97F4A7C15L;
        x = (x ^ x >>> 30) * 0xBF58476D1CE4E5B9L;
        x = (x ^ x >>> 27) * 0x94D049BB133111EBL;
        return x ^ x >>> 31;
    }

    /** Runs the benchmark. */
    public static void main(String[] args) throws Exception {
        System.out.println("| keys, body | | ns a lookup | maybe |");
        System.out.println("|---|---|---:|---:|");
        for (int i = 2; i < args.length; i++) {
            run(args[0], Path.of(args[1]), Integer.parseInt(args[i]));
        }
    }

    private static void run(String program, Path folder, int keys) throws Exception {
        Path path = folder.resolve("lookups.bloom");
        Params params = new Params().capacity(keys).fpr(FPR).keyKind("unknown");
        BloomFilter<Long> guava = BloomFilter.create(Funnels.longFunnel(), keys, FPR);
        org.apache.spark.util.sketch.BloomFilter spark = org.apache.spark.util.sketch.BloomFilter.create(keys, FPR);
        var sketches = org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder.createByAccuracy(keys, FPR);
        try (Builder builder = new Builder(params)) {
            for (int i = 0; i < keys; i++) {
                long number = mix(i);
                builder.add(number);
                sketches.update(number);
                guava.put(number);
                spark.putLong(number);
            }
            builder.finish(path, WriteOption.REPLACE);
        }
        int count = Math.max(1 << 20, Math.min(keys / 16, 1 << 22)) / PIECE * PIECE;
        long[] numbers = new long[count];
        byte[][] texts = new byte[count][];
        for (int i = 0; i < count; i++) {
            numbers[i] = mix(~(long) i);
            texts[i] = ("https://example.org/" + Long.toHexString(numbers[i])).getBytes(StandardCharsets.US_ASCII);
        }
        Filter.Options options = Filter.Options.DEFAULT.check(Filter.Check.FULL);
        try (Filter f = Filter.open(path, options); Filter uncut = Filter.open(path, options.uncut())) {
            boolean[] maybe = new boolean[BATCH];
            Map<String, Contender> contenders = new LinkedHashMap<>();
            contenders.put("bloomfile, numbers", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += f.mayContain(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("DataSketches, numbers", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += sketches.query(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("Spark, numbers", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += spark.mightContainLong(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("Guava, numbers", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += guava.mightContain(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("bloomfile, numbers, uncut", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += uncut.mayContain(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("bloomfile, 36 bytes", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += f.mayContain(texts[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("Spark, 36 bytes", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += spark.mightContainBinary(texts[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("bloomfile, 36 bytes, uncut", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += uncut.mayContain(texts[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("bloomfile, digests one by one", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i++) {
                    n += f.mayContainDigest(numbers[i]) ? 1 : 0;
                }
                return n;
            });
            contenders.put("bloomfile, digests in batches", from -> {
                int n = 0;
                for (int i = from; i < from + PIECE; i += BATCH) {
                    n += f.mayContainDigests(numbers, i, BATCH, maybe, 0);
                }
                return n;
            });
            String what = String.format(Locale.ROOT, "%,d, %.2f MB", keys, f.info().bits() / 8e6);
            time(what, contenders, count);
        }
        // The kernel that its environment names; the same digests.
        ProcessBuilder c = new ProcessBuilder(program, path.toString(), Integer.toString(count));
        c.environment().put("BLOOMFILE_KERNEL", "scalar");
        c.redirectError(ProcessBuilder.Redirect.INHERIT);
        Process process = c.start();
        String[] words = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).trim().split(" ");
        if (process.waitFor() != 0 || words.length != 4) {
            throw new IllegalStateException(program + " failed");
        }
        System.out.printf("| | C, %s kernel, digests one by one | %s | %s |%n", words[0], words[1], words[3]);
        System.out.printf("| | C, %s kernel, digests in batches | %s | %s |%n", words[0], words[2], words[3]);
        Files.delete(path);
    }

    private static void time(String what, Map<String, Contender> contenders, int count) {
        Map<String, long[]> best = new TreeMap<>();
        Map<String, Integer> found = new TreeMap<>();
        for (int turn = 0; turn < TURNS; turn++) {
            for (Map.Entry<String, Contender> contender : contenders.entrySet()) {
                long[] times = best.computeIfAbsent(contender.getKey(), name -> new long[count / PIECE]);
                int sum = 0;
                for (int piece = 0; piece < times.length; piece++) {
                    long start = System.nanoTime();
                    sum += contender.getValue().look(piece * PIECE);
                    long taken = System.nanoTime() - start;
                    times[piece] = turn == 0 ? taken : Math.min(times[piece], taken);
                }
                found.put(contender.getKey(), sum);
            }
        }
        String first = what;
        for (String name : contenders.keySet()) {
            long all = 0;
            for (long time : best.get(name)) {
                all += time;
            }
            System.out.printf(Locale.ROOT, "| %s | %s | %.1f | %d |%n", first, name, (double) all / count, found.get(name));
            first = "";
        }
    }
}
