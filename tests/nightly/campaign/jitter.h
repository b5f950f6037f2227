/* SPDX-License-Identifier: MIT
 * The library is compiled so that it calls in at every basic block. Now and then, by chance, the
 * thread then gives way, sleeps or moves to another processor, so that others run in between. */
#ifndef BLOOMFILE_CAMPAIGN_JITTER_H
#define BLOOMFILE_CAMPAIGN_JITTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* About once in so many blocks, in all threads to come of this process, until *over; 0: never. */
void jitter_begin(uint64_t seed, uint32_t blocks, const atomic_bool *over);

void __sanitizer_cov_trace_pc(void);

#endif
