// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import java.util.List;

/** The result of {@link FilterBuild#write}. */
public final class BuildReport {
    private final String path;
    private final long keys;
    private final long capacity;
    private final int slices;
    private final List<String> leftovers;

    BuildReport(String path, long keys, long capacity, int slices, List<String> leftovers) {
        this.path = path;
        this.keys = keys;
        this.capacity = capacity;
        this.slices = slices;
        this.leftovers = List.copyOf(leftovers);
    }

    /**
     * The file.
     *
     * @return with its scheme
     */
    public String path() {
        return path;
    }

    /**
     * The number of different keys, nulls not counted.
     *
     * @return exact
     */
    public long keys() {
        return keys;
    }

    /**
     * For how many keys the filter was sized.
     *
     * @return at least {@link #keys}
     */
    public long capacity() {
        return capacity;
    }

    /**
     * Of how many slices it was made.
     *
     * @return at least 1
     */
    public int slices() {
        return slices;
    }

    /**
     * Folders next to the file that were left by builds whose driver died, or that belong to builds in progress.
     * Folders a week old are removed, and not listed.
     *
     * @return their paths
     */
    public List<String> leftovers() {
        return leftovers;
    }

    @Override
    public String toString() {
        return path + ": " + keys + " keys, made of " + slices + " slices";
    }
}
