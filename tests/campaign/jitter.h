/* SPDX-License-Identifier: MIT
 * The library is compiled so that it calls in at every basic block. Now and then, by chance, the
 * thread then gives way, sleeps or moves to another processor, so that others run in between. */
#ifndef BLOOMFILE_CAMPAIGN_JITTER_H
#define BLOOMFILE_CAMPAIGN_JITTER_H

#include <stdint.h>

/* About once in so many blocks, in all threads to come of this process; 0: never. */
void jitter_begin(uint64_t seed, uint32_t blocks);

void __sanitizer_cov_trace_pc(void);

#endif
