/* SPDX-License-Identifier: MIT
 * Short forms for tests of live filters. The keys are number(0, i). The target rate is 1e-9, so
 * that no key is present by chance. */
#ifndef BLOOMFILE_TESTS_LIVE_FILES_H
#define BLOOMFILE_TESTS_LIVE_FILES_H

#include <bloomfile.h>

struct bloomfile_params sized(uint64_t capacity);
bloomfile_filter *create(const char *path, uint64_t capacity);
bloomfile_filter *open_for(const char *path, unsigned flags);
void assert_not_opened(const char *path, unsigned flags, int error);

/* Adds keys from .. to - 1; asserts that each is new. */
void add(bloomfile_filter *f, uint64_t from, uint64_t to);

/* Asserts that keys 0 .. to - 1 are present and another key is not. */
void assert_has(const bloomfile_filter *f, uint64_t to);

#endif
