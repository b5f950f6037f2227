// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Measures the memory that is in use in an executor, not what waits to be collected: collects, looks, and does so again.
 * That makes tasks slow. At the end a file in the folder {@code spark.bloomfile.live} has the bytes in use before the first
 * task and at most, in the heap, and at most outside of it, in Netty's buffers.
 */
public final class Live implements SparkPlugin {
    private static final long PAUSE = 100;

    @Override
    public DriverPlugin driverPlugin() {
        return null;
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorPlugin() {
            private final Thread thread = new Thread(this::look);
            private Path file;
            private long first = -1;
            private long most;
            private long outside;

            @Override
            public void init(PluginContext context, Map<String, String> more) {
                file = Path.of(context.conf().get("spark.bloomfile.live"), context.executorID());
                thread.setDaemon(true);
                thread.start();
            }

            private void look() {
                while (true) {
                    System.gc();
                    long now = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
                    first = first < 0 ? now : first;
                    most = Math.max(most, now);
                    outside = Math.max(outside, PlatformDependent.usedDirectMemory());
                    try {
                        Path next = file.resolveSibling(".next-" + file.getFileName());
                        Files.writeString(next, first + " " + most + " " + outside + "\n");
                        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
                        Thread.sleep(PAUSE);
                    } catch (IOException | InterruptedException ended) {
                        return;
                    }
                }
            }
        };
    }
}
