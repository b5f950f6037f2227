// SPDX-License-Identifier: MIT

// Package bloomfile reads and writes Bloom filters stored in files. A lookup takes nanoseconds, and answers that a key is
// "maybe" in the set or certainly not. C, Python, Java and command-line programs use the same files.
//
// There are three types:
//
//   - Filter is an open filter, for lookups. Open maps a file, and Parse takes bytes.
//   - BloomFilter is a filter in memory that keys can be added to. Its methods are named as in bits-and-blooms/bloom.
//   - Builder builds a filter from a list of keys, in any layout. It counts the keys exactly.
//
// Fold, Merge, Intersect, Join, Diff and Apply make new filters from existing filters.
//
// A damaged file never causes a wrong "no". Opening it fails, or lookups return "maybe" and Err reports the damage. If a
// filter cannot be opened, treat every key as "maybe".
package bloomfile
