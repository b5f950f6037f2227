/* SPDX-License-Identifier: MIT
 * The library is compiled with a call at every basic block. At random calls the thread yields,
 * sleeps or moves to another processor, so that other threads run in between. */
#ifndef BLOOMFILE_CAMPAIGN_JITTER_H
#define BLOOMFILE_CAMPAIGN_JITTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Acts about once per `blocks` basic blocks, in all later threads of this process, until *over.
 * 0: never. */
void jitter_begin(uint64_t seed, uint32_t blocks, const atomic_bool *over);

void __sanitizer_cov_trace_pc(void);

#endif
