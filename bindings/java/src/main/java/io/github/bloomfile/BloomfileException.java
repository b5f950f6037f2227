// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.IOException;

/**
 * A filter was refused, or could not be made. Errors of the system are plain {@link IOException}s.
 *
 * <p>The message names the action, the file, the reason and the remedy. Conclude nothing about any key of a
 * filter that was refused: treat all as <em>maybe</em>.
 */
public final class BloomfileException extends IOException {
    private static final long serialVersionUID = 1;

    /** The error code. */
    private final ErrorCode code;

    /**
     * An error on a file.
     *
     * @param code the error
     * @param attempted the action and the file, such as {@code "open users.bloom"}; may be null
     * @param detail more about the error, such as {@code "page 7"}; may be null
     */
    public BloomfileException(ErrorCode code, String attempted, String detail) {
        super((attempted == null ? "" : "cannot " + attempted + ": ") + code.meaning()
                + (detail == null ? "" : ": " + detail) + " (" + code.remedy() + ") [" + code.fullName() + "]");
        this.code = code;
    }

    /** An error with a reason and a remedy of its own. */
    BloomfileException(ErrorCode code, String attempted, String reason, String remedy) {
        super("cannot " + attempted + ": " + reason + " (" + remedy + ") [" + code.fullName() + "]");
        this.code = code;
    }

    /**
     * Returns the error code.
     *
     * @return never null
     */
    public ErrorCode code() {
        return code;
    }
}
