/* SPDX-License-Identifier: MIT
 *
 * Functions that the programs that measure storage engines share: files that are not in memory.
 */
#ifndef BLOOMFILE_BENCH_ENGINE_H
#define BLOOMFILE_BENCH_ENGINE_H

#define ENGINE_MAX_ROUNDS 101

/* Takes the files in the current folder, or in one in it, out of memory, as far as nobody has them
 * mapped. Returns the share of their pages that stayed. */
double engine_evict(const char *folder);

/* Says on standard error if any pages stayed. */
void engine_report_stayed(void);

#endif
