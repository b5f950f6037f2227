/* SPDX-License-Identifier: MIT
 * The kernels of the ribbon layout, one per instruction set, and the memory for solving a page. */
#ifndef BLOOMFILE_KERNEL_RIBBON_RIBBON_H
#define BLOOMFILE_KERNEL_RIBBON_RIBBON_H

#include "format/ribbon.h"
#include "kernel/kernel.h"

extern const struct kernel kernel_ribbon_scalar;
extern const struct kernel kernel_ribbon_avx2;   /* x86-64 */
extern const struct kernel kernel_ribbon_avx512; /* x86-64 */
extern const struct kernel kernel_ribbon_neon;   /* AArch64 */

/* ---- memory in which a page is solved */

/* The most rows in a group during elimination: 32 + 64. At most 32 are carried over from the group
 * before, because each needs a slot of this group. At most 64 begin here, or may_fit() rejects the
 * seed: 32 can lead a slot of this group, and 32 can be carried over. */
#define RIBBON_ROWS 96u

/* A page has fewer slots than this, so a page of more keys has no solution. */
#define RIBBON_KEYS (RIBBON_GROUPS_MOST * RIBBON_SLOTS)

/* For each slot of a group, the row that leads it, or 0. */
struct ribbon_leads {
    uint64_t rows[RIBBON_SLOTS]; /* low half: this group; high half: the next */
    uint32_t rights[RIBBON_SLOTS];
};

struct ribbon_solve_memory {
    _Alignas(64) uint64_t rows[RIBBON_ROWS + 1]; /* rows of the group that is being eliminated */
    _Alignas(64) uint64_t rights[RIBBON_ROWS + 1];
    uint64_t seedless[RIBBON_KEYS + 64], hashes[RIBBON_KEYS]; /* 64 spare: read in runs of 64 */
    uint32_t counts[RIBBON_GROUPS_MOST];
    struct ribbon_leads leads[RIBBON_GROUPS_MOST];
    uint32_t columns[RIBBON_GROUPS_MOST][RIBBON_COLUMNS_MOST];
};

#endif
