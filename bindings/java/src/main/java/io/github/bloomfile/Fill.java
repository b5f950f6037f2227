// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;

/** Makes the image of a set of digests. */
final class Fill {
    private Fill() {
    }

    /**
     * Writes the image. Sets n, the number of one bits, overflow and the checksums in the header, and the capacity if
     * it is 0.
     *
     * @param memory bytes that a body may take
     * @return the rate of the ribbon layout, else 0
     */
    static double image(Header h, Digests digests, ImageOut out, long memory) throws IOException {
        Sealer sealer = new Sealer(h, out);
        long[] n = new long[1];
        double rate = 0;
        if (h.layout == Layout.BLOCKED) {
            BlockedFill fill = new BlockedFill(h, sealer);
            digests.forEach((numbers, count) -> {
                n[0] += count;
                fill.accept(numbers, count);
            });
            fill.finish(h.pages());
        } else if (h.layout == Layout.RIBBON) {
            RibbonFill fill = new RibbonFill(h, sealer);
            digests.forEach((numbers, count) -> {
                n[0] += count;
                fill.accept(numbers, count);
            });
            rate = fill.finish(h.pages());
        } else {
            n[0] = CellFill.body(h, digests, sealer, memory);
        }
        h.n = n[0];
        if (h.capacity == 0) {
            h.capacity = Math.max(1, h.n);
        }
        sealer.finish();
        return rate;
    }
}
