/* SPDX-License-Identifier: MIT
 *
 * The words of a page from its keys (format-spec.md, section 22.5), with one set of instructions.
 *
 * Rows are eliminated block by block: those that begin in a block, and those left over from the one
 * before, meet no others. What is left of them when the 32 slots of the block are done belongs to
 * the next block.
 */
#ifndef BLOOMFILE_KERNEL_RIBBON_SOLVE_H
#define BLOOMFILE_KERNEL_RIBBON_SOLVE_H

#include <string.h>

#include "kernel/ribbon/lookup.h"
#include "kernel/ribbon/solve_memory.h"

#define GROUP   8  /* rows, or columns, in a vector */
#define COUNTED 64 /* keys at once */

typedef uint64_t ribbon_rows __attribute__((vector_size(8 * GROUP), may_alias));

/* Counts the keys of each block. The blocks come first: vectors multiply. */
KERNEL_INLINE void count_keys(struct ribbon_solve_memory *r, size_t n, unsigned blocks,
                              unsigned seed)
{
    uint32_t of[COUNTED];
    memset(r->counts, 0, blocks * sizeof *r->counts);
    for (size_t start = 0; start < n; start += COUNTED) {
        const unsigned some = n - start < COUNTED ? (unsigned)(n - start) : COUNTED;
        for (unsigned i = 0; i < COUNTED; i++) /* beyond n, too: so it needs no rest */
            of[i] = ribbon_block(ribbon_hash(r->seedless[start + i], seed), blocks);
        for (unsigned i = 0; i < some; i++)
            r->counts[of[i]]++;
    }
}

/* Whether that many rows can be independent: of those that begin in a block, and those left over,
 * at most 32 go on to the next one. */
KERNEL_INLINE bool may_fit(const struct ribbon_solve_memory *r, unsigned blocks)
{
    unsigned left = 0;
    for (unsigned b = 0; b + 1 < blocks; b++) {
        left += r->counts[b];
        left = left > RIBBON_SLOTS ? left - RIBBON_SLOTS : 0;
        if (left > RIBBON_SLOTS)
            return false;
    }
    return true;
}

/* Sorts the hashes by block: counts[b] becomes the end of those of block b. */
KERNEL_INLINE void sort_hashes(struct ribbon_solve_memory *r, size_t n, unsigned blocks,
                               unsigned seed)
{
    uint32_t start = 0;
    for (unsigned b = 0; b < blocks; b++) {
        const uint32_t count = r->counts[b];
        r->counts[b] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t hash = ribbon_hash(r->seedless[i], seed);
        r->hashes[r->counts[ribbon_block(hash, blocks)]++] = hash;
    }
}

/* Clears a slot in all rows from `from` on by the row that leads it. Rows before that in the same
 * group change too, and those beyond `to`: they are not read again. */
KERNEL_INLINE void clear_slot(struct ribbon_solve_memory *r, unsigned slot, unsigned from,
                              unsigned to, uint64_t row, uint64_t right)
{
    ribbon_rows *const rows = (void *)r->rows, *const rights = (void *)r->rights;
    for (unsigned g = from / GROUP; g < (to + GROUP - 1) / GROUP; g++) {
        const ribbon_rows has = -(rows[g] >> slot & 1);
        rows[g] ^= has & row;
        rights[g] ^= has & right;
    }
}

/* Makes each row of a block the leading one of its first slot, and clears that in the rows behind
 * it. `n` rows are there; returns how many have no slot in this block, their part in the next block
 * alone, or RIBBON_ROWS if they are dependent. */
KERNEL_INLINE unsigned eliminate(struct ribbon_solve_memory *r, unsigned block, unsigned n)
{
    struct ribbon_leads *const leads = &r->leads[block];
    uint64_t later[RIBBON_SLOTS], later_rights[RIBBON_SLOTS];
    unsigned left = 0;
    uint32_t slots = 0;
    uint64_t row = r->rows[0], right = r->rights[0];
    for (unsigned i = 0; i < n; i++) {
        /* computed apart, since it would take long to arrive from the vectors */
        uint64_t next = r->rows[i + 1], next_right = r->rights[i + 1];
        if ((uint32_t)row == 0) {
            if (row == 0 || left == RIBBON_SLOTS)
                return RIBBON_ROWS;
            later[left] = row >> RIBBON_SLOTS;
            later_rights[left++] = right;
        } else {
            const unsigned slot = (unsigned)__builtin_ctzll(row);
            clear_slot(r, slot, i + 2, n, row, right);
            leads->rows[slot] = row;
            leads->rights[slot] = (uint32_t)right;
            slots |= 1u << slot;
            const uint64_t has = -(next >> slot & 1);
            next ^= has & row;
            next_right ^= has & right;
        }
        row = next;
        right = next_right;
    }
    for (uint32_t rest = ~slots; rest != 0; rest &= rest - 1) {
        leads->rows[__builtin_ctz(rest)] = 0;
        leads->rights[__builtin_ctz(rest)] = 0;
    }
    memcpy(r->rows, later, left * sizeof *later);
    memcpy(r->rights, later_rights, left * sizeof *later);
    return left;
}

