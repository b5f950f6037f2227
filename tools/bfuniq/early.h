/* SPDX-License-Identifier: MIT
 *
 * Generations that were full before their time was over, so that lines are forgotten too soon.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_EARLY_H
#define BLOOMFILE_TOOLS_UNIQ_EARLY_H

#include <bloomfile.h>
#include <stdbool.h>

struct early {
    bool watching;
    uint64_t newest; /* generation that was looked at */
};

/* Watches a filter of which generations have a time; no other. */
void early_begin(struct early *e, const bloomfile *f);

/* Warns once, after keys have been added. */
void early_watch(struct early *e, const bloomfile *f, const char *name);

#endif
