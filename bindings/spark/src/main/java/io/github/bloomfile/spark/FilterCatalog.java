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

    static void put(SparkSession spark, String name, SharedFilter filter) {
        FILTERS.put(name.toLowerCase(Locale.ROOT), filter);
        spark.conf().set("spark.sql.catalog." + NAME, FilterCatalog.class.getName());
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
        SharedFilter filter = FILTERS.get(identifier.name().toLowerCase(Locale.ROOT));
        if (filter == null || identifier.namespace().length > 0) {
            throw new NoSuchFunctionException(identifier);
        }
        return new Unbound(identifier.name(), filter);
    }

    private static final class Unbound implements UnboundFunction {
        private static final long serialVersionUID = 1;

        private final String name;
        private final SharedFilter filter;

        Unbound(String name, SharedFilter filter) {
            this.name = name;
            this.filter = filter;
        }

        @Override
        public BoundFunction bind(StructType arguments) {
            if (arguments.length() != 1) {
                throw new UnsupportedOperationException(name + "() takes one key, not " + arguments.length());
            }
            DataType given = arguments.fields()[0].dataType();
            if (given.equals(DataTypes.NullType)) {
                return new OfBytes(name, filter);
            }
            try {
                KeyType type = KeyType.of(given);
                filter.filter().checkKeys(type.kind());
                switch (type) {
                    case STRING: return new OfStrings(name, filter);
                    case BINARY: return new OfBytes(name, filter);
                    default: return new OfNumbers(name, filter);
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
            return name;
        }
    }

    /** What Spark sends to tasks. It calls the method invoke of the classes below, by that name. */
    private abstract static class Bound implements ScalarFunction<Boolean> {
        private static final long serialVersionUID = 1;

        final SharedFilter filter;
        private final String name;
        private final KeyType type;

        Bound(String name, SharedFilter filter, KeyType type) {
            this.name = name;
            this.filter = filter;
            this.type = type;
        }

        @Override
        public DataType[] inputTypes() {
            return new DataType[] {type.asked()};
        }

        @Override
        public DataType resultType() {
            return DataTypes.BooleanType;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String canonicalName() {
            return NAME + "." + filter.identity() + "." + type;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** Of strings. Public for the code that Spark generates. */
    public static final class OfStrings extends Bound {
        private static final long serialVersionUID = 1;

        OfStrings(String name, SharedFilter filter) {
            super(name, filter, KeyType.STRING);
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

        OfBytes(String name, SharedFilter filter) {
            super(name, filter, KeyType.BINARY);
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

        OfNumbers(String name, SharedFilter filter) {
            super(name, filter, KeyType.NUMBER);
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
}
