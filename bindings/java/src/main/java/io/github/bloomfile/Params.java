// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

/**
 * The parameters of a new filter: size, layout, fields of the header. Each method sets one parameter and returns this
 * object. The others have the defaults of {@code bfcreate}, so that the same strings make the same file.
 *
 * <p>Not safe for use by several threads while it is being set. A {@link Builder} takes a copy. Values are checked when a
 * Builder is made.
 */
public final class Params implements Serializable {
    private static final long serialVersionUID = 1;

    /** The false-positive rate if neither a rate nor a number of bits is set. */
    public static final double DEFAULT_FPR = 0.01;

    /** As {@link #layout(Layout)}. */
    Layout layout = Layout.BLOCKED;
    /** As {@link #capacity(long)}; 0 if it is not set. */
    long capacity;
    /** As {@link #fpr(double)}; 0 if it is not set. */
    double fpr;
    /** As {@link #bits(long)}; 0 if it is not set. */
    long bits;
    /** As {@link #hashes(int)}; 0 for the best. */
    int hashes;
    /** As {@link #seed(long)}. */
    long seed;
    /** As {@link #label(String)}. */
    String label = "";
    /** As {@link #tag(byte[])}. */
    byte[] tag = new byte[0];
    /** As {@link #watermark(byte[])}. */
    byte[] watermark = new byte[0];
    /** As {@link #keyKind(String)}. */
    String keyKind;
    /** The first of {@link #application(int, long)}. */
    int hashId = Header.XXH3;
    /** The second of {@link #application(int, long)}. */
    long selfTest;
    /** The first of {@link #slice(int, int)}. */
    int slice;
    /** The second of {@link #slice(int, int)}; 0 for a whole filter. */
    int slices;
    /** As {@link #embedded(boolean)}. */
    boolean embedded;
    /** As {@link #memory(long)}. */
    long memory = Math.max(1 << 20, Math.min(64 << 20, Runtime.getRuntime().maxMemory() / 8));
    /** As {@link #temporaryFolder(Path)}; null for that of the system. */
    String folder;

    /** Parameters with all defaults: layout blocked, a rate of 0.01, as large as the keys need. */
    public Params() {
    }

    /** A copy. */
    Params(Params p) {
        layout = p.layout;
        capacity = p.capacity;
        fpr = p.fpr;
        bits = p.bits;
        hashes = p.hashes;
        seed = p.seed;
        label = p.label;
        tag = p.tag.clone();
        watermark = p.watermark.clone();
        keyKind = p.keyKind;
        hashId = p.hashId;
        selfTest = p.selfTest;
        slice = p.slice;
        slices = p.slices;
        embedded = p.embedded;
        memory = p.memory;
        folder = p.folder;
    }

    /**
     * The layout.
     *
     * @param value blocked is the default
     * @return this
     */
    public Params layout(Layout value) {
        layout = value;
        return this;
    }

    /**
     * Sizes the filter for so many distinct keys. If neither this nor {@link #bits} is set, the keys decide the size, and
     * are read a second time.
     *
     * @param keys 1 to 2^60
     * @return this
     */
    public Params capacity(long keys) {
        capacity = keys;
        return this;
    }

    /**
     * The target false-positive rate.
     *
     * @param rate above 0 and below 1; {@link #DEFAULT_FPR} if neither this nor {@link #bits} is set
     * @return this
     */
    public Params fpr(double rate) {
        fpr = rate;
        return this;
    }

    /**
     * The number of bits (counters), in place of the number that the rate needs. In the blocked and ribbon layouts it
     * is rounded up to a multiple of 512. A rate that is set as well is recorded. The ribbon layout needs it: about 7
     * bits a key for a rate of 0.01, in multiples of 32768.
     *
     * @param m 1 to 2^60
     * @return this
     */
    public Params bits(long m) {
        bits = m;
        return this;
    }

    /**
     * The number of positions of each key, in place of the best one.
     *
     * @param k 1 to 64
     * @return this
     */
    public Params hashes(int k) {
        hashes = k;
        return this;
    }

    /**
     * The seed of the hash function. Only filters of one seed can be merged.
     *
     * @param value any number; 0 is the default
     * @return this
     */
    public Params seed(long value) {
        seed = value;
        return this;
    }

    /**
     * A text for people.
     *
     * @param text at most 112 bytes of UTF-8, without control characters
     * @return this
     */
    public Params label(String text) {
        label = Objects.requireNonNull(text, "label");
        return this;
    }

    /**
     * A tag for programs, such as the identity of the table that has the keys.
     *
     * @param bytes at most 16 bytes, padded with zeros
     * @return this
     */
    public Params tag(byte[] bytes) {
        tag = bytes.clone();
        return this;
    }

    /**
     * How far the keys are complete, such as "up to block 19,442,107": {@link Info#watermark()}.
     *
     * @param bytes at most 32, padded with zero bytes
     * @return this
     */
    public Params watermark(byte[] bytes) {
        watermark = bytes.clone();
        return this;
    }

    /**
     * The kind of the keys, so that lookups of other kinds are refused. By default the first key of a {@link Builder}
     * decides; digests have no kind.
     *
     * @param kind {@code "text"} (what {@code bfcreate} makes of lines), {@code "lower"} (the same with A to Z replaced by a
     *     to z), {@code "integers"}, {@code "bytes"}, {@code "fixed"} and the size, as in {@code "fixed 32"}, or {@code
     *     "unknown"}, which fits all keys; null: the default
     * @return this
     */
    public Params keyKind(String kind) {
        keyKind = kind;
        return this;
    }

