// SPDX-License-Identifier: MIT
/** Bloom filters that live in files: see the package {@link bloomfile}. */
module bloomfile {
    exports bloomfile;
}
