// SPDX-License-Identifier: MIT
package bloomfile;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import org.junit.Test;

/** Annex F: which m and k a filter gets. */
public class SizingTest {
    @Test
    public void vectors() throws BloomfileException {
        for (Spec.Vector v : Spec.vectors("size")) {
            int k = v.has("k") ? v.integer("k") : 0;
            Sizing size = v.has("m") ? Sizing.given(v.layout(), v.number("m"), k, v.number("n"))
                    : Sizing.of(v.layout(), v.number("n"), Double.parseDouble(v.get("fpr")), k);
            assertEquals(v.line, v.answer[0] + " " + v.answer[1], size.m + " " + size.k);
        }
    }

    /** Rates that are known in closed form. */
    @Test
    public void rates() {
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

    /** Where the distribution is too large and its moments are used, both agree. */
    @Test
    public void exactOrByMoments() {
        double small = CellRate.rate(1728, 173, 10);
        double large = CellRate.rate(1740, 174, 10);
        assertEquals(1, small / large, 0.01);
        double previous = 0;
        for (long n = 100; n < 400; n++) {
            double rate = CellRate.rate(2000, n, 10);
            assertEquals(true, rate > previous);
            previous = rate;
        }
    }

    @Test
    public void unreachable() {
        for (Layout layout : new Layout[] {Layout.BLOCKED, Layout.CLASSIC}) {
            assertEquals(ErrorCode.EUNREACHABLE,
                    assertThrows(BloomfileException.class, () -> Sizing.of(layout, 1L << 60, 0.01, 0)).code());
            assertEquals(ErrorCode.EUNREACHABLE,
                    assertThrows(BloomfileException.class, () -> Sizing.of(layout, 1L << 40, 1e-9, 0)).code());
        }
    }
}
