// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The mappings of one filter. From Java 22 on they are released by {@link #close}, and accesses throw IllegalStateException
 * afterwards; before, or without a close, when they are garbage. Reached by reflection, because older Javas compile this.
 */
final class Mapping {
    private static final class Arenas {
        static final Cleaner CLEANER = Cleaner.create();
        static final Method OPEN;
        static final Method CLOSE;
        static final Method MAP;
        static final Method BUFFER;

        static {
            Method[] found = new Method[4];
            try {
                if (Runtime.version().feature() >= 22) { // a preview before
                    Class<?> arena = Class.forName("java.lang.foreign.Arena");
                    found[1] = arena.getMethod("close");
                    found[2] = FileChannel.class.getMethod("map", FileChannel.MapMode.class, long.class, long.class, arena);
                    found[3] = Class.forName("java.lang.foreign.MemorySegment").getMethod("asByteBuffer");
                    found[0] = arena.getMethod("ofShared");
                }
            } catch (ReflectiveOperationException e) {
                found[0] = null;
            }
            OPEN = found[0];
            CLOSE = found[1];
            MAP = found[2];
            BUFFER = found[3];
        }
    }

    /** Null if buffers are released when they are garbage. */
    private final Object arena;
    private final Cleaner.Cleanable release;

    Mapping() throws IOException {
        arena = Arenas.OPEN == null ? null : call(Arenas.OPEN, null);
        release = arena == null ? null : Arenas.CLEANER.register(this, closing(arena));
    }

    private static Runnable closing(Object arena) {
        return () -> {
            try {
                call(Arenas.CLOSE, arena);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        };
    }

    private static Object call(Method method, Object on, Object... with) throws IOException {
        try {
            return method.invoke(on, with);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof IOException) {
                throw (IOException) e.getCause();
            }
            if (e.getCause() instanceof RuntimeException) {
                throw (RuntimeException) e.getCause();
            }
            throw new AssertionError(e.getCause());
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    /** Bytes of a file, read-only. */
    ByteBuffer map(FileChannel file, long position, long size) throws IOException {
        return arena == null ? file.map(FileChannel.MapMode.READ_ONLY, position, size)
                : (ByteBuffer) call(Arenas.BUFFER, call(Arenas.MAP, file, FileChannel.MapMode.READ_ONLY, position, size, arena));
    }

    void close() {
        if (release != null) {
            release.clean();
        }
    }
}
