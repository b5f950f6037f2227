// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.BloomfileException;
import io.github.bloomfile.Filter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.CollectionAccumulator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A filter that tasks ask: what they need to find it, and in each process the open file, which all its tasks share. */
final class SharedFilter implements Serializable, HostFiles.Source {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger(SharedFilter.class);

    /** Filters that a process keeps open: those asked last. */
    private static final int OPEN = 16;

    /** Of so many answers that are "maybe", one looks whether the file was changed. */
    private static final int LOOK = 1024;

    private static final Map<String, Filter> FILTERS = new LinkedHashMap<>(OPEN, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Filter> eldest) {
            if (size() <= OPEN) {
                return false;
            }
            // Not closed: a task may be asking it. The mapping goes with the last reference. On the driver the file
            // stays, for executors that are to come.
            if (!SparkEnv.get().executorId().equals("driver")) {
                HostFiles.release(eldest.getKey());
            }
            return true;
        }
    };

    /** What Spark sends to executors already: an application and a file. */
    private static final Set<String> SENT = ConcurrentHashMap.newKeySet();

    private final String path;
    private final String sha256;
    private final boolean shipped;
    private final boolean strict;
    private final Broadcast<Storage> storage;
    private final CollectionAccumulator<String> damage;
    private transient volatile Filter filter;
    private transient volatile boolean told;
    private transient int positives;

    private SharedFilter(String path, String sha256, boolean shipped, boolean strict, Broadcast<Storage> storage,
            CollectionAccumulator<String> damage) {
        this.path = path;
        this.sha256 = sha256;
        this.shipped = shipped;
        this.strict = strict;
        this.storage = storage;
        this.damage = damage;
    }

    /**
     * On the driver: makes the file available to all executors, those to come too.
     *
     * @throws IOException if it cannot be read
     */
    static SharedFilter publish(SparkSession spark, String path, boolean strict, CollectionAccumulator<String> damage)
            throws IOException {
        SparkContext context = spark.sparkContext();
        JavaSparkContext java = JavaSparkContext.fromSparkContext(context);
        Storage here = new Storage(context.hadoopConfiguration());
        Path source = new Path(path);
        source = here.of(source).makeQualified(source);
        boolean ship = "file".equals(source.toUri().getScheme());
        String sha256 = HostFiles.sha256(here.of(source).open(source), OutputStream.nullOutputStream());
        SharedFilter result = new SharedFilter(source.toString(), sha256, false, strict, java.broadcast(here), damage);
        if (!ship) {
            return result;
        }
        // Under a name that says what is in it: Spark takes one file of a name, and executors that come later get
        // what is there by then. The file that is shared on this host stays as it is.
        java.nio.file.Path kept = HostFiles.keep(sha256, result);
        if (SENT.add(context.applicationId() + " " + sha256)) {
            context.addFile(kept.toUri().toString());
        }
        return new SharedFilter(source.toString(), sha256, true, strict, result.storage, damage);
    }

    String identity() {
        return sha256;
    }

    /** Opens it, unless another task of this process has. A failure is the query's. */
    Filter filter() {
        synchronized (FILTERS) {
            Filter open = FILTERS.get(sha256);
            if (open == null) {
                try {
                    // Nobody but this user's processes reach that file, and they do not cut it.
                    open = Filter.open(HostFiles.keep(sha256, this), Filter.Options.DEFAULT.uncut());
                } catch (IOException failed) {
                    throw new UncheckedIOException("cannot query " + path + ": " + failed.getMessage(), failed);
                }
                FILTERS.put(sha256, open);
            }
            filter = open;
            return open;
        }
    }

    /** Whether a key may be there: of the types of {@link KeyType}, as Spark's functions in Java get them. */
    Boolean ask(Object key) {
        if (key == null) {
            return null;
        }
        if (key instanceof byte[]) {
            return ask((byte[]) key, 0, ((byte[]) key).length);
        }
        if (key instanceof Long || key instanceof Integer || key instanceof Short || key instanceof Byte) {
            return ask(((Number) key).longValue());
        }
        if (key instanceof String) {
            // Spark has put U+FFFD for bytes that are no UTF-8, and nobody knows them any more.
            byte[] bytes = ((String) key).getBytes(StandardCharsets.UTF_8);
            boolean maybe = askText(bytes, 0, bytes.length);
            return maybe || ((String) key).indexOf(0xFFFD) >= 0;
        }
        throw new IllegalArgumentException("cannot query " + path + " for a " + key.getClass().getName()
                + ": keys are strings, binary or integers (cast it the same way as when building)");
    }

    boolean ask(long number) {
        Filter open = filter != null ? filter : filter();
        return open.mayContain(number) && maybe(open);
    }

    boolean askText(byte[] utf8, int offset, int size) {
        Filter open = filter != null ? filter : filter();
        return open.mayContainText(utf8, offset, size) && maybe(open);
    }

    boolean ask(byte[] bytes, int offset, int size) {
        Filter open = filter != null ? filter : filter();
        return open.mayContain(bytes, offset, size) && maybe(open);
    }

    /** True, once it has been told if that is for damage. Whether the file was changed takes a system call: now and then. */
    private boolean maybe(Filter open) {
        boolean looks = open.damagedPages() != 0 || positives++ % LOOK == 0;
        BloomfileException error = looks && (strict || !told) ? open.error() : null;
        if (error != null) {
            tell(error);
        }
        return true;
    }

    private void tell(BloomfileException error) {
        told = true;
        String what = path + ": " + error.getMessage();
        LOG.warn("Damage, so more keys than usual may be there: {}", what);
        damage.add(what);
        if (strict) {
            throw new UncheckedIOException(what, error);
        }
    }

    @Override
    public java.nio.file.Path local() {
        return shipped ? Paths.get(SparkFiles.get(sha256 + ".bloom")) : null;
    }

    @Override
    public InputStream open() throws IOException {
        Path source = new Path(path);
        return shipped ? Files.newInputStream(local()) : storage.value().of(source).open(source);
    }

    @Override
    public String toString() {
        return path;
    }
}