/* Whether the rows are independent; then each has its slot. */
KERNEL_INLINE bool triangulate(struct ribbon_solve_memory *r, unsigned blocks)
{
    unsigned rows = 0;
    size_t next = 0;
    for (unsigned b = 0; b < blocks; b++) {
        for (const size_t end = r->counts[b]; next < end; next++) {
            r->rows[rows] = ribbon_row(r->hashes[next]);
            r->rights[rows++] = r->hashes[next];
        }
        rows = eliminate(r, b, rows);
        if (rows == RIBBON_ROWS)
            return false;
    }
    return rows == 0;
}

#ifndef RIBBON_SLOT
/* Sets a slot in eight columns, whose other slots in the row are known. */
KERNEL_INLINE void set_slot(ribbon_rows *pairs, unsigned slot, uint64_t row, uint64_t rights)
{
    for (unsigned j = 0; j < GROUP; j++) {
        const uint64_t odd = (unsigned)__builtin_parityll((*pairs)[j] & row) ^ rights >> j;
        (*pairs)[j] |= (odd & 1) << slot;
    }
}
#endif

/* Eight columns of all blocks, from the last slot to the first; free slots stay 0. */
KERNEL_INLINE void substitute(struct ribbon_solve_memory *r, unsigned blocks, unsigned first)
{
    ribbon_rows pairs = { 0 };
    for (unsigned b = blocks; b-- > 0;) {
        const struct ribbon_leads *const leads = &r->leads[b];
        pairs <<= RIBBON_SLOTS;
        for (unsigned slot = RIBBON_SLOTS; slot-- > 0;)
            set_slot(&pairs, slot, leads->rows[slot], leads->rights[slot] >> first);
        for (unsigned j = 0; j < GROUP; j++)
            r->columns[b][first + j] = (uint32_t)pairs[j];
    }
}

KERNEL_INLINE void write_page(const struct ribbon_solve_memory *r, uint8_t *page, uint32_t shape,
                              uint64_t keys)
{
    const unsigned blocks = ribbon_blocks(shape);
    put64(page, ribbon_head(blocks, ribbon_seed(shape), keys));
    page += RIBBON_HEAD;
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned j = 0; j < ribbon_columns(shape, b).count; j++, page += 4)
            put32(page, r->columns[b][j]);
}

/* Whether the page, as a reader sees it, answers to all its keys. */
KERNEL_INLINE bool has_all(const uint8_t *page, unsigned lines, const uint64_t *digests, size_t n)
{
    _Atomic uint32_t shape = 0;
    const struct kernel_view view = { .body = page, .units = lines, .shapes = &shape };
    return contains_many(&view, digests, n, NULL) == n;
}

KERNEL_TARGET static bool solve(uint8_t *page, unsigned lines, const uint64_t *digests,
                                uint64_t keys, struct ribbon_solve_memory *r)
{
    const unsigned words = ribbon_words(lines);
    unsigned blocks = ribbon_first_blocks(keys, words);
    const size_t n = blocks <= words / 2 ? (size_t)keys : 0;
    for (size_t i = 0; i < n; i++)
        r->seedless[i] = ribbon_seedless(digests[i]);
    for (; blocks <= words / 2; blocks++)
        for (unsigned seed = 0; seed < RIBBON_SEEDS; seed++) {
            count_keys(r, n, blocks, seed);
            if (!may_fit(r, blocks))
                continue;
            sort_hashes(r, n, blocks, seed);
            if (!triangulate(r, blocks))
                continue;
            const uint32_t shape = ribbon_shape(blocks, seed, words);
            for (unsigned j = 0; j < ribbon_columns(shape, blocks - 1).count; j += GROUP)
                substitute(r, blocks, j);
            write_page(r, page, shape, n);
            return has_all(page, lines, digests, n);
        }
    put64(page, ribbon_head(0, 0, keys));
    return true;
}

#undef GROUP
#undef COUNTED

#endif
