/* SPDX-License-Identifier: MIT
 *
 * What the programs that measure storage engines share: options, and files that are not in memory.
 */
#ifndef BLOOMFILE_BENCH_ENGINE_H
#define BLOOMFILE_BENCH_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#define ENGINE_MAX_ROUNDS 101

/* What an option sets. */
struct engine_setting {
    const char *option;
    uint64_t *value;
    uint64_t usual, quick; /* unless it is given: with --quick, or without */
    uint64_t least, most;  /* most 0: the option takes no number, and sets 1 */
};

/* Reads these options, --quick and --help. Returns DIRECTORY, or NULL. */
const char *engine_options(int argc, char **argv, const char *help,
                           const struct engine_setting *settings, size_t count);

/* Takes the files in the current folder, or in one in it, out of memory, as far as nobody has them
 * mapped. Returns the share of their pages that stayed. */
double engine_evict(const char *folder);

/* Says on standard error if any pages stayed. */
void engine_report_stayed(void);

#endif
