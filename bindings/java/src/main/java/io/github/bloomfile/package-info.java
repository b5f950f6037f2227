// SPDX-License-Identifier: MIT
/**
 * Bloom filters that live in files, in pure Java.
 *
 * <p>A filter answers "is this key in the set?" with <em>certainly not</em> or <em>maybe</em>. The files are those of
 * {@code format-spec.md}, byte for byte, whatever program made them. All pages named here or there are in the <a
 * href="https://github.com/bloomfile/bloomfile">source tree</a>: in its root folder, or in {@code doc/format}.
 *
 * <p><strong>The one rule:</strong> a damaged or misunderstood filter never answers a silent "no". It is refused with a
 * {@link io.github.bloomfile.BloomfileException}, or uncertain answers are <em>maybe</em> and its error reports the
 * damage.
 *
 * <p>Keys are bytes. A {@link java.lang.CharSequence} stands for its UTF-8, a number that is a key for its eight bytes,
 * the least significant first. "Digest" is the 64-bit hash of a key under a filter's seed.
 */
package io.github.bloomfile;
