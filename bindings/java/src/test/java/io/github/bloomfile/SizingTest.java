// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import org.junit.Test;

/**
 * sizes.md: which m and k a filter gets. {@code bloomfile.sizes} names the program that asks the C library,
 * {@code bloomfile.cases} and {@code bloomfile.seed} how many chance cases, and which.
 */
public class SizingTest {
    @Test
    public void sizesMatchTheVectors() throws BloomfileException {
        for (Spec.Vector v : Spec.vectors("size")) {
            if (v.layout() == Layout.RIBBON) {
                continue; // its m is given: Params
            }
            int k = v.has("k") ? v.integer("k") : 0;
            Sizing size = v.has("m") ? Sizing.given(v.layout(), v.number("m"), k, v.number("n"))
                    : Sizing.of(v.layout(), v.number("n"), Double.parseDouble(v.get("fpr")), k);
            assertEquals(v.line, v.answer[0] + " " + v.answer[1], size.m + " " + size.k);
        }
    }

    @Test
    public void ratesMatchTheVectors() {
        for (Spec.Vector v : Spec.vectors("rate")) {
            if (v.layout() == Layout.RIBBON) {
                continue;
            }
            double rate = Sizing.rate(v.layout(), v.number("m"), v.number("n"), v.integer("k"));
            assertEquals(v.line, 1, rate / Double.parseDouble(v.answer[0]), 1e-9);
        }
    }

    /** Rates that are known in closed form. */
    @Test
    public void ratesMatchClosedForms() {
        assertEquals(0, Sizing.rate(Layout.CLASSIC, 100, 0, 3), 0);
        assertEquals(1, Sizing.rate(Layout.CLASSIC, 1, 1, 1), 0);
        assertEquals(0.01, Sizing.rate(Layout.CLASSIC, 100, 1, 1), 1e-15);
        assertEquals(1 - Math.pow(0.99, 50), Sizing.rate(Layout.CLASSIC, 100, 50, 1), 1e-12);
        double two = 0.5 * 0.25 + 0.5;
        assertEquals(two, Sizing.rate(Layout.COUNTING, 2, 1, 2), 1e-15);
        assertEquals(1.0 / 5120, Sizing.rate(Layout.BLOCKED, 5120, 1, 1), 1e-15);
        assertEquals(1 - Math.pow(1 - 1 / 51200.0, 700), Sizing.rate(Layout.BLOCKED, 51200, 700, 1), 1e-12);
        assertEquals(1, Sizing.rate(Layout.BLOCKED, 512, 1L << 60, 64), 0);
    }

    /** Above 2048 / k keys the rate is that of the formula, which the chain of all throws does not give. */
    @Test
    public void ratesAbove2048ThrowsFollowTheFormula() {
        assertEquals(1 - Math.pow(0.999, 2048), CellRate.rate(1000, 2048, 1), 1e-12);
        double x = 293 * 7 / 2812.0;
        double f = 1 - Math.exp(-x);
        double v = (Math.exp(-x) - (1 + x) * Math.exp(-2 * x)) / (2812 * f * f);
        double formula = Math.pow(f + Math.exp(-x) * x / (2 * 2812), 7) * Math.exp(v * 21);
        assertEquals(1, CellRate.rate(2812, 293, 7) / formula, 1e-12);
        Uncovered chain = new Uncovered(7, 2812);
        chain.hit(293 * 7);
        assertEquals(1.8e-6, CellRate.rate(2812, 293, 7) / chain.none() - 1, 1e-7);
    }

