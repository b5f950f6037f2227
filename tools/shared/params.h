/* SPDX-License-Identifier: MIT
 *
 * What the command line says about the size and kind of a filter to make, and about threads. Each
 * ends the program by cli_usage() for a value that will not do.
 */
#ifndef BLOOMFILE_TOOLS_PARAMS_H
#define BLOOMFILE_TOOLS_PARAMS_H

#include <stdint.h>

/* A count from `min` to `max`; `option` names it in the message, "-n/--capacity". */
uint64_t params_count(const char *option, const char *text, uint64_t min, uint64_t max);

/* The value of -p/--fpr. */
double params_rate(const char *text);

/* The value of -s/--seed: a number, or 'random'. */
uint64_t params_seed(const char *text);

/* The value of -j/--threads. */
uint32_t params_threads(const char *text);

/* As many as the processors this program may use, up to 16. */
uint32_t params_default_threads(void);

#endif
