/* SPDX-License-Identifier: MIT
 *
 * Functions that the benchmarks share: failing, time, keys.
 *
 * A benchmark that cannot do its work ends with exit status 2. Exit status 1 means that it did, and
 * that a figure missed its target.
 */
#ifndef BLOOMFILE_BENCH_H
#define BLOOMFILE_BENCH_H

#include <bloomfile.h>

#define BENCH_MISSED  1
#define BENCH_TROUBLE 2

/* "bench-live: cannot <what>: <words for error>" on stderr, then exit status 2. `error` is an errno
 * or a BLOOMFILE_E*; 0 leaves the words away. */
_Noreturn void bench_fail(int error, const char *what);

/* bench_fail() unless error is 0. */
void bench_check(int error, const char *what);

/* bench_fail() with errno if a system call's result is -1; else the result. */
int bench_call(int result, const char *what);

/* Writes out what was printed; bench_fail() if that fails. */
void bench_flush(void);

/* bench_fail() if there is no memory, which NULL tells; else the memory. */
void *bench_memory(void *memory);

/* A number from `least` to `most`, in decimal; bench_fail() if it is anything else. */
uint64_t bench_number_in(const char *text, uint64_t least, uint64_t most);

/* Seconds on a clock that only moves forward, and seconds of processors of this process. */
double bench_seconds(void);
double bench_processor_seconds(void);

/* Sorts the values. */
double bench_median(double *values, size_t count);

/* The i-th of a fixed sequence that looks random, in which no number comes twice. */
uint64_t bench_random(uint64_t i);

/* The digests of `count` keys under a seed. The keys are the numbers from `first` up, each as the 8
 * bytes it has in this machine's memory. */
void bench_digests(uint64_t seed, uint64_t first, bloomfile_digest *digests, size_t count);

/* Makes a blocked filter file whose body is so large, as if of keys: half of the bits are ones. */
void bench_make_filter(const char *path, size_t size);

/* Opens a filter file, or ends the program. */
bloomfile_filter *bench_open(const char *path, unsigned flags);

/* Adds keys first .. first + count - 1, hashed with `seed`. */
void bench_add_keys(bloomfile_builder *builder, uint64_t seed, uint64_t first, uint64_t count);

/* How many of the keys first .. first + count - 1 may be in the filter. */
uint64_t bench_count_hits(const bloomfile_filter *f, uint64_t first, uint64_t count);

/* "blocked", "classic" or "counting". */
const char *bench_layout_name(uint32_t layout);

#endif
