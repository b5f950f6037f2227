// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.BloomfileException;
import io.github.bloomfile.ErrorCode;
import io.github.bloomfile.Filter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
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
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.CollectionAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A filter that tasks query: the description by which they find it and, in each process, the open file, shared by all
 * tasks.
 */
final class SharedFilter implements Serializable, HostFiles.Source {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger(SharedFilter.class);

    /** The number of filters that a process keeps open, the most recently used. */
    private static final int OPEN = 16;

    /** One of so many "maybe" answers checks whether the file was changed. */
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

    /** Files that Spark already sends to executors, as application and file. */
    private static final Set<String> SENT = ConcurrentHashMap.newKeySet();

    private final String name;
    private final String application;
    private final String path;
    private final String sha256;
    /** Whether Spark distributes the file to executors; false until addFile() returned. */
    private boolean shipped;
    private final boolean strict;
    private final Broadcast<Storage> storage;
    private final CollectionAccumulator<String> damage;
    private transient volatile Filter filter;
    private transient boolean inTask;
    private transient volatile boolean told;
    private transient volatile boolean checked;
    private transient int positives;

    private SharedFilter(String name, SparkContext context, String path, String sha256, boolean strict) {
        this.name = name;
        this.path = path;
        this.sha256 = sha256;
        this.strict = strict;
        application = context.applicationId();
        damage = context.collectionAccumulator("damage of " + path);
        storage = JavaSparkContext.fromSparkContext(context).broadcast(new Storage(context.hadoopConfiguration()));
    }

    /** The SHA-256 of a file, by which filters are known. */
    static String identify(SparkSession spark, String path) throws IOException {
        Storage here = new Storage(spark.sparkContext().hadoopConfiguration());
        Path source = new Path(path);
        try {
            return HostFiles.sha256(here.open(source), OutputStream.nullOutputStream());
        } catch (IOException failed) {
            throw new IOException("cannot open " + path + ": " + failed.getMessage(), failed);
        }
    }

    /**
     * On the driver: makes the file available to all executors, those to come too.
     *
     * @param name of the function in plans
     * @param sha256 from {@link #identify}
     * @throws IOException if it cannot be read
     */
    static SharedFilter publish(SparkSession spark, String name, String path, String sha256, boolean strict)
            throws IOException {
        SparkContext context = spark.sparkContext();
        Path source = new Path(path);
        source = new Storage(context.hadoopConfiguration()).of(source).makeQualified(source);
        SharedFilter result = new SharedFilter(name, context, source.toString(), sha256, strict);
        if ("file".equals(source.toUri().getScheme())) {
            // The name contains the checksum: Spark accepts one file for each name, and executors that start later get
            // its content at that time. The file shared on this host is not changed.
            java.nio.file.Path kept = HostFiles.keep(sha256, result);
            if (SENT.add(context.applicationId() + " " + sha256)) {
                context.addFile(kept.toUri().toString());
            }
            result.shipped = true;
        }
        result.filter();
        return result;
    }

    /** Makes this host's copy again if it was deleted, for executors that do not have it yet. */
    void keep() throws IOException {
        if (shipped) {
            HostFiles.keep(sha256, this);
        }
    }

    String name() {
        return name;
    }

    String application() {
        return application;
    }

    CollectionAccumulator<String> damage() {
        return damage;
    }

    /** Throws if no key of a type fits the filter. The text names the cast that makes it fit. */
    void checkKeys(KeyType type) {
        try {
            filter().checkKeys(type.kind());
        } catch (IllegalArgumentException misfit) {
            String kind = filter().info().keyKind();
            throw new IllegalArgumentException(path + ": its keys are of another kind (filter: " + kind + ", key: "
                    + type.kind() + "): write " + type.remedy(kind), misfit);
        }
    }

    String identity() {
        return sha256;
    }

