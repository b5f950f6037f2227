// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.Params;
import io.github.bloomfile.SliceSource;
import io.github.bloomfile.Slices;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds a filter from a column.
 *
 * <pre>{@code
 * new FilterBuild(rows, "url").fpr(0.01).write("hdfs:///filters/urls.bloom");
 * }</pre>
 *
 * <p>Map tasks send the digest of each key, 8 bytes, to the slice where it belongs; reduce tasks make one slice each,
 * on storage that all machines share; the driver joins them and publishes the whole. {@code bfcreate}
 * makes the same bytes from the same strings and the same capacity. Keys are strings (as UTF-8), binary (as it is) and integers
 * of any size (8 bytes, little-endian); a null is no key. Not thread-safe, but several may run in one session.
 */
public final class FilterBuild {
    private static final Logger LOG = LoggerFactory.getLogger(FilterBuild.class);

    /** Keys of a slice, if nothing else is said: 32 MiB of digests, and 5 MiB of filter at 1 %. */
    private static final long KEYS_OF_SLICE = 4L << 20;
    private static final int MOST_BY_DEFAULT = 4096;
    private static final int BUFFER = 1 << 20;

    /** The standard error of an estimated number of keys, and how many of them are added. */
    private static final double ERROR = 0.01;
    private static final int ERRORS = 3;

    private final Dataset<?> rows;
    private final Column key;
    private final Params params = new Params();
    private long capacity;
    private long seed;
    private String keyKind;
    private int slices;
    private boolean replace;
    private boolean digests;

    /**
     * Builds from a column, by name.
     *
     * @param rows the table
     * @param column as in {@code rows.col()}
     */
    public FilterBuild(Dataset<?> rows, String column) {
        this(rows, rows.col(column));
    }

    /**
     * Builds from an expression.
     *
     * @param rows the table
     * @param column of strings, binary or integers
     */
    public FilterBuild(Dataset<?> rows, Column column) {
        this.rows = rows;
        this.key = column;
    }

    /**
     * Of digests that were made elsewhere, such as in Python, with the seed of the filter. Needs {@link #capacity}.
     *
     * @param rows the table
     * @param column binary: each value has any number of digests, 8 bytes each, little-endian
     * @return a build of them
     */
    public static FilterBuild ofDigests(Dataset<?> rows, String column) {
        FilterBuild result = new FilterBuild(rows, column);
        result.digests = true;
        return result;
    }

    /**
     * Sizes the filter for this number of distinct keys. Otherwise the number is estimated first, in a separate pass
     * over the column, and 3 standard errors of 1% are added: cache a table that is expensive to compute. More keys
     * than a given capacity are an error, and no file is made. If the number was estimated, the build is repeated with
     * the exact number.
     *
     * @param keys 1 to 2^60
     * @return this
     */
    public FilterBuild capacity(long keys) {
        if (keys < 1 || keys > 1L << 60) {
            throw new IllegalArgumentException("a capacity is 1 to 2^60, not " + keys);
        }
        capacity = keys;
        return this;
    }

    /**
     * The false-positive rate to promise.
     *
     * @param rate above 0 and below 1; 0.01 if it is not set
     * @return this
     */
    public FilterBuild fpr(double rate) {
        if (!(rate > 0 && rate < 1)) {
            throw new IllegalArgumentException("a rate is above 0 and below 1, not " + rate);
        }
        params.fpr(rate);
        return this;
    }

    /**
     * The seed of the hash.
     *
     * @param value 0 if it is not set
     * @return this
     */
    public FilterBuild seed(long value) {
        params.seed(value);
        seed = value;
        return this;
    }

    /**
     * A text for people, in the file.
     *
     * @param text at most 112 bytes of UTF-8, without control characters
     * @return this
     */
    public FilterBuild label(String text) {
        params.label(text);
        return this;
    }

    /**
     * The kind of the keys. Lookups of other kinds are refused. The column must fit.
     *
     * @param kind as in {@link Params#keyKind}; by default that of the column: {@code "text"}, {@code "bytes"} or {@code
     *     "integers"}
     * @return this
     */
    public FilterBuild keyKind(String kind) {
        params.keyKind(kind);
        keyKind = kind;
        return this;
    }

    /**
     * The number of slices, which is the number of reduce tasks. The default is one for each 4 million keys. A slice
     * has at least one page of 4096 bytes, so a small filter may have fewer slices than requested.
     *
     * @param count 1 to 65536
     * @return this
     */
    public FilterBuild slices(int count) {
        if (count < 1 || count > Slices.MAX) {
            throw new IllegalArgumentException("there are 1 to " + Slices.MAX + " slices, not " + count);
        }
        slices = count;
        return this;
    }

    /**
     * Returns whether a sealed filter at the path may be replaced. Other files are never replaced, nor is a filter with
     * keys by a filter without keys.
     *
     * @param allowed false if it is not set
     * @return this
     */
    public FilterBuild replace(boolean allowed) {
        replace = allowed;
        return this;
    }

