// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;

/** The layers of a sealed series (slices.md 2.2), or a single image. */
final class Series {
    private Series() {
    }

    /**
     * Opens an image, or all layers of a series.
     *
     * @param size S
     * @param trusted whether pages are not to be checked
     */
    static Image[] open(Filter.Bytes bytes, long size, Header.Source source, boolean trusted, Image.Doubts doubts)
            throws IOException {
        Header before = null;
        Image[] layers = new Image[1];
        long at = 0;
        for (int i = 0; i < layers.length; i++) {
            byte[] head = new byte[(int) Math.min(size - at, Header.FILE)];
            try {
                bytes.read(at, head, head.length);
            } catch (EOFException e) {
                throw source.error(ErrorCode.ETRUNCATED, "it became shorter while it was read");
            }
            Header h = Header.decode(head, size - at, source);
            if (i == 0 && h.isLayer()) {
                layers = new Image[h.layers];
            }
            if (i > 0 || h.isLayer()) {
                check(h, before, i, source);
            }
            try {
                layers[i] = new Image(h, bytes.chunks(at + h.headerSize, h.imageSize() - h.headerSize), trusted, i,
                        doubts);
            } catch (EOFException e) {
                throw source.error(ErrorCode.ETRUNCATED, "it became shorter while it was read");
            }
            at += (h.imageSize() + Header.PAGE - 1) / Header.PAGE * Header.PAGE;
            before = h;
        }
        return layers;
    }

    private static void check(Header h, Header before, int number, Header.Source source) throws BloomfileException {
        source.check(h.isLayer() && h.layer == number, ErrorCode.ESERIES, "where layer " + number + " should be");
        if (before == null) {
            source.check(h.link == 0, ErrorCode.ESERIES, "the link of layer 0");
            return;
        }
        long link = before.headerCrc & 0xFFFFFFFFL | (long) before.bodyCrc << 32;
        source.check(h.link == link, ErrorCode.ESERIES, "the link of layer " + number);
        source.check(h.hashId == before.hashId && h.selfTest == before.selfTest && h.seed == before.seed
                && h.layout == before.layout && h.layers == before.layers
                && ((h.compat ^ before.compat) & Header.COMPAT_KEYS) == 0
                && ((h.compat & Header.COMPAT_KEYS) == 0 || h.keyKind == before.keyKind)
                && Arrays.equals(h.tag, before.tag) && h.label.equals(before.label)
                && h.seriesFpr == before.seriesFpr, ErrorCode.ESERIES, "layer " + number + " is of another one");
    }
}
