// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;

/** Which columns have keys, and which bytes these are. */
enum KeyType {
    /** Strings, as UTF-8. */
    STRING("text", DataTypes.StringType, DataTypes.BinaryType),
    /** Binary, as it is. */
    BINARY("bytes", DataTypes.BinaryType, DataTypes.BinaryType),
    /** Integers of any size, as 8 bytes, little-endian, so that an int joins with a bigint. */
    NUMBER("integers", DataTypes.LongType, DataTypes.LongType);

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final String kind;
    private final DataType asked;
    private final DataType stored;

    KeyType(String kind, DataType asked, DataType stored) {
        this.kind = kind;
        this.asked = asked;
        this.stored = stored;
    }

    /**
     * The kind of a column's keys.
     *
     * @throws IllegalArgumentException if it has none: the bytes of equal values could differ
     */
    static KeyType of(DataType type) {
        // Not instanceof: from Spark 4 on a string with another collation equals others than those of its bytes.
        if (type.equals(DataTypes.StringType)) {
            return STRING;
        }
        if (type instanceof BinaryType) {
            return BINARY;
        }
        if (type instanceof LongType || type instanceof IntegerType || type instanceof ShortType
                || type instanceof ByteType) {
            return NUMBER;
        }
        throw new IllegalArgumentException("keys are strings (in the collation UTF8_BINARY), binary or integers, not "
                + type.catalogString() + " (cast the column the same way when building and querying)");
    }

    /** The kind, as the header of a filter records it. */
    String kind() {
        return kind;
    }

    /** What is asked for: Spark casts to it. */
    DataType asked() {
        return asked;
    }

    /** To what a column is cast that a filter is built of. */
    DataType stored() {
        return stored;
    }

    /** Puts the 8 bytes of a number. */
    static void put(long number, byte[] bytes) {
        LONG.set(bytes, 0, number);
    }
}
