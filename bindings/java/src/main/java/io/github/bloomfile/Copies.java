// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;

/** Copies out of buffers that leave the position alone: a method since Java 13, and faster than a duplicate of the buffer. */
final class Copies {
    private static final MethodHandle COPY = find();

    private Copies() {
    }

    private static MethodHandle find() {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(ByteBuffer.class, int.class, byte[].class, int.class, int.class);
        try {
            return lookup.findVirtual(ByteBuffer.class, "get", type);
        } catch (ReflectiveOperationException e) {
            try {
                return lookup.findStatic(Copies.class, "get", type.insertParameterTypes(0, ByteBuffer.class));
            } catch (ReflectiveOperationException never) {
                throw new ExceptionInInitializerError(never);
            }
        }
    }

    private static ByteBuffer get(ByteBuffer from, int index, byte[] to, int off, int length) {
        ByteBuffer part = from.duplicate();
        part.position(index);
        return part.get(to, off, length);
    }

    /** Fills an array with the bytes from an index on. */
    static void copy(ByteBuffer from, int index, byte[] to) {
        try {
            ByteBuffer same = (ByteBuffer) COPY.invokeExact(from, index, to, 0, to.length);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable never) {
            throw new AssertionError(never);
        }
    }
}
