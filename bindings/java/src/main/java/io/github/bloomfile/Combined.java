// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** The common part of folding and merging: several bodies are read in parallel, folded and ORed, page by page. */
final class Combined {
    private Combined() {
    }

    /** Makes the header of an operation's result, with the fields that any source determines: operations.md 6. */
    static Header header(Header source, long m) {
        Header h = new Header();
        h.headerSize = Header.FILE;
        h.layout = source.layout;
        h.hashId = source.hashId;
        h.selfTest = source.selfTest;
        h.k = source.k;
        h.seed = source.seed;
        h.m = m;
        h.mUnfolded = m;
        h.bodySize = h.layout.bodySize(m, h.headerSize);
        h.capacity = source.capacity;
        h.fpr = source.fpr;
        h.provenance = source.provenance & SliceJoin.KNOWN_PROVENANCE;
        h.n = source.n;
        h.flags = source.flags & Header.FLAG_ESTIMATED;
        setKeyKind(h, source.keyKind());
        return h;
    }

    static void setKeyKind(Header h, int kind) {
        h.keyKind = kind;
        h.compat = kind != 0 ? Header.COMPAT_KEYS : 0;
    }

    /**
     * Makes the body.
     *
     * @param sealer takes the pages; null to only measure
     */
    static Measure body(Header result, List<FoldedSource> sources, Sealer sealer) throws IOException {
        Measure measure = new Measure(result.layout, result.m, result.k);
        byte[] page = new byte[Header.PAGE];
        for (long i = 0; i < result.pages(); i++) {
            Arrays.fill(page, (byte) 0);
            for (FoldedSource source : sources) {
                source.or(page);
            }
            measure.page(page);
            if (sealer != null) {
                sealer.page(page, 0);
            }
        }
        for (FoldedSource source : sources) {
            source.finish();
        }
        return measure;
    }
}
