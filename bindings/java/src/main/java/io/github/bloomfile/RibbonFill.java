// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.util.Arrays;

/**
 * The body of the ribbon layout: digests that ascend come page after page, and each page is solved when all of its are
 * there.
 */
final class RibbonFill implements Digests.Sink {
    private static final int LINES = 64;

    private final Sealer sealer;
    private final long lines;
    private final RibbonPage solver = new RibbonPage();
    private final byte[] page = new byte[Header.PAGE];
    private final long[] digests = new long[RibbonPage.mostKeys()];
    private long count;
    private long current;
    private double rates;

    RibbonFill(Header header, Sealer sealer) {
        this.sealer = sealer;
        lines = header.m / 512;
    }

    @Override
    public void accept(long[] numbers, int n) throws IOException {
        for (int i = 0; i < n; i++) {
            long at = Xxh3.mulhi(numbers[i], lines) / LINES;
            while (current < at) {
                advance();
            }
            if (count < digests.length) {
                digests[(int) count] = numbers[i];
            }
            count++;
        }
    }

    private void advance() throws IOException {
        int used = (int) Math.min(LINES, lines - LINES * current);
        Arrays.fill(page, (byte) 0);
        solver.make(digests, count, used, page);
        rates += solver.rate() * used;
        sealer.page(page, 0);
        count = 0;
        current++;
    }

    /** All digests were there: the rest of the pages. Returns the rate of the image. */
    double finish(long pages) throws IOException {
        while (current < pages) {
            advance();
        }
        return rates / lines;
    }
}
