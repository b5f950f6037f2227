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
 * The reduce side: makes one slice of all digests that belong to it. Its file has the number of the attempt in its name,
 * so that attempts at the same time do not meet, and nobody looks for it but a driver that this task has told of it.
 */
final class MakeSlice implements FlatMapFunction<Iterator<Tuple2<Integer, byte[]>>, SliceFile> {
    private static final long serialVersionUID = 1;

    /** Bytes that a task may take for digests; what is more goes to a temporary file. */
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
                // Whether the whole has too many keys, the driver tells.
                builder.finish(out, WriteOption.OVERFULL);
            }
            return List.of(new SliceFile(path.toString(), builder.keys())).iterator();
        }
    }
}
