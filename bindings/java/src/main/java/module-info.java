// SPDX-License-Identifier: MIT
/** Bloom filters that live in files: see the package {@link io.github.bloomfile}. */
module io.github.bloomfile {
    exports io.github.bloomfile;
}
