/* SPDX-License-Identifier: MIT
 *
 * What was seen: one filter, or generations of filters of which the newest is added to and all are
 * asked; in memory or in files. Trouble ends the program by cli_fail, which closes it properly.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_SEEN_H
#define BLOOMFILE_TOOLS_UNIQ_SEEN_H

#include "bfuniq/state.h"

#define SEEN_BATCH 1024

/* Opens or makes what the plan says. There is one at a time; exit() closes it. */
void seen_open(struct seen *s);

/* The seed of the digests below. */
uint64_t seen_seed(const struct seen *s);

/* Sets new_ones[i] to false where a key has certainly been seen for good, otherwise to true: what
 * seen_add() is to find out. Others may add meanwhile. */
void seen_ask(const struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Adds the first of the keys, of at most SEEN_BATCH, and returns how many, at least 1: as many as
 * there is room for, in the newest generation or until seen_watch() looks. new_ones[i], unless it
 * is false already, tells whether the key was not seen before. The others are not marked as seen,
 * so that nothing is lost if the next generation cannot be made. */
size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Call before the first key and after each seen_add(), with the number of keys so far. Ends the
 * program once more than twice as many new keys are mistaken for seen as was promised. */
void seen_watch(struct seen *s, uint64_t taken);

/* Ends adding for good: all is on disk, where the next run finds it, when this returns. */
void seen_finish(struct seen *s);

void seen_close(void);

#endif
