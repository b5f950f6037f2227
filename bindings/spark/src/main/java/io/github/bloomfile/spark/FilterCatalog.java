// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The functions {@code bloomfile.NAME} of SQL. Spark makes one for each session; all know the same filters, those of
 * {@link FilterFunction#register}.
 */
public final class FilterCatalog implements FunctionCatalog {
    /** The catalog's name in SQL. */
    static final String NAME = "bloomfile";

    private static final Map<String, SharedFilter> FILTERS = new ConcurrentHashMap<>();
    private static final int BYTES_OFFSET = org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET;

    private String catalog;

    /** For Spark. */
    public FilterCatalog() {
    }

    /** Makes a filter known. Those of applications that have ended are forgotten. */
    static void put(SparkSession spark, String name, SharedFilter filter) {
        FILTERS.values().removeIf(old -> !old.application().equals(filter.application()));
        FILTERS.put(key(name), filter);
        spark.conf().set("spark.sql.catalog." + NAME, FilterCatalog.class.getName());
    }

    /** The filter of a name in an application, or null. */
    static SharedFilter get(SparkSession spark, String name) {
        SharedFilter found = FILTERS.get(key(name));
        return found != null && found.application().equals(spark.sparkContext().applicationId()) ? found : null;
    }

    static void remove(String name) {
        FILTERS.remove(key(name));
    }

    private static String key(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        catalog = name;
    }

    @Override
    public String name() {
        return catalog;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return FILTERS.keySet().stream().map(name -> Identifier.of(new String[0], name)).toArray(Identifier[]::new);
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
        SharedFilter filter = FILTERS.get(key(identifier.name()));
        if (filter == null || identifier.namespace().length > 0) {
            throw new NoSuchFunctionException(identifier);
        }
        return new Unbound(filter);
    }

    private static final class Unbound implements UnboundFunction {
        private static final long serialVersionUID = 1;

        private final SharedFilter filter;

        Unbound(SharedFilter filter) {
            this.filter = filter;
        }

        @Override
        public BoundFunction bind(StructType arguments) {
            if (arguments.length() != 1) {
                throw new UnsupportedOperationException(filter.name() + "() takes one key, not " + arguments.length());
            }
            DataType given = arguments.fields()[0].dataType();
            if (given.equals(DataTypes.NullType)) {
                return new OfBytes(filter);
            }
            try {
                KeyType type = KeyType.of(given);
                filter.checkKeys(type);
                switch (type) {
                    case STRING: return new OfStrings(filter);
                    case BINARY: return new OfBytes(filter);
                    case DECIMAL: return new OfDecimals(filter, given);
                    default: return new OfNumbers(filter);
                }
            } catch (IllegalArgumentException refused) {
                throw new UnsupportedOperationException(refused.getMessage());
            }
        }

        @Override
        public String description() {
            return "whether " + filter + " may contain a key: false is certain";
        }

        @Override
        public String name() {
            return filter.name();
        }
    }

    /** The object that Spark sends to tasks. Spark calls the method {@code invoke} of the subclasses by name. */
    private abstract static class Bound implements ScalarFunction<Boolean> {
        private static final long serialVersionUID = 1;

        final SharedFilter filter;
        private final DataType type;

        Bound(SharedFilter filter, DataType type) {
            this.filter = filter;
            this.type = type;
        }

        @Override
        public DataType[] inputTypes() {
            return new DataType[] {type};
        }

        @Override
        public DataType resultType() {
            return DataTypes.BooleanType;
        }

        @Override
        public String name() {
            return filter.name();
        }

        @Override
        public String canonicalName() {
            return NAME + "." + filter.identity() + "." + type.catalogString();
        }

        @Override
        public String toString() {
            return filter.name();
        }
    }

    /** Of strings. Public for the code that Spark generates. */
    public static final class OfStrings extends Bound {
        private static final long serialVersionUID = 1;

        OfStrings(SharedFilter filter) {
            super(filter, KeyType.STRING.asked());
        }

        /**
         * Called by Spark.
         *
         * @param key the UTF-8, where it is; or null
         * @return false, true or null
         */
        public Boolean invoke(UTF8String key) {
            if (key == null) {
                return null;
            }
            if (key.getBaseObject() instanceof byte[]) {
                return filter.askText((byte[]) key.getBaseObject(), (int) (key.getBaseOffset() - BYTES_OFFSET),
                        key.numBytes());
            }
            byte[] bytes = key.getBytes();
            return filter.askText(bytes, 0, bytes.length);
        }
    }

    /** Of binary. Public for the code that Spark generates. */
    public static final class OfBytes extends Bound {
        private static final long serialVersionUID = 1;

        OfBytes(SharedFilter filter) {
            super(filter, KeyType.BINARY.asked());
        }

        /**
         * Called by Spark.
         *
         * @param key the bytes, or null
         * @return false, true or null
         */
        public Boolean invoke(byte[] key) {
            return key == null ? null : filter.ask(key, 0, key.length);
        }
    }

    /** Of integers. Public for the code that Spark generates, which leaves out nulls here. */
    public static final class OfNumbers extends Bound {
        private static final long serialVersionUID = 1;

        OfNumbers(SharedFilter filter) {
            super(filter, KeyType.NUMBER.asked());
        }

        /**
         * Called by Spark.
         *
         * @param key the number
         * @return false or true
         */
        public boolean invoke(long key) {
            return filter.ask(key);
        }
    }

    /** Of decimals. Public for the code that Spark generates. */
    public static final class OfDecimals extends Bound {
        private static final long serialVersionUID = 1;

        OfDecimals(SharedFilter filter, DataType type) {
            super(filter, type);
        }

        /**
         * Called by Spark.
         *
         * @param key a number without a fraction, or null
         * @return false, true or null
         */
        public Boolean invoke(Decimal key) {
            return key == null ? null : filter.ask(key.toLong());
        }
    }
}
