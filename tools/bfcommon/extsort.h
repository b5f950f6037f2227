/* SPDX-License-Identifier: MIT
 *
 * External sorting: any number of keys, bytewise, without repetitions, in a fixed amount of memory.
 * What does not fit goes to temporary files as sorted runs, which are merged.
 */
#ifndef BLOOMFILE_TOOLS_EXTSORT_H
#define BLOOMFILE_TOOLS_EXTSORT_H

#include "bfcommon/lines.h"

struct extsort;

/* The memory for so many keys of so many bytes altogether that no temporary file is needed. */
uint64_t extsort_needs(uint64_t keys, uint64_t bytes);

/* Temporary files are made in `folder`. Unless everything fits into the memory, no
 * key may take more than a quarter of it. Trouble ends the program by cli_fail. */
struct extsort *extsort_new(const char *folder, const struct keys_options *form, size_t memory);

void extsort_add(struct extsort *s, const struct bloomfile_key *key);

/* After the last key. */
void extsort_finish(struct extsort *s);

/* The keys in order, each once; one stays valid until the next call. false: there are no more. */
bool extsort_next(struct extsort *s, struct bloomfile_key *key);

void extsort_free(struct extsort *s);

#endif
