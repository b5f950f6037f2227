// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;

/**
 * Types of columns that have keys, and how to cast columns of other types. keys.py of bloomfile for Python has the same
 * rules.
 */
enum KeyType {
    /** Strings, as UTF-8. */
    STRING("text", DataTypes.StringType, DataTypes.BinaryType),
    /** Binary, unchanged. */
    BINARY("bytes", DataTypes.BinaryType, DataTypes.BinaryType),
    /** Integers of any size, as 8 bytes, little-endian, so that an int finds a bigint. */
    NUMBER("integers", DataTypes.LongType, DataTypes.LongType),
    /** Decimals without a fraction that fit into a bigint, as integers. */
    DECIMAL("integers", null, DataTypes.LongType);

    /** A type of column by a pattern of its name, and the expression that makes keys from it. The first match counts. */
    private static final String[][] CASTS = {
        {"string collate .*", "key COLLATE UTF8_BINARY"},
        {"boolean", "CAST(key AS INT)"},
        {"date", "unix_date(key)"},
        {"timestamp", "unix_micros(key)"},
        {"float|double|decimal.*", "CAST(key AS BIGINT) or CAST(key AS STRING)"},
        {"(struct|array|map)<.*", "to_json(key)"},
        {".*", "CAST(key AS STRING)"},
    };

    private static final int LONG_DIGITS = 18;
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
     * @throws IllegalArgumentException if it has no keys: the bytes of equal values could differ. Its text names the cast
     */
    static KeyType of(DataType type) {
        // Not instanceof: from Spark 4 on a string with another collation equals strings with other bytes.
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
        if (type instanceof DecimalType && ((DecimalType) type).scale() == 0
                && ((DecimalType) type).precision() <= LONG_DIGITS) {
            return DECIMAL;
        }
        throw new IllegalArgumentException("keys are strings, binary or integers, not " + type.catalogString()
                + ": write " + cast(type.catalogString()) + ", the same way in builds and lookups");
    }

    private static String cast(String type) {
        for (String[] row : CASTS) {
            if (type.matches(row[0])) {
                return row[1];
            }
        }
        throw new IllegalStateException(type);
    }

    /** The expression that makes these keys fit a filter that refuses them. */
    String remedy(String filterKind) {
        if (filterKind != null && kind.equals("text") && filterKind.equals("integers")) {
            return "CAST(key AS BIGINT)";
        }
        if (filterKind != null && kind.equals("integers") && filterKind.matches("text|lower")) {
            return "CAST(key AS STRING)";
        }
        return kind.equals("text") ? "CAST(key AS BINARY)" : "a cast, as in the build";
    }

    /** The kind, as the header of a filter records it. */
    String kind() {
        return kind;
    }

    /** The type that lookups take: Spark casts to it. Null: the column's own. */
    DataType asked() {
        return asked;
    }

    /** The type to which a build casts the column. */
    DataType stored() {
        return stored;
    }

    /** Puts the 8 bytes of a number. */
    static void put(long number, byte[] bytes) {
        LONG.set(bytes, 0, number);
    }
}
