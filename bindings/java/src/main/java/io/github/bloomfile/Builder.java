// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Builds a sealed filter, or a slice of a filter, from keys or digests in any order. The bytes are those that {@code
 * bfcreate} makes of the same strings. But one may refuse a ribbon filter as over capacity that the other makes: {@code
 * bfcreate} compares the expected rate, and a builder the actual rate. Repeated keys count once. All keys are of one
 * kind: that of {@link Params#keyKind}, or of the first key.
 *
 * <p>Digests are kept until the filter is written, 8 bytes each: in memory up to {@link Params#memory}, and from there
 * on in a temporary file. On top of that a builder takes at most 6 MiB, 4 bytes for each page of 4096 bytes of the
 * filter, and while it writes 32 bytes for each 1024th digest. The classic and counting layouts also take the filter
 * itself, or as much of it as {@link Params#memory} allows, and go through the digests once for each part. A filter or
 * slice of the blocked layout is written as it is made, page after page, so its size does not matter otherwise.
 *
 * <p>Not safe for use by several threads at once; use one builder a thread, or a slice for each. A call during another
 * one, by another thread, throws {@link IllegalStateException}, and so do all later calls: the filter would lack its
 * keys.
 *
 * <p>An error that a method throws for want of disk or memory while keys are added ends the builder likewise. An
 * interrupt ends it only if the thread is using the temporary file of the digests, because Java closes that file.
 */
public final class Builder implements Closeable {
    private static final VarHandle BUSY = Image.field(MethodHandles.lookup(), "busy", boolean.class);

    private final Params params;
    private final Sizing sizing;
    private final Digests digests;
    private final long seed;
    private int keyKind;
    private long keys;
    /** Whether a call is in progress. */
    private boolean busy;
    /** An add has failed, or was refused, so that keys are missing. */
    private volatile boolean broken;
    private volatile boolean closed;

    /**
     * An empty builder.
     *
     * @param params the parameters of the filter, which are copied
     * @throws BloomfileException EVALUE, also if there are fewer pages than slices; EUNREACHABLE if no size reaches the
     *     rate
     */
    public Builder(Params params) throws BloomfileException {
        params.check();
        this.params = new Params(params);
        keyKind = params.keyKindNumber();
        sizing = Planner.needsKeys(params) ? null : Planner.size(params, params.capacity);
        long lowest = 0;
        long highest = -1;
        if (params.slices != 0) {
            Slices.Range range = Slices.range(sizing.m, params.slices, params.slice);
            lowest = range.lowest;
            highest = range.highest;
        }
        seed = params.seed;
        digests = new Digests(lowest, highest, params.memory, params.temporaryFolder());
    }

    /**
     * Adds a key.
     *
     * @param key any bytes, or an empty array
     * @throws IOException if the temporary file cannot be written
     */
    public void add(byte[] key) throws IOException {
        add(key, 0, key.length);
    }

    /**
     * Adds a key.
     *
     * @param b array with its bytes
     * @param off the first one
     * @param len how many
     * @throws IOException if the temporary file cannot be written; EHASH if keys are hashed by an application's own
     *     function; EKEYKIND if keys are of another kind; the builder can continue without this key
     */
    public void add(byte[] b, int off, int len) throws IOException {
        java.util.Objects.checkFromIndexSize(off, len, b.length);
        admit(KeyKind.BYTES, len);
        addDigest(KeyKind.digest(keyKind, b, off, len, seed));
    }

    /** Throws if a key does not fit. The first key decides the kind. */
    private void admit(int kind, int size) throws BloomfileException {
        if (params.hashId != Header.XXH3) {
            throw new BloomfileException(ErrorCode.EHASH, "add a key", "only digests can be added");
        }
        if (params.keyKind == null) {
            keyKind = kind;
            params.keyKind = Header.KEY_KINDS.get(kind);
        }
        KeyKind.check(keyKind, kind, size, "add a key");
    }

    /**
     * Adds a key that is text: its UTF-8.
     *
     * @param key the text; a surrogate without its other half counts as "?"
     * @throws IOException as for bytes
     */
    public void add(CharSequence key) throws IOException {
        byte[] b = key.toString().getBytes(StandardCharsets.UTF_8);
        admit(KeyKind.TEXT, 0);
        addDigest(KeyKind.digest(keyKind, b, 0, b.length, seed));
    }

    /**
     * Adds a key that is an integer of any width: its eight bytes as a long, the least significant first.
     *
     * @param key the number
     * @throws IOException as for bytes
     */
    public void add(long key) throws IOException {
        admit(KeyKind.INTEGERS, 8);
        addDigest(Xxh3.hash(key, seed));
    }

    /**
     * Adds a key by its digest under the seed of the filter. One that belongs to another slice is left out.
     *
     * @param digest any number
     * @throws IOException if the temporary file cannot be written
     */
    public void addDigest(long digest) throws IOException {
        begin();
        boolean added = false;
        try {
            digests.add(digest);
            added = true;
        } finally {
            end(added);
        }
    }

    /**
     * Adds keys by their digests.
     *
     * @param d the digests
     * @throws IOException if the temporary file cannot be written
     */
    public void addDigests(long[] d) throws IOException {
        addDigests(d, 0, d.length);
    }

    /**
     * Adds keys by their digests. Those that belong to other slices are left out.
     *
     * @param d where they are
     * @param off the first one
     * @param len how many
     * @throws IOException if the temporary file cannot be written
     */
    public void addDigests(long[] d, int off, int len) throws IOException {
        java.util.Objects.checkFromIndexSize(off, len, d.length);
        begin();
        boolean added = false;
        try {
            digests.add(d, off, len);
            added = true;
        } finally {
            end(added);
        }
    }

    /**
     * Begins a call; end() must follow. If another thread is in a call, this and all later calls are refused, because
     * keys are missing.
     */
    private void begin() {
        if (!BUSY.compareAndSet(this, false, true)) {
            broken = true;
            throw new IllegalStateException("two threads use the builder at the same time: its filter would lack keys");
        }
        if (broken || closed) {
            BUSY.setRelease(this, false);
            check();
        }
    }

    private void end(boolean whole) {
        if (!whole) {
            broken = true;
        }
        BUSY.setRelease(this, false);
    }

    private void check() {
        if (broken || closed) {
            throw new IllegalStateException(closed ? "the builder is closed"
                    : "the builder has failed before, and would make a filter without all keys");
        }
    }

    /**
     * Writes the filter to a file, which appears complete and on disk, or not at all. May be called again. Until it is
     * complete, it has a name that begins with {@code .bloomfile-}, in the same folder. A program that is killed may
     * leave that file behind.
     *
     * @param path its name
     * @param options options beyond the default
     * @throws BloomfileException EFULL: the expected rate is above twice the target, or above 50% if there is no
     *     target, and {@link WriteOption#OVERFULL} is not given
     * @throws IOException if it cannot be written; {@code path} is as it was then
     */
    public void finish(Path path, WriteOption... options) throws IOException {
        begin();
        try (NewFile file = new NewFile(path, options)) {
            Header h = plan();
            write(h, ImageOut.of(file.channel()), path.toString(), options);
            check();
            file.publish(h.n != 0);
        } finally {
            end(digests.isThere());
        }
    }

    /**
     * Writes the filter to a stream, from its first byte to its last. The filter is first built in memory or a
     * temporary file, so nothing is written if building fails. If writing fails, the caller must discard the bytes
     * written so far. The stream is neither closed nor flushed.
     *
     * @param out where to
     * @param options options beyond the default
     * @throws IOException as for a path
     */
    public void finish(OutputStream out, WriteOption... options) throws IOException {
        begin();
        try {
            Header h = plan();
            if (h.imageSize() > params.memory) {
                try (FileChannel file = Spool.temporary(params.temporaryFolder())) {
                    write(h, ImageOut.of(file), "a filter", options);
                    check();
                    file.position(0);
                    Channels.newInputStream(file).transferTo(out);
                }
                return;
            }
            ImageOut.Memory image = new ImageOut.Memory();
            write(h, image, "a filter", options);
            check();
            image.copyTo(out);
        } finally {
            end(digests.isThere());
        }
    }

    /**
     * The filter as bytes.
     *
     * @param options options beyond the default
     * @return the image
     * @throws IOException as for a path; ETOOBIG if an array cannot hold it
     */
    public byte[] toBytes(WriteOption... options) throws IOException {
        begin();
        try {
            Header h = plan();
            byte[] image = ImageOut.array(h);
            write(h, ImageOut.of(image), "a filter", options);
            check();
            return image;
        } finally {
            end(digests.isThere());
        }
    }

    /**
     * The number of distinct keys of the filter, or slice, that was written last.
     *
     * @return exact; 0 before the first filter was written
     */
    public long keys() {
        return keys;
    }

    /** Returns the header, except for the fields that depend on the body. */
    private Header plan() throws IOException {
        check();
        Header h = Planner.header(params, sizing != null ? sizing : Planner.size(params, digests.count()));
        if (h.isSlice()) {
            digests.describeInput(h);
        }
        return h;
    }

    /** Makes the image, and sets the rest of its header. */
    private void write(Header h, ImageOut out, String name, WriteOption[] options) throws IOException {
        double solved = Fill.image(h, digests, out, params.memory);
        keys = h.n;
        if (!WriteOption.has(options, WriteOption.OVERFULL)) {
            Planner.checkRate(h, params.capacity != 0, solved, name);
        }
    }

    /** Frees memory and temporary files. Files that were written are kept. */
    @Override
    public void close() throws IOException {
        closed = true;
        digests.close();
    }
}
