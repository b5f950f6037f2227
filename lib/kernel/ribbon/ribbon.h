/* SPDX-License-Identifier: MIT
 * The kernels of the layout ribbon, one per instruction set; they differ in lookups and in the
 * elimination of a page's rows. */
#ifndef BLOOMFILE_KERNEL_RIBBON_RIBBON_H
#define BLOOMFILE_KERNEL_RIBBON_RIBBON_H

#include "format/ribbon.h"
#include "kernel/kernel.h"

extern const struct kernel kernel_ribbon_scalar;
extern const struct kernel kernel_ribbon_avx2;   /* x86-64 */
extern const struct kernel kernel_ribbon_avx512; /* x86-64 */
extern const struct kernel kernel_ribbon_neon;   /* AArch64 */

/* ---- memory in which a page is solved */

#define RIBBON_ROWS 96u /* left over from one group at most, and beginning in the next at most */
#define RIBBON_KEYS (RIBBON_GROUPS_MOST * RIBBON_SLOTS) /* more are never solved */

/* The rows of a group that lead, by slot; 0 where none does. */
struct ribbon_leads {
    uint64_t rows[RIBBON_SLOTS]; /* low half: this group; high half: the next */
    uint32_t rights[RIBBON_SLOTS];
};

struct ribbon_solve_memory {
    _Alignas(64) uint64_t rows[RIBBON_ROWS + 1]; /* of a group, while they are eliminated */
    _Alignas(64) uint64_t rights[RIBBON_ROWS + 1];
    uint64_t seedless[RIBBON_KEYS + 64], hashes[RIBBON_KEYS]; /* read in whole vectors */
    uint32_t counts[RIBBON_GROUPS_MOST];
    struct ribbon_leads leads[RIBBON_GROUPS_MOST];
    uint32_t columns[RIBBON_GROUPS_MOST][RIBBON_COLUMNS_MOST];
};

#endif
