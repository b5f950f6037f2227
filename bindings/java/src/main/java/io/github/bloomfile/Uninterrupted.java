// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;

/** Work on files that an interrupted thread does too. Java closes a channel that such a thread uses, and even maps. */
final class Uninterrupted {
    private Uninterrupted() {
    }

    /** Work that opens its own channels, and may be repeated. */
    interface Work<T> {
        T run() throws IOException;
    }

    /** Does the work, again if an interrupt came in between. The thread is interrupted afterwards if it was. */
    static <T> T run(Work<T> work) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            for (;;) {
                try {
                    return work.run();
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
