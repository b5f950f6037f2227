// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.io.Serializable;

/** The description of a slice that a task has written. */
final class SliceFile implements Serializable {
    private static final long serialVersionUID = 1;

    final String path;
    final long keys;

    SliceFile(String path, long keys) {
        this.path = path;
        this.keys = keys;
    }
}
