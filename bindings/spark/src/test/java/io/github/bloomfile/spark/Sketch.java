// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.sketch.BloomFilter;

/** Spark's own Bloom filter as a function of SQL, for comparison: broadcast, as its users do it. */
public final class Sketch {
    private Sketch() {
    }

    /** Makes a filter the function {@code name}. */
    public static void register(SparkSession spark, String name, BloomFilter filter) {
        Broadcast<BloomFilter> everywhere = JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(filter);
        UDF1<byte[], Boolean> ask = key -> key == null ? null : everywhere.value().mightContainBinary(key);
        spark.udf().register(name, ask, DataTypes.BooleanType);
    }
}
