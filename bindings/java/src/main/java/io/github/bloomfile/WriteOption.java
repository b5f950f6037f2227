// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** Options of the calls that write a filter. */
public enum WriteOption {
    /**
     * Replace a file that exists. Only a sealed filter, whole or damaged, or an empty file is ever replaced. A live
     * filter is refused, even with a damaged header, unless both its records are lost. A live filter that takes the
     * place of the old file between the last check and the rename is not detected, and is replaced. Programs that have the
     * old file open keep it. By default, a file that exists is an error:
     * {@link java.nio.file.FileAlreadyExistsException}.
     */
    REPLACE,
    /** With {@link #REPLACE}: a filter without keys may replace a filter with keys, or a damaged filter. */
    ALLOW_EMPTY,
    /**
     * Write a filter though its false-positive rate is more than twice the target rate, or more than 50% without a
     * target. All keys are in it.
     */
    OVERFULL,
    /** Join slices even if a slice left out keys that may be in no other slice. */
    ACCEPT_INCOMPLETE;

    static boolean has(WriteOption[] options, WriteOption wanted) {
        for (WriteOption option : options) {
            if (option == wanted) {
                return true;
            }
        }
        return false;
    }
}