    /** Opens it, unless another task of this process has. A failure is the query's. */
    Filter filter() {
        synchronized (FILTERS) {
            Filter open = FILTERS.get(sha256);
            if (open == null) {
                String copy = "";
                try {
                    java.nio.file.Path kept = HostFiles.keep(sha256, this);
                    copy = "cannot open " + kept + ": ";
                    // Nobody but this user's processes reach that file, and they do not cut it.
                    open = Filter.open(kept, Filter.Options.DEFAULT.uncut());
                } catch (IOException failed) {
                    throw new UncheckedIOException("cannot query " + path + ": "
                            // The copy is sealed or refused: this package cannot query live filters.
                            + String.valueOf(failed.getMessage()).replace(copy, "")
                                    .replace("open it with Options.live(), or ", ""), failed);
                }
                FILTERS.put(sha256, open);
            }
            TaskContext task = TaskContext.get();
            inTask = task != null;
            if (filter == null && inTask) {
                task.addTaskCompletionListener((TaskCompletionListener) done -> end());
            }
            filter = open;
            return open;
        }
    }

    /** A "no" is certain only if the file was not changed until the end of the task. */
    private void end() {
        BloomfileException error = filter.error();
        if (error != null && (!told || error.code() == ErrorCode.ECHANGED)) {
            tell(error);
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
            check(KeyType.NUMBER);
            return ask(((Number) key).longValue());
        }
        if (key instanceof BigDecimal && ((BigDecimal) key).scale() == 0) {
            check(KeyType.DECIMAL);
            return ask(((BigDecimal) key).longValueExact());
        }
        if (key instanceof String) {
            check(KeyType.STRING);
            // Spark has replaced bytes that are not UTF-8 by U+FFFD, so the original key is lost.
            byte[] bytes = ((String) key).getBytes(StandardCharsets.UTF_8);
            boolean maybe = askText(bytes, 0, bytes.length);
            return maybe || ((String) key).indexOf(0xFFFD) >= 0;
        }
        throw new IllegalArgumentException("cannot query " + path + " for a " + key.getClass().getName()
                + ": keys are strings, binary or integers. bloomfile." + name + "(key) names the cast");
    }

    /** The first key of a process has its type checked. All have the same. */
    private void check(KeyType type) {
        if (!checked) {
            checkKeys(type);
            checked = true;
        }
    }

    boolean ask(long number) {
        Filter open = filter != null ? filter : filter();
        return answer(open, open.mayContain(number));
    }

    boolean askText(byte[] utf8, int offset, int size) {
        Filter open = filter != null ? filter : filter();
        return answer(open, open.mayContainText(utf8, offset, size));
    }

    boolean ask(byte[] bytes, int offset, int size) {
        Filter open = filter != null ? filter : filter();
        return answer(open, open.mayContain(bytes, offset, size));
    }

    private boolean answer(Filter open, boolean found) {
        if (!found && !inTask) {
            end(); // on the driver, for a local table
        }
        return found && maybe(open);
    }

    /**
     * Returns true, after it has reported the damage if there is any. Checks now and then whether the file was changed,
     * which takes a system call.
     */
    private boolean maybe(Filter open) {
        boolean looks = !told && open.damagedPages() != 0 || positives++ % LOOK == 0;
        BloomfileException error = looks ? open.error() : null;
        if (error != null && (strict || !told || error.code() == ErrorCode.ECHANGED)) {
            tell(error);
        }
        return true;
    }

    private void tell(BloomfileException error) {
        told = true;
        String what = path + ": " + error.getMessage();
        if (error.code() == ErrorCode.ECHANGED) {
            synchronized (FILTERS) {
                if (FILTERS.remove(sha256, filter)) {
                    HostFiles.release(sha256); // the next use checks the file, and makes it again
                }
            }
            throw new UncheckedIOException(what, error);
        }
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
        return shipped ? Files.newInputStream(local()) : storage.value().open(source);
    }

    @Override
    public String toString() {
        return path;
    }
}
