// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A sealed filter, or a series of them, for lookups. It never changes, and any number of threads may use it.
 *
 * <pre>{@code
 * try (Filter f = Filter.open(Path.of("users.bloom"))) {
 *     if (f.mayContain("alice")) {
 *         // perhaps: look in the table
 *     }
 * }
 * }</pre>
 *
 * <p>Opening checks the header. A page of the body is checked when it is first needed. If it is damaged, answers that
 * depend on it are <em>maybe</em>, and {@link #error} returns the damage. A lookup throws nothing but {@link
 * IllegalStateException} after {@link #close}, and {@link IllegalArgumentException} for keys of another kind than the
 * filter's.
 *
 * <p><strong>Never write to or truncate an open file; replace it by renaming a new file over it.</strong> If a mapped
 * file is truncated, or its disk fails, the Java VM reads garbage from the lost pages, and throws an {@link
 * InternalError} in the calling thread some time later. So a lookup that would answer <em>no</em> tests a copy of the
 * bytes again: clear bits count only if their bytes, or the last bytes of the file, certainly exist. Otherwise it
 * answers <em>maybe</em>. {@link #mayContainDigests(long[], int, int, boolean[], int) Batches} check for such errors,
 * and for the last bytes of the file, once. {@link Options#inMemory} reads the file when it is opened, and does not
 * depend on it afterwards.
 *
 * <p>Live filters, to which other programs add keys, are refused ({@link ErrorCode#ELIVE}) unless {@link Options#live}
 * accepts them.
 */
public final class Filter implements Closeable {
    private static final VarHandle DOUBTFUL = Image.field(MethodHandles.lookup(), "doubtful", boolean.class);

    private final String name;
    private final Image[] layers;
    private final Image only;
    private final long seed;
    private final boolean byXxh3;
    /** As in the header. */
    private final int keyKind;
    /** Null if nothing is mapped. */
    private final Mapped mapped;
    /** Null if the file was sealed when it was opened. */
    private final Live live;
    /** Whether a single "no" is valid only if no page of {@link #mapped} is lost. */
    private final boolean guarded;

    /** Every answer is maybe, or an exception: {@link #closed}, {@link #lost}, or a hash function that is not known. */
    // Not volatile: see Image.mode. Lookups read it in opaque mode: with plain reads, a loop of lookups might never see
    // a change.
    private boolean doubtful;
    private volatile boolean closed;
    /** The file became shorter while it was mapped. */
    private volatile boolean lost;
    /** The hash function of the caller is known to be the image's. */
    private volatile boolean named;
    private final AtomicReference<BloomfileException> error = new AtomicReference<>();

    /** Options for opening a filter. Immutable: each method returns a new object. */
    public static final class Options {
        /** The default: the whole file, mapped, its pages checked when they are first needed. */
        public static final Options DEFAULT = new Options(0, -1, false, false, 0, 0, Check.LAZY, Memory.MAPPED, Live.Admit.NONE);

        private final long offset;
        private final long length;
        private final boolean applications;
        private final boolean named;
        private final int hashId;
        private final long selfTest;
        private final Check check;
        private final Memory memory;
        private final Live.Admit live;

        private Options(long offset, long length, boolean applications, boolean named, int hashId, long selfTest,
                Check check, Memory memory, Live.Admit live) {
            this.offset = offset;
            this.length = length;
            this.applications = applications;
            this.named = named;
            this.hashId = hashId;
            this.selfTest = selfTest;
            this.check = check;
            this.memory = memory;
            this.live = live;
        }

        /**
         * The filter is a range of the file.
         *
         * @param offset where it begins; any alignment
         * @param length its size, or -1 if it ends with the file
         * @return such options
         * @throws IllegalArgumentException if offset is below 0, or length below -1
         */
        public Options range(long offset, long length) {
            if (offset < 0 || length < -1) {
                throw new IllegalArgumentException("offset " + offset + ", length " + length);
            }
            return new Options(offset, length, applications, named, hashId, selfTest, check, memory, live);
        }

        /**
         * Accepts filters with an application's own hash function (app-hashes.md). They are queried by digests, after
         * {@link Filter#nameHash}.
         *
         * @return such options
         */
        public Options applications() {
            return new Options(offset, length, true, named, hashId, selfTest, check, memory, live);
        }

        /**
         * Names the function that makes the caller's digests, like {@link Filter#nameHash}. A filter with another
         * function is refused.
         *
         * @param hashId number of the function, 0x80000000 or more, unsigned
         * @param selfTest what it yields for what the application tests it with
         * @return such options
         */
        public Options hash(int hashId, long selfTest) {
            return new Options(offset, length, true, true, hashId, selfTest, check, memory, live);
        }

        /**
         * Chooses when the body is checked.
         *
         * @param check the time of the check
         * @return such options
         */
        public Options check(Check check) {
            return new Options(offset, length, applications, named, hashId, selfTest, check, memory, live);
        }

        /**
         * Reads the file into memory, so that later changes to the file have no effect.
         *
         * @return such options
         */
        public Options inMemory() {
            return new Options(offset, length, applications, named, hashId, selfTest, check, Memory.HEAP, live);
        }

        /**
         * Maps the file. The caller promises that no program truncates it while it is open, as a storage engine can for
         * its own files, and that its disk does not fail. Single lookups that answer <em>no</em> then take 4 to 14
         * nanoseconds less in cache, and even less in larger filters, where the processor overlaps them. If the promise
         * is broken, answers may be wrong.
         *
         * @return such options
         */
        public Options uncut() {
            return new Options(offset, length, applications, named, hashId, selfTest, check, Memory.UNCUT, live);
        }
    
        /**
         * The file may be live: a C or Python program of this host may be adding keys to it. It is a file of its own, mapped.
         * Lookups find each key whose add has returned. Live series are refused all the same.
         *
         * @return such options
         */
        public Options live() {
            return new Options(offset, length, applications, named, hashId, selfTest, check, memory, Live.Admit.CLEAN);
        }

        /**
         * As {@link #live}, also if the machine, or a writer in a sync, died while the file was written: it may lack keys.
         *
         * @return such options
         */
        public Options unclean() {
            return new Options(offset, length, applications, named, hashId, selfTest, check, memory, Live.Admit.ALL);
        }
    }

    /** Where the bytes of a file are. */
    private enum Memory { MAPPED, UNCUT, HEAP }

    /** When a body is checked. */
    public enum Check {
        /** Each page when it is first needed. */
        LAZY,
        /** The whole body at opening: {@link Filter#verify}. A damaged filter is refused. */
        FULL,
        /** Never: something else protects it. */
        NONE
    }

    /** A mapped file, and its state when it was opened. */
    private static final class Mapped implements Closeable {
        private final RandomAccessFile file;
        private final Path path;
        /** Null if the filter is part of the file: the other parts may change. */
        private final BasicFileAttributes attributes;
        /** Where the filter begins and ends in it. */
        private final long begin;
        private final long end;
        private final byte[] head;
        /** Also moves with rights and links, so that it alone shows no write. Null if it is not known. */
        private Object touched;
        private boolean wasTouched;
        private final Tail tail;
        private final boolean tells;

        Mapped(RandomAccessFile file, Path path, BasicFileAttributes attributes, long begin, long end, boolean live)
                throws IOException {
            // shorter files are refused
            tail = end - begin < Tail.LENGTH ? null : new Tail(file, end);
            tells = !live && tail != null && tail.tells(); // sealing a live file changes its tail (R9)
            this.file = file;
            this.path = path;
            this.attributes = attributes;
            touched = statusTime(path);
            this.begin = begin;
            this.end = end;
            head = head();
        }

        private byte[] head() throws IOException {
            byte[] bytes = new byte[(int) Math.min(Header.EMBEDDED, end - begin)];
            synchronized (file) {
                file.seek(begin);
                file.readFully(bytes);
            }
            return bytes;
        }

        /** Returns whether all that was read until now was there. */
        boolean wasThere() {
            // earlier reads must not move after the read of the tail
            VarHandle.acquireFence();
            return tells ? tail.isThere() : !isCut();
        }

        boolean isCut() {
            try {
                return file.length() < end;
            } catch (IOException e) {
                return true;
            }
        }

        /** Returns whether the file was truncated or written to: the header or, while it has its name, any part. */
        boolean isChanged() {
            try {
                return isCut() || !Arrays.equals(head, head()) || attributes != null && isWritten();
            } catch (IOException e) {
                return true;
            }
        }

        /** Another file of that name has replaced this file, which stays unchanged. */
        private synchronized boolean isWritten() {
            try {
                BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class);
                if (attributes.fileKey() == null || !attributes.fileKey().equals(now.fileKey())) {
                    return false;
                }
                Object time = statusTime(path);
                wasTouched |= !Objects.equals(time, touched);
                touched = time;
                return now.size() != attributes.size() || !now.lastModifiedTime().equals(attributes.lastModifiedTime());
            } catch (NoSuchFileException e) {
                return false; // the name was removed, but the file still exists
            } catch (IOException e) {
                wasTouched = true; // nothing can be compared
                return false;
            }
        }

        /** Returns whether the time of its status moved since this was called last. */
        synchronized boolean wasTouched() {
            boolean was = wasTouched;
            wasTouched = false;
            return was;
        }

        private static Object statusTime(Path path) {
            try {
                return Files.getAttribute(path, "unix:ctime");
            } catch (IOException | RuntimeException e) {
                return null; // not available on every system
            }
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }

    private Filter(String name, Bytes bytes, long size, Options options, Mapped mapped, Live live) throws IOException {
        this.name = name;
        this.mapped = mapped;
        this.live = live;
        guarded = mapped != null && options.memory != Memory.UNCUT;
        Header.Source source = new Header.Source("open " + name, options.applications);
        source.live = live != null;
        if (options.live != Live.Admit.NONE) {
            source.liveRemedy = "open the whole file, mapped, or seal it first: bfseal FILE";
        } else if (mapped != null && mapped.attributes != null) {
            source.liveRemedy = "open it with Options.live(), or seal it first: bfseal FILE";
        }
        layers = Series.open(bytes, size, source, options.check == Check.NONE || live != null, this::found);
        Header header = layers[0].header;
        only = layers.length == 1 ? layers[0] : null;
        seed = header.seed;
        byXxh3 = header.hashId == Header.XXH3;
        keyKind = header.keyKind();
        named = byXxh3;
        if (options.named) {
            ErrorCode wrong = wrongName(options.hashId, options.selfTest);
            source.check(wrong == null, wrong, null);
            named = true;
        }
        doubtful = !named;
        if (options.check == Check.FULL) {
            verify("open " + name);
        }
    }

    /** The bytes from which an image is opened. */
    interface Bytes {
        /** Copies the bytes from an offset on. All of them must exist. */
        void read(long offset, byte[] to, int length) throws IOException;

        /** Buffers with the bytes from an offset on, of 2^{@link Image#CHUNK_SHIFT} bytes each but for the last. */
        ByteBuffer[] chunks(long offset, long length) throws IOException;
    }

    /**
     * Opens a file, mapped into memory.
     *
     * @param path its name
     * @return the filter
     * @throws BloomfileException if it is refused
     * @throws IOException if it cannot be read
     */
    public static Filter open(Path path) throws IOException {
        return open(path, Options.DEFAULT);
    }

    /**
     * Opens a file.
     *
     * @param path its name
     * @param options how
     * @return the filter
     * @throws BloomfileException if it is refused
     * @throws IOException if it cannot be read
     */
    public static Filter open(Path path, Options options) throws IOException {
        return Uninterrupted.run(() -> openFile(path, options));
    }

    private static Filter openFile(Path path, Options options) throws IOException {
        BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
        Header.Source source = new Header.Source("open " + path, options.applications);
        // A pipe would wait for a writer.
        source.check(attributes.isRegularFile(), ErrorCode.ENOTREGULAR, null);
        boolean isFit = options.live != Live.Admit.NONE && Live.isFit(path);
        for (;;) {
            RandomAccessFile file = new RandomAccessFile(path.toFile(), "r");
            try {
                BasicFileAttributes before = attributes;
                attributes = Files.readAttributes(path, BasicFileAttributes.class);
                if (Objects.equals(before.fileKey(), attributes.fileKey())) { // else it was replaced: which was opened?
                    return openFile(file, path, options, attributes, isFit);
                }
                file.close();
            } catch (IOException | RuntimeException | Error e) {
                file.close();
                throw e;
            }
        }
    }

    private static Filter openFile(RandomAccessFile file, Path path, Options options, BasicFileAttributes attributes,
            boolean isFit) throws IOException {
        boolean heap = options.memory == Memory.HEAP;
        boolean whole = options.offset == 0 && options.length < 0;
        long size = sizeOf(options, file.length(), new Header.Source("open " + path, options.applications));
        Live live = options.live == Live.Admit.NONE || heap || !whole ? null
                : Live.of(file, path, isFit, options.live, options.applications);
        Mapped mapped = heap ? null : new Mapped(file, path, whole && live == null ? attributes : null, options.offset,
                options.offset + size, live != null);
        Filter f = new Filter(path.toString(), new FileBytes(file, options.offset, heap, live), size, options, mapped, live);
        if (heap) {
            file.close();
        }
        return f;
    }

    /** S: section 5. */
    private static long sizeOf(Options options, long all, Header.Source source) throws BloomfileException {
        long there = all - options.offset;
        source.check(there >= 0 && options.length <= there, ErrorCode.ETRUNCATED, all + " bytes in all");
        return options.length < 0 ? there : options.length;
    }

    /**
     * A filter in an array.
     *
     * @param image all its bytes, which must not be changed any more
     * @return the filter
     * @throws BloomfileException if it is refused
     */
    public static Filter of(byte[] image) throws BloomfileException {
        return of(ByteBuffer.wrap(image), Options.DEFAULT);
    }

    /**
     * A filter in a buffer.
     *
     * @param image its bytes, from the buffer's position to its limit; they must not be changed any more. The buffer's
     *     own state stays as it is
     * @param options how; a range is one of these bytes
     * @return the filter
     * @throws BloomfileException if it is refused
     */
    public static Filter of(ByteBuffer image, Options options) throws BloomfileException {
        Header.Source source = new Header.Source("open a filter in memory", options.applications);
        long size = sizeOf(options, image.remaining(), source);
        ByteBuffer bytes = image.duplicate();
        bytes.position((int) (bytes.position() + options.offset));
        bytes.limit((int) (bytes.position() + size));
        try {
            return new Filter("a filter in memory", new BufferBytes(bytes.slice()), size, options, null, null);
        } catch (BloomfileException e) {
            throw e;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Reads a filter from a stream, into memory. Exactly its bytes are taken, so another one may follow.
     *
     * @param in the stream; it stays open
     * @param options the options; a range is ignored
     * @return the filter
     * @throws BloomfileException if it is refused, or the stream ends too early
     * @throws IOException if it cannot be read
     */
    public static Filter read(InputStream in, Options options) throws IOException {
        String name = "a filter in a stream";
        Header.Source source = new Header.Source("open " + name, options.applications);
        byte[] start = in.readNBytes(16);
        if (start.length < 16) {
            Header.startOf(start, start.length, source);
        }
        int headerSize = Header.startOf(start, Long.MAX_VALUE, source);
        byte[] head = Arrays.copyOf(start, headerSize);
        source.check(in.readNBytes(head, 16, headerSize - 16) == headerSize - 16, ErrorCode.ETRUNCATED, null);
        long size = Header.sizeInStream(head, source);
        // Memory grows with the bytes that arrive: the header may claim any size.
        List<ByteBuffer> rest = new ArrayList<>();
        for (long left = size - headerSize; left != 0;) {
            int length = left < 0 ? 1 << Image.CHUNK_SHIFT : (int) Math.min(1L << Image.CHUNK_SHIFT, left);
            byte[] bytes = in.readNBytes(length);
            source.check(bytes.length == length, ErrorCode.ETRUNCATED, null);
            rest.add(ByteBuffer.wrap(bytes));
            left -= length;
        }
        return new Filter(name, new StreamBytes(head, rest.toArray(new ByteBuffer[0])), size, options, null, null);
    }

    /** The bytes of a buffer. */
    private static final class BufferBytes implements Bytes {
        private final ByteBuffer buffer;

        BufferBytes(ByteBuffer buffer) {
            this.buffer = buffer;
        }

        @Override
        public void read(long offset, byte[] to, int length) {
            ByteBuffer from = buffer.duplicate();
            from.position((int) offset);
            from.get(to, 0, length);
        }

        @Override
        public ByteBuffer[] chunks(long offset, long length) {
            ByteBuffer[] chunks = new ByteBuffer[(int) (length - 1 >> Image.CHUNK_SHIFT) + 1];
            for (int i = 0; i < chunks.length; i++) {
                ByteBuffer part = buffer.duplicate();
                long from = (long) i << Image.CHUNK_SHIFT;
                part.position((int) (offset + from));
                part.limit((int) (offset + Math.min(length, from + (1L << Image.CHUNK_SHIFT))));
                chunks[i] = part.slice();
            }
            return chunks;
        }
    }

    /** The bytes of a stream, of which the header was read first. */
    private static final class StreamBytes implements Bytes {
        private final byte[] head;
        private final ByteBuffer[] rest;

        StreamBytes(byte[] head, ByteBuffer[] rest) {
            this.head = head;
            this.rest = rest;
        }

        @Override
        public void read(long offset, byte[] to, int length) {
            for (int i = 0; i < length; i++) {
                long at = offset + i;
                to[i] = at < head.length ? head[(int) at] : rest(at - head.length);
            }
        }

        private byte rest(long at) {
            return rest[(int) (at >> Image.CHUNK_SHIFT)].get((int) at & (1 << Image.CHUNK_SHIFT) - 1);
        }

        @Override
        public ByteBuffer[] chunks(long offset, long length) {
            if (offset == head.length) {
                return rest;
            }
            // A later layer: moved to where its own chunks begin.
            ByteBuffer[] chunks = new ByteBuffer[(int) (length - 1 >> Image.CHUNK_SHIFT) + 1];
            for (int i = 0; i < chunks.length; i++) {
                long from = (long) i << Image.CHUNK_SHIFT;
                byte[] bytes = new byte[(int) Math.min(length - from, 1L << Image.CHUNK_SHIFT)];
                read(offset + from, bytes, bytes.length);
                chunks[i] = ByteBuffer.wrap(bytes);
            }
            return chunks;
        }
    }

    /** The bytes of a file, to be mapped or read. */
    private static final class FileBytes implements Bytes {
        private final RandomAccessFile file;
        private final long begin;
        private final boolean inMemory;
        private final Live live;

        FileBytes(RandomAccessFile file, long begin, boolean inMemory, Live live) {
            this.live = live;
            this.file = file;
            this.begin = begin;
            this.inMemory = inMemory;
        }

        @Override
        public void read(long offset, byte[] to, int length) throws IOException {
            if (live != null && offset == 0) { // the header that was admitted: it may have changed
                System.arraycopy(live.head(), 0, to, 0, length);
                return;
            }
            file.seek(begin + offset);
            file.readFully(to, 0, length);
        }

        @Override
        public ByteBuffer[] chunks(long offset, long length) throws IOException {
            ByteBuffer[] chunks = new ByteBuffer[(int) (length - 1 >> Image.CHUNK_SHIFT) + 1];
            for (int i = 0; i < chunks.length; i++) {
                long from = offset + ((long) i << Image.CHUNK_SHIFT);
                int now = (int) Math.min(offset + length - from, 1L << Image.CHUNK_SHIFT);
                if (inMemory) {
                    byte[] bytes = new byte[now];
                    read(from, bytes, now);
                    chunks[i] = ByteBuffer.wrap(bytes);
                } else {
                    chunks[i] = Tail.map(file, begin + from, now);
                }
            }
            return chunks;
        }
    }

    /**
     * Returns whether a key may be in the set.
     *
     * @param key its bytes
     * @return false if it is certainly not
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContain(byte[] key) {
        return mayContain(key, 0, key.length);
    }

    /**
     * Returns whether a key may be in the set.
     *
     * @param bytes an array with the key
     * @param off where it begins
     * @param len its length
     * @return false if it is certainly not
     * @throws IndexOutOfBoundsException if the range is not inside the array
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContain(byte[] bytes, int off, int len) {
        Objects.checkFromIndexSize(off, len, bytes.length);
        return !byXxh3 ? cannotHash() : mayContainDigest(digest(KeyKind.BYTES, bytes, off, len));
    }

    /**
     * Returns whether a text, as UTF-8, may be in the set. An unpaired surrogate, which has no UTF-8, becomes {@code
     * ?}, as everywhere in Java.
     *
     * @param key the text
     * @return false if it is certainly not
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContain(CharSequence key) {
        byte[] bytes = key.toString().getBytes(StandardCharsets.UTF_8);
        return mayContainText(bytes, 0, bytes.length);
    }

    /**
     * Returns whether a text may be in the set.
     *
     * @param utf8 an array with its UTF-8
     * @param off where it begins
     * @param len its length in bytes
     * @return false if it is certainly not
     * @throws IndexOutOfBoundsException if the range is not inside the array
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContainText(byte[] utf8, int off, int len) {
        Objects.checkFromIndexSize(off, len, utf8.length);
        return !byXxh3 ? cannotHash() : mayContainDigest(digest(KeyKind.TEXT, utf8, off, len));
    }

    /**
     * Returns whether an integer of any width may be in the set: its eight bytes as a long, the least significant
     * first.
     *
     * @param key the number
     * @return false if it is certainly not
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContain(long key) {
        return !byXxh3 ? cannotHash() : mayContainDigest(digest(key));
    }

    /**
     * Throws if no key of this kind can be in the filter: each answer would be <em>no</em>. Each lookup checks
     * its key in the same way, and the size of bytes; digests are not checked.
     *
     * @param kind {@code "text"}, {@code "integers"} or {@code "bytes"}
     * @throws IllegalArgumentException if they do not fit {@link Info#keyKind}. Its cause is a {@link BloomfileException}:
     *     {@link ErrorCode#EKEYKIND}, or {@link ErrorCode#EFEATURE} if this version does not know the filter's kind
     */
    public void checkKeys(String kind) {
        int number = Header.KEY_KINDS.indexOf(kind);
        if (number != KeyKind.TEXT && number != KeyKind.INTEGERS && number != KeyKind.BYTES) {
            throw new IllegalArgumentException("keys are text, integers or bytes, not " + kind);
        }
        admit(number, -1);
    }

    private void admit(int key, int size) {
        if (keyKind != KeyKind.UNKNOWN) {
            try {
                KeyKind.check(keyKind, key, size, "query " + name);
            } catch (BloomfileException e) {
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }
    }

    private long digest(int kind, byte[] bytes, int off, int len) {
        admit(kind, len);
        return KeyKind.digest(keyKind, bytes, off, len, seed);
    }

    /**
     * The digest of a key under this filter's seed.
     *
     * @param key its bytes
     * @return what {@link #mayContainDigest} takes
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if only the application can hash: {@link Info#hashId} is not 1
     */
    public long digest(byte[] key) {
        checkHash();
        return digest(KeyKind.BYTES, key, 0, key.length);
    }

    /**
     * The digest of a text under this filter's seed: of its UTF-8, as {@link #mayContain(CharSequence)} takes it.
     *
     * @param key the text
     * @return what {@link #mayContainDigest} takes
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if only the application can hash: {@link Info#hashId} is not 1
     */
    public long digest(CharSequence key) {
        checkHash();
        byte[] bytes = key.toString().getBytes(StandardCharsets.UTF_8);
        return digest(KeyKind.TEXT, bytes, 0, bytes.length);
    }

    /**
     * The digest of an integer under this filter's seed, as {@link #mayContain(long)} takes it.
     *
     * @param key the number
     * @return what {@link #mayContainDigest} takes
     * @throws IllegalArgumentException if the filter's keys are of another kind: {@link #checkKeys}
     * @throws IllegalStateException if only the application can hash: {@link Info#hashId} is not 1
     */
    public long digest(long key) {
        checkHash();
        admit(KeyKind.INTEGERS, 8);
        return Xxh3.hash(key, seed);
    }

    private void checkHash() {
        if (!byXxh3) {
            throw new IllegalStateException("the hash function of " + name + " is an application's own");
        }
    }

    /**
     * Returns whether a key may be in the set.
     *
     * @param digest its digest: of {@link #digest}, or of the application's function that was named
     * @return false if it is certainly not
     * @throws IllegalStateException if the filter was closed
     */
    public boolean mayContainDigest(long digest) {
        if ((boolean) DOUBTFUL.getOpaque(this)) {
            return doubt();
        }
        try {
            if (!guarded) {
                return (only != null ? only.mayContain(digest) : inAnyLayer(digest)) || live != null && isPoisoned();
            }
            return !(only != null && only.isSurelyAbsent(digest)) && looksAgain(digest) || live != null && isPoisoned();
        } catch (InternalError e) {
            return lose();
        } finally {
            Reference.reachabilityFence(this); // the mappings stay until here
        }
    }

    /** Returns whether the live filter may lack bits, so that a "no" does not count. Call it after reading the bits. */
    private boolean isPoisoned() {
        ErrorCode why = live.poison();
        return why != null && lose(why);
    }

    private boolean looksAgain(long digest) {
        return inAnyLayer(digest) || revises(digest);
    }

    /**
     * Returns whether a "no" must become "maybe", because the file was truncated, or because a live writer added the
     * key after the bits were read.
     */
    boolean revises(long digest) {
        return !(isAbsent(digest) && mapped.wasThere()) && (live != null && inAnyLayer(digest) || lose());
    }

    private boolean inAnyLayer(long digest) {
        for (Image layer : layers) {
            if (layer.mayContain(digest)) {
                return true;
            }
        }
        return false;
    }

    private boolean isAbsent(long digest) {
        for (Image layer : layers) {
            if (!layer.isAbsent(digest)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Looks up many digests, which is faster than one after the other.
     *
     * @param digests the digests
     * @param maybe where the answers go: false where a key is certainly not in the set
     * @return how many are true
     * @throws IllegalArgumentException if the arrays are not of equal length
     * @throws IllegalStateException if the filter was closed; the answers are true then
     */
    public int mayContainDigests(long[] digests, boolean[] maybe) {
        if (digests.length != maybe.length) {
            throw new IllegalArgumentException(digests.length + " digests, " + maybe.length + " answers");
        }
        return mayContainDigests(digests, 0, digests.length, maybe, 0);
    }

    /**
     * Looks up many digests, which is faster than one after the other.
     *
     * @param digests an array with the digests
     * @param off where they begin
     * @param length how many there are
     * @param maybe an array for the answers: false where a key is certainly not in the set
     * @param maybeOff where they begin
     * @return how many are true
     * @throws IndexOutOfBoundsException if a range is not inside its array
     * @throws IllegalStateException if the filter was closed; the answers are true then
     */
    public int mayContainDigests(long[] digests, int off, int length, boolean[] maybe, int maybeOff) {
        Objects.checkFromIndexSize(off, length, digests.length);
        Objects.checkFromIndexSize(maybeOff, length, maybe.length);
        boolean all = true;
        try {
            all = isAll(digests, off, length, maybe, maybeOff);
        } finally { // a batch that throws must not leave "no" for keys of the set
            if (all) {
                Arrays.fill(maybe, maybeOff, maybeOff + length, true);
            }
        }
        int count = 0;
        for (int i = 0; i < length; i++) {
            count += maybe[maybeOff + i] ? 1 : 0;
        }
        return count;
    }

    /** Looks up a batch. Returns true if the answers are not reliable: then all must be "maybe". */
    private boolean isAll(long[] digests, int off, int length, boolean[] maybe, int maybeOff) {
        // Checked before, so that faults are rare, and after, so that no answer from a lost page counts.
        if (doubtful && doubt() || mapped != null && mapped.isCut() && lose()) {
            return true;
        }
        try {
            Arrays.fill(maybe, maybeOff, maybeOff + length, false);
            for (Image layer : layers) {
                layer.mayContain(digests, off, length, maybe, maybeOff);
            }
            return mapped != null && (hearOfFaults() == 0 || !mapped.wasThere()) && lose() || live != null && isPoisoned();
        } catch (InternalError e) {
            return lose();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Looks up many digests.
     *
     * @param digests the digests
     * @return bit i is set if digest i may be in the set
     * @throws IllegalStateException if the filter was closed
     */
    public BitSet mayContainDigests(long[] digests) {
        boolean[] maybe = new boolean[digests.length];
        mayContainDigests(digests, maybe);
        BitSet set = new BitSet(digests.length);
        for (int i = 0; i < maybe.length; i++) {
            set.set(i, maybe[i]);
        }
        return set;
    }

    /** The answer while {@link #doubtful}. */
    private boolean doubt() {
        if (closed) {
            throw new IllegalStateException(name + " was closed");
        }
        return true;
    }

    /** The file changed: every answer is maybe. A closed file cannot be checked. */
    private boolean lose() {
        return lose(ErrorCode.ECHANGED);
    }

    private boolean lose(ErrorCode code) {
        if (!rememberLoss(code)) {
            return doubt();
        }
        try {
            return hearOfFaults() > 0;
        } catch (InternalError e) {
            return true;
        }
    }

    /** Returns whether the filter was open: a failure after close() proves nothing. */
    private boolean rememberLoss(ErrorCode code) {
        synchronized (this) { // nameHash() may be about to end doubts, and close() to begin
            if (closed) {
                return false;
            }
            lost = true;
            doubtful = true;
        }
        remember(code, null);
        return true;
    }

    /**
     * Compiled code that could not read a page throws an InternalError, but only when the thread next calls into the
     * Java VM. This method forces such a call: it allocates so many arrays that the compiler cannot remove the
     * allocations.
     */
    static int hearOfFaults() {
        return new byte[8][1].length;
    }

    /** Takes the error of an earlier lookup, which is no failure of the call that follows. */
    private void takeFault() {
        try {
            hearOfFaults();
        } catch (InternalError e) {
            rememberLoss(ErrorCode.ECHANGED);
        }
    }

    private boolean cannotHash() {
        remember(ErrorCode.EHASH, "only the application can hash");
        return !closed || doubt();
    }

    /**
     * Names the function that makes the caller's digests: app-hashes.md. Until the right function is named, every
     * answer of a filter with an application's own function is <em>maybe</em>. The last call counts. A filter that uses
     * XXH3 needs no call.
     *
     * @param hashId the function's number
     * @param selfTest what it yields for what the application tests it with
     * @throws BloomfileException ({@link ErrorCode#EHASH}, {@link ErrorCode#ESELFTEST}) if that is not the filter's; all
     *     answers are <em>maybe</em> then
     */
    public synchronized void nameHash(int hashId, long selfTest) throws BloomfileException {
        ErrorCode wrong = wrongName(hashId, selfTest);
        named = wrong == null;
        doubtful = !named || lost || closed;
        if (wrong != null) {
            throw new BloomfileException(wrong, "query " + name, null);
        }
    }

    private ErrorCode wrongName(int hashId, long selfTest) {
        Header header = layers[0].header;
        return hashId != header.hashId ? ErrorCode.EHASH : selfTest != header.selfTest ? ErrorCode.ESELFTEST : null;
    }

    /**
     * The fields of the header; in a series, of its newest layer.
     *
     * @return never null
     */
    public Info info() {
        return new Info(layers[layers.length - 1].header, layers.length);
    }

    /**
     * The fields of the header of one layer of a series.
     *
     * @param layer its number, the oldest being 0
     * @return never null
     * @throws IndexOutOfBoundsException if it does not exist
     */
    public Info info(int layer) {
        return new Info(layers[layer].header, layers.length);
    }

    /**
     * Checks the whole body: section 12.4. A live filter has no checksums ({@link ErrorCode#ELIVE}). After that, if it is right, lookups need not look at checksums.
     *
     * @throws BloomfileException {@link ErrorCode#EPAGE} or {@link ErrorCode#EBODY} if it is damaged, and
     *     {@link ErrorCode#ECHANGED} if the file was cut, or a page that was right is not any more; that is {@link #error}
     *     from now on
     * @throws IllegalStateException if the filter was closed
     */
    public void verify() throws BloomfileException {
        verify("verify " + name);
    }

    private void verify(String attempted) throws BloomfileException {
        if (closed) {
            doubt();
        }
        if (live != null) {
            throw new BloomfileException(ErrorCode.ELIVE, attempted, "it was live when it was opened",
                    "seal it, bfseal FILE, and open it again");
        }
        BloomfileException wrong = null;
        try {
            for (Image layer : layers) {
                BloomfileException found = layer.verify(attempted);
                wrong = wrong == null ? found : wrong;
            }
            if (lost || mapped != null && mapped.isCut()) {
                lose();
            }
        } catch (InternalError e) {
            lose();
        } finally {
            Reference.reachabilityFence(this);
        }
        if (lost) {
            throw new BloomfileException(ErrorCode.ECHANGED, attempted, null);
        }
        if (wrong != null) {
            throw wrong;
        }
    }

    /**
     * Returns the damage found since the filter was opened, if any. Also checks whether the file was truncated, its
     * header overwritten or, if the filter is the whole file, its size or mtime changed. If only its ctime changed, or
     * the path cannot be looked up, pages that answers relied on are checked again. (A file that was touched counts as changed. Another file that
     * has the name now does not.)
     *
     * @return null if nothing was. {@link ErrorCode#EPAGE}: answers that depend on damaged pages are <em>maybe</em>;
     *     {@link ErrorCode#EBODY}: all are; {@link ErrorCode#ECHANGED}: all are from now on, and earlier ones may have
     *     been wrong; so do {@link ErrorCode#EPOISONED} and {@link ErrorCode#EUNCLEAN} of a live filter; {@link ErrorCode#EHASH}: the filter was asked for a key that only an application can hash
     */
    public BloomfileException error() {
        takeFault();
        if (!closed && !lost && mapped != null) {
            ErrorCode now = mapped.isChanged() ? ErrorCode.ECHANGED : live != null ? live.look() : null;
            if (now != null) {
                rememberLoss(now);
            } else if (mapped.wasTouched()) {
                for (Image layer : layers) {
                    layer.forget();
                }
            }
            recheck();
        }
        return error.get();
    }

    private void recheck() {
        try {
            for (Image layer : layers) {
                layer.recheck();
            }
        } catch (InternalError e) {
            lose();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns the number of pages of 4096 bytes that were found to be damaged so far.
     *
     * @return 0 or more
     */
    public long damagedPages() {
        long sum = 0;
        for (Image layer : layers) {
            sum += layer.wrongPages();
        }
        return sum;
    }

    /** Damage that an image found. */
    private void found(ErrorCode code, String detail) {
        if (code == ErrorCode.ECHANGED) {
            rememberLoss(code);
        } else {
            remember(code, detail);
        }
    }

    /** Remembers the first error, or a worse one. */
    private void remember(ErrorCode code, String detail) {
        BloomfileException now = new BloomfileException(code, "rely on " + name, detail);
        error.accumulateAndGet(now, (was, next) -> was == null || rank(next.code()) > rank(was.code()) ? next : was);
    }

    private static int rank(ErrorCode code) {
        return code == ErrorCode.ECHANGED || code == ErrorCode.EPOISONED || code == ErrorCode.EUNCLEAN ? 3 : code == ErrorCode.EBODY ? 2 : code == ErrorCode.EPAGE ? 1 : 0;
    }

    /** The layers; one if it is not a series. */
    Image[] layers() {
        return layers;
    }

    /**
     * Closes the file. Never waits for lookups of other threads: the garbage collector releases the mappings later. Until
     * then, a deleted file occupies disk space. After every 16,384 mappings, opening a filter calls {@link System#gc}.
     * Closing twice does nothing.
     *
     * @throws IOException if the file cannot be closed
     */
    @Override
    public synchronized void close() throws IOException {
        takeFault();
        closed = true;
        doubtful = true;
        if (mapped != null) {
            mapped.close();
        }
    }

    /**
     * A line for people.
     *
     * @return the name of the file, layout and size
     */
    @Override
    public String toString() {
        Header h = layers[0].header;
        return name + ": " + h.layout + ", m " + h.m + ", k " + h.k + (layers.length > 1 ? ", " + layers.length
                + " layers" : "");
    }
}
