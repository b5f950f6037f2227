// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.Builder;
import io.github.bloomfile.Params;
import io.github.bloomfile.WriteOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * The reduce side: makes one slice of all digests that belong to it. The name of its file has the number of the
 * attempt, so that concurrent attempts do not collide. Only a driver that received the name from this task uses the
 * file.
 */
final class MakeSlice implements FlatMapFunction<Iterator<Tuple2<Integer, byte[]>>, SliceFile> {
    private static final long serialVersionUID = 1;

    /** Bytes of memory for the digests of a task; more digests go to a temporary file. */
    private static final int MEMORY = 32 << 20;

    private final Params params;
    private final int slices;
    private final String folder;
    private final Broadcast<Storage> storage;

    MakeSlice(Params params, int slices, Path folder, Broadcast<Storage> storage) {
        this.params = params;
        this.slices = slices;
        this.folder = folder.toString();
        this.storage = storage;
    }

    @Override
    public Iterator<SliceFile> call(Iterator<Tuple2<Integer, byte[]>> chunks) throws IOException {
        int slice = TaskContext.getPartitionId();
        Path path = new Path(folder, "slice-" + slice + "-" + TaskContext.get().taskAttemptId());
        try (Builder builder = new Builder(params.slice(slice, slices).memory(MEMORY))) {
            long[] digests = new long[0];
            while (chunks.hasNext()) {
                byte[] chunk = chunks.next()._2();
                int count = chunk.length / 8;
                if (digests.length < count) {
                    digests = new long[count];
                }
                ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(digests, 0, count);
                builder.addDigests(digests, 0, count);
            }
            // Not recursive: if the build is over and its folder gone, this must not bring it back.
            try (FSDataOutputStream out = storage.value().of(path).createFile(path).overwrite(false).build()) {
                // The driver checks the number of keys of the whole filter.
                builder.finish(out, WriteOption.OVERFULL);
            }
            return List.of(new SliceFile(path.toString(), builder.keys())).iterator();
        }
    }
}
