/* SPDX-License-Identifier: MIT
 *
 * Functions that the benchmarks share: errors, clocks, keys.
 *
 * A benchmark that cannot do its work ends with exit status 2. Exit status 1 means that it did its
 * work, and that a figure missed its target.
 */
#ifndef BLOOMFILE_BENCH_H
#define BLOOMFILE_BENCH_H

#include <bloomfile.h>

#define BENCH_MISSED  1
#define BENCH_TROUBLE 2

/* Prints "bench-live: cannot <what>: <text of the error>" to standard error, and exits with 2.
 * `error` is an errno or a BLOOMFILE_E*. If it is 0, the text is left out. */
_Noreturn void bench_fail(int error, const char *what);

/* Calls bench_fail() unless error is 0. */
void bench_check(int error, const char *what);

/* Returns the result of a system call. If it is -1, calls bench_fail() with errno. */
int bench_call(int result, const char *what);

/* Flushes standard output. Calls bench_fail() if that fails. */
void bench_flush(void);

/* Returns the memory. If it is NULL, calls bench_fail(). */
void *bench_memory(void *memory);

/* Returns a decimal number from `least` to `most`. Calls bench_fail() for any other text. */
uint64_t bench_number_in(const char *text, uint64_t least, uint64_t most);

/* Seconds on a monotonic clock, and seconds of processor time of this process. */
double bench_seconds(void);
double bench_processor_seconds(void);

/* Returns the median, and sorts the values. */
double bench_median(double *values, size_t count);

/* The i-th number of a fixed pseudorandom sequence without repetitions. */
uint64_t bench_random(uint64_t i);

/* Computes the digests of `count` keys with a seed. The keys are the numbers from `first` on, as
 * the 8 bytes that they have in memory. */
void bench_digests(uint64_t seed, uint64_t first, bloomfile_digest *digests, size_t count);

/* Makes a blocked filter file with a body of `size` bytes, half of whose bits are set. */
void bench_make_filter(const char *path, size_t size);

/* Opens a filter file. Ends the program on an error. */
bloomfile_filter *bench_open(const char *path, unsigned flags);

/* Adds keys first .. first + count - 1, hashed with `seed`. */
void bench_add_keys(bloomfile_builder *builder, uint64_t seed, uint64_t first, uint64_t count);

/* Counts the keys first .. first + count - 1 that may be in the filter. */
uint64_t bench_count_hits(const bloomfile_filter *f, uint64_t first, uint64_t count);

/* "blocked", "classic" or "counting". */
const char *bench_layout_name(uint32_t layout);

#endif
