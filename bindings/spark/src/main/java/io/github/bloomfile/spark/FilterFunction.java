// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * A filter as a function of SQL and of columns: false if a key is certainly not in the filter, true if it may be, null
 * of null.
 *
 * <pre>{@code
 * FilterFunction inUrls = FilterFunction.register(spark, "in_urls", "hdfs:///filters/urls.bloom");
 * rows.where(inUrls.maybeContains(col("url")));
 * spark.sql("SELECT * FROM log WHERE NOT in_urls(url)");
 * }</pre>
 *
 * <p>It answers from the file that was at the path when it was registered, even if that is replaced later. A file that
 * cannot be opened, or is not a filter, is an error here; one that tasks cannot open fails their query. Damage that a
 * lookup finds later makes it answer true, and {@link #damage()} reports it.
 *
 * <p>Keys are strings (as UTF-8), binary (as it is) and integers of any size (8 bytes, little-endian). Thread-safe.
 */
public final class FilterFunction {
    private final SparkSession spark;
    private final String catalogName;
    private final boolean inSession;
    private final SharedFilter filter;

    private FilterFunction(SparkSession spark, String catalogName, boolean inSession, SharedFilter filter) {
        this.spark = spark;
        this.catalogName = catalogName;
        this.inSession = inSession;
        this.filter = filter;
    }

    /**
     * The filter as a function of columns, without a name of its own in SQL. Plans and columns have the name of the file. All calls
     * for the same content share one function.
     *
     * @param spark the session
     * @param path the filter, as in {@link #register(SparkSession, String, String)}
     * @param strict whether a query fails if a lookup finds damage; otherwise the lookup returns true
     * @return the function
     * @throws IOException if the file cannot be read or is not a sealed filter
     */
    public static FilterFunction of(SparkSession spark, String path, boolean strict) throws IOException {
        String sha256 = SharedFilter.identify(spark, path);
        String display = "maybe_contains[" + new Path(path).getName() + "]";
        String catalogName = "filter_" + sha256.substring(0, 32) + (strict ? "_strict" : "");
        SharedFilter filter = FilterCatalog.get(spark, catalogName);
        if (filter == null || !filter.name().equals(display)) {
            filter = SharedFilter.publish(spark, display, path, sha256, strict);
            FilterCatalog.put(spark, catalogName, filter);
        } else {
            filter.keep();
        }
        return new FilterFunction(spark, catalogName, false, filter);
    }

    /**
     * Makes a filter a function, under two names: {@code name} and {@code bloomfile.name}. The second one checks types
     * when a query is analysed, and takes strings as they are in memory; the first one gets Java strings from Spark,
     * which takes some 40 ns more a row, and answers true for strings with U+FFFD, since Spark puts that for bytes that
     * are no UTF-8. {@link #maybeContains} is the second one.
     *
     * <p>{@code name} belongs to the session. {@code bloomfile.name} belongs to all sessions of this driver that made
     * or registered a function. A name in use gets the new filter; running queries keep the old filter.
     *
     * @param spark the session
     * @param name a name in SQL
     * @param path the filter, on any file system that Spark knows. A {@code file:} needs to be on the driver's machine
     *     alone: Spark brings it to the others. What is elsewhere, each machine reads there, once
     * @return the function
     * @throws IOException if the file cannot be read or is not a sealed filter
     */
    public static FilterFunction register(SparkSession spark, String name, String path) throws IOException {
        return register(spark, name, path, false);
    }

    /**
     * Like the method above, and chooses whether damage fails a query.
     *
     * @param spark the session
     * @param name a name in SQL
     * @param path the filter
     * @param strict whether a query fails if a lookup finds damage; otherwise the lookup returns true
     * @return the function
     * @throws IOException if the file cannot be read or is not a sealed filter
     */
    public static FilterFunction register(SparkSession spark, String name, String path, boolean strict)
            throws IOException {
        if (!name.matches("[A-Za-z_][A-Za-z0-9_]*")) {
            throw new IllegalArgumentException("cannot register " + path + " as '" + name
                    + "': a name is letters, digits and _");
        }
        SharedFilter filter = SharedFilter.publish(spark, name, path, SharedFilter.identify(spark, path), strict);
        FilterCatalog.put(spark, name, filter);
        spark.udf().register(name, (UDF1<Object, Boolean>) filter::ask, DataTypes.BooleanType);
        return new FilterFunction(spark, name, true, filter);
    }

    /**
     * Removes the function's names, and releases the filter. Columns that are not analysed yet then fail; running
     * queries continue. A function of {@link #of} is shared by all calls for the same content.
     */
    public void unregister() {
        if (FilterCatalog.get(spark, catalogName) == filter) {
            FilterCatalog.remove(catalogName);
            if (inSession) {
                spark.sql("DROP TEMPORARY FUNCTION IF EXISTS " + catalogName);
            }
        }
    }

    /**
     * Whether the filter may contain a column's keys: in {@code where()}, in the condition of a join, anywhere.
     *
     * @param key a column of strings, binary or integers. If keys of its type do not fit those of the filter, the query fails
     *     when it is analysed, or at the first row of bytes that have another size
     * @return a column of true, false, and null where the key is null
     */
    public Column maybeContains(Column key) {
        return functions.call_function(FilterCatalog.NAME + "." + catalogName, key).as(name() + "(" + key + ")");
    }

    /**
     * The damage that lookups of finished tasks found, one line for each task; empty if there was none. The answers
     * were still right, with more <em>maybe</em>. Build the file again. A task whose file is overwritten fails instead.
     *
     * @return a copy
     */
    public List<String> damage() {
        return List.copyOf(filter.damage().value());
    }

    /**
     * The name in SQL or, for a function without one, in plans.
     *
     * @return as it was registered
     */
    public String name() {
        return filter.name();
    }
}
