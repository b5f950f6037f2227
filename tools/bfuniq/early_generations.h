/* SPDX-License-Identifier: MIT
 *
 * Generations that ended early: they were full before their time was over, so lines are forgotten
 * too soon.
 */
#ifndef TOOLS_BFUNIQ_EARLY_GENERATIONS_H
#define TOOLS_BFUNIQ_EARLY_GENERATIONS_H

#include <bloomfile.h>
#include <stdbool.h>

struct early_generations {
    bool watching;
    uint64_t newest; /* generation that was looked at */
};

/* Watches a filter of which generations have a time; no other. */
void early_generations_begin(struct early_generations *e, const bloomfile *f);

/* Warns once, after keys have been added. */
void early_generations_watch(struct early_generations *e, const bloomfile *f, const char *name);

#endif