    /**
     * Sets an application's own hash function: app-hashes.md of the specification. Only digests can be added then,
     * not keys.
     *
     * @param id from 0x80000000 on, as an unsigned number
     * @param test the value of the function for an input that the application chooses
     * @return this
     */
    public Params application(int id, long test) {
        hashId = id;
        selfTest = test;
        return this;
    }

    /**
     * Makes one slice of the filter: a range of its blocks, with the keys that belong there. Other keys are left out.
     * Build all slices from the same keys, in any order, or each from its own keys; {@link Slices} joins them. Only
     * for the blocked layout, and with {@link #capacity} set to the number of keys of the whole filter, because all
     * slices must agree on its size.
     *
     * @param index number of the slice, from 0
     * @param of number of slices, 1 to 65536; at most one for each page of 4096 bytes
     * @return this
     */
    public Params slice(int index, int of) {
        slice = index;
        slices = of;
        return this;
    }

    /**
     * The embedded form: a header of 512 bytes in place of 4096, and no padding to whole pages.
     *
     * @param value false is the default
     * @return this
     */
    public Params embedded(boolean value) {
        embedded = value;
        return this;
    }

    /**
     * Sets the approximate memory of a builder. Digests that do not fit go to temporary files. The resulting file is
     * the same.
     *
     * @param bytes at least 1 MiB; the default is 64 MiB, or an eighth of the heap if that is less
     * @return this
     */
    public Params memory(long bytes) {
        memory = bytes;
        return this;
    }

    /**
     * Where temporary files go: at most 8 bytes for each key that was added, and the size of the filter where it is written
     * to a stream.
     *
     * @param path a folder; the default is that of the system property {@code java.io.tmpdir}
     * @return this
     */
    public Params temporaryFolder(Path path) {
        folder = path.toString();
        return this;
    }

    /** Throws if a value is out of range, or two contradict each other. */
    void check() throws BloomfileException {
        check(layout != null, ErrorCode.EVALUE, "no layout");
        check(layout != Layout.RIBBON || bits != 0, ErrorCode.EVALUE, "the layout ribbon needs a number of bits here");
        check(capacity >= 0 && capacity <= Header.MAX_BITS, ErrorCode.EVALUE, "capacity " + capacity);
        check(fpr == 0 || fpr > 0 && fpr < 1, ErrorCode.EVALUE, "fpr " + fpr);
        check(bits >= 0 && bits <= Header.MAX_BITS, ErrorCode.EVALUE, "bits " + bits);
        check(hashes >= 0 && hashes <= Header.MAX_HASHES, ErrorCode.EVALUE, "hashes " + hashes);
        check(hashes == 0 || layout != Layout.RIBBON, ErrorCode.EVALUE, "the layout ribbon has no hashes");
        byte[] text = label.getBytes(StandardCharsets.UTF_8);
        boolean whole = new String(text, StandardCharsets.UTF_8).equals(label);
        check(whole && text.length <= Header.LABEL_SIZE && Header.isCleanText(text, 0, text.length),
                ErrorCode.EVALUE, "the label is not text of at most 112 bytes without control characters");
        check(tag.length <= Header.TAG_SIZE, ErrorCode.EVALUE, "a tag of " + tag.length + " bytes");
        check(watermark.length <= Header.WATERMARK_SIZE, ErrorCode.EVALUE, "a watermark of " + watermark.length + " bytes");
        check(hashId == Header.XXH3 || hashId < 0, ErrorCode.EHASH, "0x" + Integer.toHexString(hashId));
        check(memory >= 1 << 20, ErrorCode.EVALUE, "memory of less than 1 MiB");
        keyKindNumber();
        if (slices != 0) {
            check(layout == Layout.BLOCKED && !embedded, ErrorCode.EVALUE, "only the layout blocked has slices, in file form");
            check(slices >= 1 && slices <= Slices.MAX && slice >= 0 && slice < slices, ErrorCode.EVALUE,
                    "slice " + slice + " of " + slices);
            check(capacity != 0, ErrorCode.EVALUE, "a slice needs the capacity of the whole");
        }
    }

    /** The field {@code key_kind}, 0 if it is unknown. */
    int keyKindNumber() throws BloomfileException {
        if (keyKind == null) {
            return KeyKind.UNKNOWN;
        }
        boolean fixed = keyKind.matches("fixed [1-9][0-9]{0,7}");
        int size = fixed ? Integer.parseInt(keyKind.substring(6)) : 0;
        int kind = fixed ? Header.KEYS_FIXED | size << 8 : Header.KEY_KINDS.indexOf(keyKind);
        check(kind >= 0 && size < 1 << 24 && Header.knowsKeyKind(kind), ErrorCode.EVALUE, "keyKind " + keyKind);
        return kind;
    }

    /**
     * Throws if no key of a kind fits {@link #keyKind}. If that is not set, it becomes this.
     *
     * @param kind {@code "text"}, {@code "integers"} or {@code "bytes"}
     * @return this
     * @throws BloomfileException EKEYKIND if such keys do not fit
     */
    public Params keysAre(String kind) throws BloomfileException {
        if (keyKind == null) {
            keyKind = kind;
        }
        KeyKind.check(keyKindNumber(), Header.KEY_KINDS.indexOf(kind), -1, "plan a filter");
        return this;
    }

    private static void check(boolean holds, ErrorCode code, Object detail) throws BloomfileException {
        if (!holds) {
            throw new BloomfileException(code, "plan a filter", detail == null ? null : detail.toString());
        }
    }

    /** Where temporary files go. */
    Path temporaryFolder() {
        return Path.of(folder != null ? folder : System.getProperty("java.io.tmpdir"));
    }
}
