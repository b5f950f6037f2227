/* SPDX-License-Identifier: MIT
 *
 * The length of a generation of a filter that forgets: a number of keys, or a time.
 */
#ifndef TOOLS_FILTERS_GENERATION_PERIOD_H
#define TOOLS_FILTERS_GENERATION_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#define PERIOD_HELP                                                                                \
    "start a new generation after a number of keys (such as 1M) or a time (30s, 10min, 6h, 7d)"

/* Takes the value of --every: sets *keys, or *seconds, and the other one to 0. Ends the program by
 * cli_usage() for what is neither. */
void period_take(const char *text, uint64_t *keys, uint64_t *seconds);

/* "90s", "10min", "6h" or "7d" in buffer, which it returns. */
char *period_time(char *buffer, size_t size, uint64_t seconds);

#endif
