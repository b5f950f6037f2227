// SPDX-License-Identifier: MIT

// Package bloomfile reads and makes Bloom filters that live in files: small files that answer, in nanoseconds, that a
// key is "maybe" in a set or certainly not. C, Python, Java and command-line programs read the same files.
//
// There are three types:
//
//   - Filter is an open filter, for lookups. Open maps a file, and Parse takes bytes.
//   - BloomFilter is a filter in memory to which keys are added. Its methods are those of bits-and-blooms/bloom.
//   - Builder makes a filter of a list of keys, in every layout. It counts the keys exactly.
//
// Fold, Merge, Intersect, Join, Diff and Apply make filters of filters.
//
// A damaged file never answers a wrong "no". It is refused when it is opened, or lookups return "maybe" and Err reports
// the damage. Treat a refusal as "maybe".
package bloomfile