    @Test
    public void unreachableRatesAreRefused() {
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            assertEquals(ErrorCode.EUNREACHABLE,
                    assertThrows(BloomfileException.class, () -> Sizing.of(layout, 1L << 60, 0.01, 0)).code());
            assertEquals(ErrorCode.EUNREACHABLE,
                    assertThrows(BloomfileException.class, () -> Sizing.of(layout, 1L << 40, 1e-9, 0)).code());
        }
    }

    /** The C library, which is asked one line at a time. */
    private static final class Library implements AutoCloseable {
        final Process process;
        final PrintStream out;
        final BufferedReader in;

        Library(String program) throws IOException {
            process = new ProcessBuilder(program).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            out = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            in = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        }

        /** One of fpr and m is 0. */
        void check(Layout layout, long n, double fpr, long m, int k) throws IOException {
            String given = layout + " n=" + n + " fpr=" + fpr + " m=" + m + " k=" + k;
            out.println(layout.number() + " " + n + " " + Double.toHexString(fpr) + " " + m + " " + k);
            String[] theirs = in.readLine().split(" ");
            try {
                Sizing size = m != 0 ? Sizing.given(layout, m, k, n) : Sizing.of(layout, n, fpr, k);
                assertEquals(given, theirs[0], String.valueOf(size.m));
                assertEquals(given, theirs[1], String.valueOf(size.k));
                assertEquals(given, Double.parseDouble(theirs[2]), Sizing.rate(layout, size.m, n, size.k), 0);
            } catch (BloomfileException e) {
                assertEquals(given, theirs[0], "none");
                assertEquals(ErrorCode.EUNREACHABLE, e.code());
            }
        }

        @Override
        public void close() {
            process.destroy();
        }
    }

    private static final Layout[] SIZED = {Layout.BLOCKED, Layout.CLASSIC, Layout.COUNTING};

    private static Library library() throws IOException {
        String program = System.getProperty("bloomfile.sizes");
        assumeTrue("no program to ask", program != null);
        return new Library(program);
    }

    /** On both sides of where the formula changes; rates that a size has exactly; what no size has. */
    @Test
    public void sizesMatchTheCLibrary() throws IOException {
        try (Library library = library()) {
            for (Layout layout : SIZED) {
                for (int k : new int[] {1, 3, 7, 20, 30, 64}) {
                    for (long n : new long[] {1, 2048 / k, 2048 / k + 1, 1444, 4096 / k, 4096 / k + 1, 1L << 36}) {
                        for (double fpr : new double[] {0.5, 0.01, 1e-9}) {
                            library.check(layout, n, fpr, 0, k);
                        }
                    }
                }
                for (double fpr : new double[] {0.75, 0.5, 1 / 3.0, 0.25, 0.19, 0.1, Math.nextUp(0x1p-64), 0x1p-64, 1e-300}) {
                    for (int n = 1; n < 4; n++) {
                        library.check(layout, n, fpr, 0, 0);
                    }
                }
                for (long n : new long[] {1L << 40, 1L << 56, 1L << 58, 1L << 60}) {
                    for (double fpr : new double[] {0.99, 0.5, 0.01, 1e-9}) {
                        library.check(layout, n, fpr, 0, 0);
                    }
                }
                // Filled again and again, where many k have the same rate.
                for (long m = 512; m < 1 << 20; m *= 4) {
                    for (long n = 1; n < 1L << 59; n *= 8) {
                        library.check(layout, n, 0, m, 0);
                    }
                }
            }
        }
    }

    /** With as many units as there may be, or nearly. */
    @Test
    public void largestSizesMatchTheCLibrary() throws IOException {
        try (Library library = library()) {
            for (Layout layout : SIZED) {
                long fits = 1L << 58;
                long tooMany = 1L << 60;
                while (tooMany - fits > 1) {
                    long n = fits + (tooMany - fits) / 2;
                    library.check(layout, n, 0.5, 0, 1);
                    try {
                        assertTrue(Sizing.of(layout, n, 0.5, 1).m <= Header.MAX_BITS);
                        fits = n;
                    } catch (BloomfileException e) {
                        tooMany = n;
                    }
                }
            }
        }
    }

    @Test
    public void randomSizesMatchTheCLibrary() throws IOException {
        SplittableRandom random = new SplittableRandom(Long.getLong("bloomfile.seed", 1));
        try (Library library = library()) {
            for (int i = Integer.getInteger("bloomfile.cases", 300); i > 0; i--) {
                Layout layout = SIZED[random.nextInt(SIZED.length)];
                long n = 1 + (random.nextLong() >>> 5 + random.nextInt(59));
                double fpr = Math.pow(10, -9 * random.nextDouble()) / 2;
                int k = random.nextBoolean() ? 0 : 1 + random.nextInt(64);
                library.check(layout, n, fpr, 0, k);
                long bits = Math.min(Header.MAX_BITS, 1 + (random.nextLong() >>> 4 + random.nextInt(60)));
                library.check(layout, n, 0, layout == Layout.BLOCKED ? (bits + 511) / 512 * 512 : bits, 0);
            }
        }
    }
}
