/* SPDX-License-Identifier: MIT
 *
 * The words of a page from its keys (format-spec.md, section 22.5), with one set of instructions.
 *
 * Rows are eliminated block by block: those that begin in a block, and those that the block before
 * left over, meet nobody else's. So a block's rows stay in a few registers, column after column,
 * and what is left of them when its 32 slots are done belongs to the next block.
 */
#ifndef BLOOMFILE_KERNEL_RIBBON_SOLVE_H
#define BLOOMFILE_KERNEL_RIBBON_SOLVE_H

#include <string.h>

#include "kernel/ribbon_lookup.h"
#include "kernel/ribbon_room.h"

#define GROUP   8  /* rows in a vector */
#define COUNTED 64 /* keys at once */

typedef uint64_t ribbon_rows __attribute__((vector_size(8 * GROUP), may_alias));

/* Counts the keys of each block. The blocks come first: vectors multiply. */
KERNEL_INLINE void count_keys(struct ribbon_room *r, size_t n, unsigned blocks, unsigned seed)
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
KERNEL_INLINE bool may_fit(const struct ribbon_room *r, unsigned blocks)
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
KERNEL_INLINE void sort_hashes(struct ribbon_room *r, size_t n, unsigned blocks, unsigned seed)
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
 * group change too, and beyond `to`; nobody looks at them any more, or yet. */
KERNEL_INLINE void clear_slot(struct ribbon_room *r, unsigned slot, unsigned from, unsigned to,
                              uint64_t row, uint64_t right)
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
KERNEL_INLINE unsigned eliminate(struct ribbon_room *r, unsigned block, unsigned n)
{
    struct ribbon_leads *const leads = &r->leads[block];
    uint64_t later[RIBBON_SLOTS], later_rights[RIBBON_SLOTS];
    unsigned left = 0;
    uint32_t slots = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t row = r->rows[i], right = r->rights[i];
        if ((uint32_t)row == 0) {
            if (row == 0 || left == RIBBON_SLOTS)
                return RIBBON_ROWS;
            later[left] = row >> RIBBON_SLOTS;
            later_rights[left++] = right;
            continue;
        }
        const unsigned slot = (unsigned)__builtin_ctzll(row);
        clear_slot(r, slot, i + 1, n, row, right);
        leads->rows[slot] = row;
        leads->rights[slot] = (uint32_t)right;
        slots |= 1u << slot;
    }
    leads->slots = slots;
    memcpy(r->rows, later, left * sizeof *later);
    memcpy(r->rights, later_rights, left * sizeof *later);
    return left;
}

/* Whether the rows are independent; then each has its slot. */
KERNEL_INLINE bool triangulate(struct ribbon_room *r, size_t n, unsigned blocks)
{
    unsigned rows = 0;
    size_t next = 0;
    for (unsigned b = 0; b < blocks; b++) {
        for (const size_t end = b + 1 < blocks ? r->counts[b] : n; next < end; next++) {
            r->rows[rows] = ribbon_row(r->hashes[next]);
            r->rights[rows++] = r->hashes[next];
        }
        rows = eliminate(r, b, rows);
        if (rows == RIBBON_ROWS)
            return false;
    }
    return rows == 0;
}

/* The columns of all blocks, from the last slot to the first; free slots stay 0. */
KERNEL_INLINE void substitute(struct ribbon_room *r, unsigned blocks, size_t columns)
{
    memset(r->columns[blocks], 0, sizeof r->columns[blocks]);
    for (unsigned b = blocks; b-- > 0;) {
        const struct ribbon_leads *const leads = &r->leads[b];
        uint64_t pairs[RIBBON_COLUMNS_MOST];
        for (unsigned j = 0; j < columns; j++)
            pairs[j] = (uint64_t)r->columns[b + 1][j] << 32;
        for (unsigned slot = RIBBON_SLOTS; slot-- > 0;) {
            if ((leads->slots >> slot & 1) == 0)
                continue;
            const uint64_t row = leads->rows[slot];
            const uint32_t right = leads->rights[slot];
            for (unsigned j = 0; j < columns; j++)
                pairs[j] |=
                    (uint64_t)(((unsigned)__builtin_parityll(pairs[j] & row) ^ right >> j) & 1)
                    << slot;
        }
        for (unsigned j = 0; j < columns; j++)
            r->columns[b][j] = (uint32_t)pairs[j];
    }
}

KERNEL_INLINE void write_page(const struct ribbon_room *r, uint8_t *page, uint32_t shape,
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
                                uint64_t keys, struct ribbon_room *r)
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
            if (!triangulate(r, n, blocks))
                continue;
            const uint32_t shape = ribbon_shape(blocks, seed, words);
            substitute(r, blocks, ribbon_columns(shape, blocks - 1).count);
            write_page(r, page, shape, n);
            return has_all(page, lines, digests, n);
        }
    put64(page, ribbon_head(0, 0, keys));
    return true;
}

#undef GROUP
#undef COUNTED

#endif
