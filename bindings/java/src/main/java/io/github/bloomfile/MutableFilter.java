// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * A filter in memory: keys are added and looked up in any order, and it is sealed to a file at any time.
 *
 * <pre>{@code
 * MutableFilter seen = new MutableFilter(new Params().capacity(1_000_000));
 * if (seen.add(url)) {
 *     fetch(url); // certainly new
 * }
 * seen.seal(Path.of("seen.bloom"), WriteOption.REPLACE);
 * }</pre>
 *
 * <p>Any number of threads may use it. A key is found by every thread that synchronizes with the thread that added it,
 * by a lock, a volatile field or the like. Its memory is that of the filter, all of it from the beginning. {@link
 * Builder} takes less for a filter that is only built, counts repetitions exactly, and knows more layouts.
 */
public final class MutableFilter {
    private final Params params;
    private final Header header;
    private final ByteBuffer[] chunks;
    private final Image image;
    /** As in the header; of an empty filter whose kind is open, unknown. Written under the lock of this, as are the bits. */
    private volatile int keyKind;

    /**
     * An empty filter.
     * @param params its parameters: of the blocked or classic layout, with a {@link Params#capacity capacity}, or both
     *     of {@link Params#bits bits} and {@link Params#hashes hashes}; no slice
     * @throws BloomfileException EVALUE if that is not so; EUNREACHABLE if no size reaches the rate; ETOOBIG
     */
    public MutableFilter(Params params) throws BloomfileException {
        params.check();
        this.params = new Params(params);
        boolean fits = (params.layout == Layout.BLOCKED || params.layout == Layout.CLASSIC) && params.slices == 0
                && !Planner.needsKeys(params);
        new Header.Source("make a filter in memory", true).check(fits, ErrorCode.EVALUE,
                "it needs a capacity, the layout blocked or classic, and no slices");
        header = Planner.header(params, Planner.size(params, 0));
        new Header.Source("make a filter in memory", true).check(header.bodySize <= Runtime.getRuntime().maxMemory(),
                ErrorCode.ETOOBIG, header.bodySize + " bytes, more than the heap");
        keyKind = header.keyKind;
        long chunk = 1L << Image.CHUNK_SHIFT;
        chunks = new ByteBuffer[(int) ((header.bodySize - 1) / chunk) + 1];
        for (int i = 0; i < chunks.length; i++) {
            chunks[i] = ByteBuffer.allocate((int) Math.min(chunk, header.bodySize - i * chunk)).order(ByteOrder.LITTLE_ENDIAN);
        }
        image = new Image(header, chunks, true, 0, (code, detail) -> { });
    }

    /**
     * Adds a key.
     *
     * @param key any bytes, or an empty array
     * @return whether it is new: false if it was maybe there before
     * @throws BloomfileException EKEYKIND if the keys are of another kind, as the first key or {@link Params#keyKind} decided; EHASH
     *     if only the application can hash
     */
    public boolean add(byte[] key) throws BloomfileException {
        return add(KeyKind.BYTES, key);
    }