    /**
     * Builds the filter and publishes it. The file appears at the path complete or not at all: by a rename on {@code
     * file:} and {@code hdfs:}, by completing an upload on object stores that can abort one. A failure leaves an
     * existing file unchanged.
     *
     * @param path the file to make, on storage that the driver and all executors share
     * @return the report of the build
     * @throws IOException if storage fails, or there are more keys than {@link #capacity}
     */
    public BuildReport write(String path) throws IOException {
        JavaSparkContext spark = JavaSparkContext.fromSparkContext(rows.sparkSession().sparkContext());
        Storage storage = new Storage(spark.hadoopConfiguration());
        Target target = new Target(storage, new Path(path), replace);
        target.check();
        if (digests && capacity == 0) {
            throw new IllegalArgumentException("cannot make " + path + " of digests: a capacity is needed");
        }
        KeyType type = KeyType.of(rows.select(key).schema().fields()[0].dataType());
        if (!digests) {
            params.keysAre(type.kind());
        }
        Dataset<Row> column = rows.select(key.cast(type.stored()).as("key")).where(functions.col("key").isNotNull());
        long wanted = capacity != 0 ? capacity : estimate(column);
        Broadcast<Storage> everywhere = spark.broadcast(storage);
        try {
            BuildReport report = attempt(column, type, wanted, target, everywhere);
            if (report.keys() > wanted && capacity == 0) {
                LOG.info("{}: {} keys, not {} as estimated; building again", path, report.keys(), wanted);
                wanted = report.keys();
                report = attempt(column, type, wanted, target, everywhere);
            }
            if (report.keys() > wanted) {
                throw new IOException("cannot make " + path + ": it was sized for " + wanted + " keys, and there are "
                        + report.keys() + " (set the capacity to that number)");
            }
            return report;
        } finally {
            everywhere.destroy();
        }
    }

    private static long estimate(Dataset<Row> column) {
        long found = column.agg(functions.approx_count_distinct(functions.col("key"), ERROR)).first().getLong(0);
        return Math.max(1, (long) Math.ceil(found * (1 + ERRORS * ERROR)));
    }

    /** Builds for a number of keys. Publishes if there are not more. */
    private BuildReport attempt(Dataset<Row> column, KeyType type, long wanted, Target target, Broadcast<Storage> storage)
            throws IOException {
        params.capacity(wanted);
        long bits = Slices.bits(params);
        long pages = (bits / 512 + 63) / 64;
        int parts = (int) Math.min(slices != 0 ? slices : Math.min(MOST_BY_DEFAULT, 1 + wanted / KEYS_OF_SLICE), pages);
        List<String> leftovers = target.leftovers();
        try (Target.Scratch scratch = target.begin()) {
            List<SliceFile> files = shareOut(column, type, parts, bits).partitionBy(new HashPartitioner(parts))
                    .mapPartitions(new MakeSlice(params, parts, scratch.folder(), storage)).collect();
            long keys = files.stream().mapToLong(file -> file.keys).sum();
            if (keys <= wanted) {
                List<Source> sources = files.stream().map(file -> new Source(file, storage.value()))
                        .collect(Collectors.toList());
                scratch.publish(keys, out -> Slices.join(out, sources));
            }
            return new BuildReport(target.path().toString(), keys, wanted, parts, leftovers);
        }
    }

    private JavaPairRDD<Integer, byte[]> shareOut(Dataset<Row> column, KeyType type, int parts, long bits) {
        if (digests) {
            return column.as(Encoders.BINARY()).javaRDD().flatMap(KeyHash::digestsIn)
                    .mapPartitionsToPair(new ShareOut<>(KeyHash.ofDigests(), parts, bits));
        }
        if (type.stored() == DataTypes.LongType) {
            return column.as(Encoders.LONG()).javaRDD()
                    .mapPartitionsToPair(new ShareOut<>(KeyHash.ofLongs(seed), parts, bits));
        }
        return column.as(Encoders.BINARY()).javaRDD()
                .mapPartitionsToPair(new ShareOut<>(KeyHash.ofBytes(seed, keyKind != null ? keyKind : type.kind()), parts, bits));
    }

    /** A slice on storage, as the driver reads it. */
    private static final class Source implements SliceSource {
        private final SliceFile file;
        private final Path path;
        private final Storage storage;

        Source(SliceFile file, Storage storage) {
            this.file = file;
            this.storage = storage;
            path = new Path(file.path);
        }

        @Override
        public InputStream open() throws IOException {
            try {
                return storage.of(path).open(path, BUFFER);
            } catch (FileNotFoundException missing) {
                throw new IOException("cannot find " + path + ", which a task has written: the filter must be on storage"
                        + " that the driver and all executors share", missing);
            }
        }

        @Override
        public long length() throws IOException {
            return storage.of(path).getFileStatus(path).getLen();
        }

        @Override
        public String name() {
            return file.path;
        }
    }
}