    /**
     * Adds a key that is text: its UTF-8.
     *
     * @param key the text
     * @return whether it is new
     * @throws BloomfileException as for bytes
     */
    public boolean add(CharSequence key) throws BloomfileException {
        return add(KeyKind.TEXT, key.toString().getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Adds a key that is an integer of any width: its eight bytes as a long, the least significant first.
     *
     * @param key the number
     * @return whether it is new
     * @throws BloomfileException as for bytes
     */
    public synchronized boolean add(long key) throws BloomfileException {
        admit(KeyKind.INTEGERS, 8);
        return addDigest(Xxh3.hash(key, header.seed));
    }

    private synchronized boolean add(int kind, byte[] key) throws BloomfileException {
        admit(kind, key.length);
        return addDigest(KeyKind.digest(keyKind, key, 0, key.length, header.seed));
    }

    /** Throws if a key does not fit. The first key decides the kind. */
    private void admit(int kind, int size) throws BloomfileException {
        if (header.hashId != Header.XXH3) {
            throw new BloomfileException(ErrorCode.EHASH, "add a key", "only digests can be added");
        }
        if (params.keyKind == null) {
            params.keyKind = Header.KEY_KINDS.get(kind);
            header.keyKind = kind;
            header.compat = Header.COMPAT_KEYS;
            keyKind = kind;
        }
        KeyKind.check(keyKind, kind, size, "add a key");
    }

    /**
     * Adds a key by its digest under the seed of the filter.
     *
     * @param digest any number
     * @return whether it is new
     */
    public synchronized boolean addDigest(long digest) {
        boolean isNew = header.layout == Layout.BLOCKED ? addToBlock(digest) : addToCells(digest);
        header.n += isNew ? 1 : 0;
        return isNew;
    }

    private boolean addToBlock(long digest) {
        long block = Image.reduce(digest, header.m / 512) << 6;
        boolean isNew = false;
        long g = digest;
        for (int left = header.k; left > 0; left -= 6) {
            g *= BlockedFill.C;
            for (int i = Math.min(6, left), shift = 55; i > 0; i--, shift -= 9) {
                int s = (int) (g >>> shift) & 511;
                isNew |= set(block + (s >>> 6 << 3), 1L << s);
            }
        }
        return isNew;
    }

    private boolean addToCells(long digest) {
        boolean isNew = false;
        long g = digest;
        for (int i = 0; i < header.k; i++, g *= BlockedFill.C) {
            long x = Image.reduce(g, header.m);
            isNew |= set(x >>> 6 << 3, 1L << x);
        }
        return isNew;
    }

    private boolean set(long offset, long bit) {
        ByteBuffer chunk = chunks[(int) (offset >>> Image.CHUNK_SHIFT)];
        int at = (int) offset & (1 << Image.CHUNK_SHIFT) - 1;
        long word = chunk.getLong(at);
        chunk.putLong(at, word | bit);
        return (word & bit) == 0;
    }

    /**
     * Returns whether a key may have been added.
     *
     * @param key its bytes
     * @return false if it certainly was not
     * @throws IllegalArgumentException if the keys are of another kind
     * @throws IllegalStateException if only the application can hash
     */
    public boolean mayContain(byte[] key) {
        return mayContain(KeyKind.BYTES, key);
    }

    /**
     * Returns whether a text may have been added: its UTF-8.
     *
     * @param key the text
     * @return false if it certainly was not
     * @throws IllegalArgumentException if the keys are of another kind
     * @throws IllegalStateException if only the application can hash
     */
    public boolean mayContain(CharSequence key) {
        return mayContain(KeyKind.TEXT, key.toString().getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns whether an integer of any width may have been added.
     *
     * @param key the number
     * @return false if it certainly was not
     * @throws IllegalArgumentException if the keys are of another kind
     * @throws IllegalStateException if only the application can hash
     */
    public boolean mayContain(long key) {
        fit(KeyKind.INTEGERS, 8);
        return mayContainDigest(Xxh3.hash(key, header.seed));
    }

    private boolean mayContain(int kind, byte[] key) {
        return mayContainDigest(KeyKind.digest(fit(kind, key.length), key, 0, key.length, header.seed));
    }

    /** Throws if a key of this kind cannot be there. Returns the kind of the filter's keys. */
    private int fit(int kind, int size) {
        if (header.hashId != Header.XXH3) {
            throw new IllegalStateException("the hash function is an application's own");
        }
        int now = keyKind;
        try {
            KeyKind.check(now, kind, size, "query a filter in memory");
        } catch (BloomfileException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
        return now;
    }

    /**
     * Returns whether a key may have been added.
     *
     * @param digest its digest under the seed of the filter
     * @return false if it certainly was not
     */
    public boolean mayContainDigest(long digest) {
        VarHandle.acquireFence(); // or a loop might read the bits once and for all
        return image.mayContain(digest);
    }

    /**
     * How many adds were of new keys.
     *
     * @return the number of distinct keys, less those that seemed to be there before
     */
    public synchronized long keys() {
        return header.n;
    }

    /**
     * Writes the current filter to a sealed file, which appears complete and on disk, or not at all. More keys may be
     * added afterwards, and further files written.
     *
     * @param path its name
     * @param options options beyond the default
     * @throws BloomfileException EFULL: the rate to expect is above twice the target, or above 50% if there is no
     *     target,
     *     and {@link WriteOption#OVERFULL} is not given
     * @throws IOException if it cannot be written; {@code path} is then unchanged
     */
    public void seal(Path path, WriteOption... options) throws IOException {
        try (NewFile file = new NewFile(path, options)) {
            boolean any = write(ImageOut.of(file.channel()), path.toString(), options);
            file.publish(any);
        }
    }

    /**
     * The sealed filter as bytes.
     *
     * @param options options beyond the default
     * @return the image
     * @throws IOException as for a path; ETOOBIG if an array cannot hold it
     */
    public byte[] toBytes(WriteOption... options) throws IOException {
        byte[] made = ImageOut.array(header);
        write(ImageOut.of(made), "a filter", options);
        return made;
    }

    private synchronized boolean write(ImageOut out, String name, WriteOption[] options) throws IOException {
        Header h = Planner.header(params, Planner.size(params, 0));
        h.n = header.n;
        if (h.capacity == 0) {
            h.capacity = Math.max(1, h.n);
        }
        if (!WriteOption.has(options, WriteOption.OVERFULL)) {
            Planner.checkRate(h, params.capacity != 0, 0, name);
        }
        Sealer sealer = new Sealer(h, out);
        byte[] page = new byte[Header.PAGE];
        for (long i = 0; i < h.pages(); i++) {
            image.read(i * Header.PAGE, page, sealer.nextSize());
            sealer.page(page, 0);
        }
        sealer.finish();
        return h.n != 0;
    }

    /**
     * A line for people.
     *
     * @return layout, size and number of keys
     */
    @Override
    public synchronized String toString() {
        return new Info(header, 1).toString();
    }
}
