/* SPDX-License-Identifier: MIT
 *
 * The kernel of the ribbon layout for one instruction set. ribbon.c includes this file once for
 * each set. It defines
 *
 *     ISA       the name of the set; OF_ISA(name) appends it to the name of a function
 *     TARGET    the attributes that let a function use these instructions
 *     OF_ISA(fits)  tests a key's equations on `count` columns (0 to 32) of its first group, which
 *               are followed by those of the second group. It must not read outside these
 *               8 * count bytes: other cache lines are not prefetched
 *
 * and, if batches prepare several lookups in one vector before they read columns,
 *
 *     LANES      the number of 64-bit numbers in a register
 *     OF_ISA(lanes)  a vector of LANES numbers
 *     OF_ISA(times)  multiplies the low halves of two vectors
 *
 * and SET_SLOT, if the set has its own OF_ISA(set_slot).
 */
TARGET INLINE bool OF_ISA(answer)(const struct ribbon_query *q)
{
    return OF_ISA(fits)(q->columns, q->count, q->row, q->right);
}

/* A lookup in a page whose shape is not known yet. */
TARGET static __attribute__((noinline)) bool
OF_ISA(contains_unknown)(const struct kernel_view *view, uint64_t digest)
{
    const struct ribbon_query q = query_of(view, digest);
    return OF_ISA(answer)(&q);
}

/* Kept short and without a stack frame, so that the cache misses of more calls overlap. A lookup
 * takes about 95 instructions with its call, in a blocked filter 47, so the processor's reorder
 * window holds half as many lookups (bench/results/ribbon.md). */
TARGET static bool OF_ISA(contains)(const struct kernel_view *view, uint64_t digest)
{
    const uint64_t page = probe_reduce(digest, view->units) / RIBBON_LINES;
    if (view->shapes == NULL)
        return OF_ISA(contains_unknown)(view, digest);
    const uint32_t shape = atomic_load_explicit(&view->shapes[page], memory_order_relaxed);
    if (shape == 0)
        return OF_ISA(contains_unknown)(view, digest);
    const struct ribbon_query q = ask_page(view, page, ribbon_seedless(digest), shape);
    return OF_ISA(answer)(&q);
}

TARGET INLINE size_t OF_ISA(one_by_one)(const struct kernel_view *view, const uint64_t *digests,
                                        size_t n, bool *hits)
{
    struct ribbon_query ring[RIBBON_AHEAD];
    const size_t first = n < RIBBON_AHEAD ? n : RIBBON_AHEAD;
    size_t found = 0;
    for (size_t i = 0; i < first; i++) {
        ring[i] = query_of(view, digests[i]);
        request_columns(ring[i].columns, ring[i].end);
    }
    for (size_t i = 0; i < n; i++) {
        struct ribbon_query *q = &ring[i % RIBBON_AHEAD];
        const bool hit = OF_ISA(answer)(q);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
        if (i + RIBBON_AHEAD < n) {
            *q = query_of(view, digests[i + RIBBON_AHEAD]);
            request_columns(q->columns, q->end);
        }
    }
    return found;
}

/* ---- batches
 *
 * No vector instruction multiplies 64-bit lanes to 128 bits, so reduced() computes the high half
 * from four products of 32-bit halves (VPMULUDQ). */

#ifdef LANES

#define lanes OF_ISA(lanes)

TARGET INLINE lanes OF_ISA(low_half)(lanes a)
{
    return a & UINT32_MAX;
}

/* The high halves of the 128-bit products. */
TARGET INLINE lanes OF_ISA(reduced)(lanes a, uint64_t by)
{
    const lanes b = by - (lanes){ 0 }, b1 = b >> 32, a1 = a >> 32;
    const lanes cross = OF_ISA(times)(a1, b),
                middle =
                    OF_ISA(times)(a, b1) + (OF_ISA(times)(a, b) >> 32) + OF_ISA(low_half)(cross);
    return OF_ISA(times)(a1, b1) + (cross >> 32) + (middle >> 32);
}

TARGET INLINE lanes OF_ISA(mixed)(lanes a, uint64_t by)
{
    return OF_ISA(reduced)(a, by) ^ a * by;
}

TARGET INLINE lanes OF_ISA(load)(const uint64_t *from)
{
    lanes a;
    memcpy(&a, from, sizeof a);
    return a;
}

TARGET INLINE void OF_ISA(store)(uint64_t *to, lanes a)
{
    memcpy(to, &a, sizeof a);
}

/* The first stage of LANES queries: the page's number, and the hash without the page's seed. */
TARGET INLINE void OF_ISA(ask_for_page)(const struct kernel_view *view, const uint64_t *digests,
                                        struct queries *q, unsigned at)
{
    const lanes digest = OF_ISA(load)(digests);
    OF_ISA(store)(&q->columns[at], OF_ISA(reduced)(digest, view->units) / RIBBON_LINES);
    OF_ISA(store)(&q->row[at], OF_ISA(mixed)(digest ^ RIBBON_MULTIPLIER, PROBE_MULTIPLIER));
}

/* The second stage of LANES queries, after the shapes of their pages were loaded: ask_page(). */
TARGET INLINE void OF_ISA(ask_in_page)(const struct kernel_view *view, struct queries *q,
                                       unsigned at)
{
    const lanes page = OF_ISA(load)(&q->columns[at]), shape = OF_ISA(load)(&q->end[at]),
                seedless = OF_ISA(load)(&q->row[at]);
    const lanes groups = shape & 511, seed = shape >> 9 & 127, fewest = shape >> 16 & 63,
                few = shape >> 22;
    const lanes hash = (seedless ^ seed * PROBE_MULTIPLIER) * RIBBON_MULTIPLIER;
    const lanes group = OF_ISA(times)(hash >> 32, groups - 1) >> 32;
    const lanes beyond = group - few, is_few = -(beyond >> 63);
    const lanes count = fewest + 1 + is_few;
    const lanes columns = (uintptr_t)view->body + RIBBON_HEAD + page * CHECKSUM_PAGE +
                          4 * (OF_ISA(times)(group, fewest) + (beyond & ~is_few));
    OF_ISA(store)(&q->columns[at], columns);
    OF_ISA(store)(&q->end[at], columns + 8 * count);
    OF_ISA(store)(&q->row[at], OF_ISA(mixed)(hash ^ RIBBON_DIFFERENCE, PROBE_MULTIPLIER));
    OF_ISA(store)(&q->right[at], hash);
    OF_ISA(store)(&q->count[at], count);
}

/* Prepares `n` queries. Each stage has its own loop, so that the processor overlaps iterations.
 * Shapes are loaded by scalar instructions, which are faster than a gather. */
TARGET static __attribute__((noinline)) void OF_ISA(ask_some)(const struct kernel_view *view,
                                                              const uint64_t *digests, unsigned n,
                                                              struct queries *q)
{
    for (unsigned i = 0; i < n; i += LANES)
        OF_ISA(ask_for_page)(view, digests + i, q, i);
    for (unsigned i = 0; i < n; i++)
        q->end[i] = page_shape(view, q->columns[i]);
    for (unsigned i = 0; i < n; i += LANES)
        OF_ISA(ask_in_page)(view, q, i);
}

/* Answers `n` queries, and between them prefetches the lines of up to `n` next queries. Prefetches
 * in a burst wait for each other: spread out, a lookup in a filter of 10^7 keys takes 3.5 ns
 * instead of 3.9. */
TARGET static __attribute__((noinline)) size_t OF_ISA(answer_some)(const struct queries *q,
                                                                   unsigned n, bool *hits,
                                                                   const struct queries *next,
                                                                   unsigned n_next)
{
    size_t found = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i < n_next)
            request_of(next, i);
        const struct ribbon_query one = query(q, i);
        const bool hit = OF_ISA(answer)(&one);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

/* Looks up whole vectors of LANES digests. The remaining digests are looked up one by one, as are
 * all digests if the view has no shapes. */
TARGET static size_t OF_ISA(contains_many)(const struct kernel_view *given, const uint64_t *digests,
                                           size_t n, bool *hits)
{
    const struct kernel_view copy = *given, *view = &copy; /* no store to `hits` can change it */
    const size_t whole = view->shapes != NULL ? n / LANES * LANES : 0;
    struct queries queries[2], *asked = &queries[0], *next = &queries[1];
    size_t found = 0;
    OF_ISA(ask_some)(view, digests, lesser(whole), asked);
    for (unsigned i = 0; i < lesser(whole); i++)
        request_of(asked, i);
    for (size_t i = 0; i < whole; i += UNDER_WAY) {
        const unsigned n_asked = lesser(whole - i), n_next = lesser(whole - i - n_asked);
        OF_ISA(ask_some)(view, digests + i + n_asked, n_next, next);
        found += OF_ISA(answer_some)(asked, n_asked, hits != NULL ? hits + i : NULL, next, n_next);
        struct queries *const answered = asked;
        asked = next;
        next = answered;
    }
    return found +
           OF_ISA(one_by_one)(view, digests + whole, n - whole, hits != NULL ? hits + whole : NULL);
}

#undef lanes

#else

TARGET static size_t OF_ISA(contains_many)(const struct kernel_view *given, const uint64_t *digests,
                                           size_t n, bool *hits)
{
    const struct kernel_view view = *given; /* no store to `hits` can change it */
    return OF_ISA(one_by_one)(&view, digests, n, hits);
}

#endif

#ifndef BLOOMFILE_NO_BUILD

/* ---- solving a page */

/* Clears a slot in rows `from` to `to` - 1 by adding the row that leads the slot. Whole vectors are
 * changed: the other rows in them are not read again. */
TARGET INLINE void OF_ISA(clear_slot)(struct ribbon_solve_memory *r, unsigned slot, unsigned from,
                                      unsigned to, uint64_t row, uint64_t right)
{
    ribbon_rows *const rows = (void *)r->rows, *const rights = (void *)r->rights;
    for (unsigned g = from / VECTOR; g < (to + VECTOR - 1) / VECTOR; g++) {
        const ribbon_rows has = -(rows[g] >> slot & 1);
        rows[g] ^= has & row;
        rights[g] ^= has & right;
    }
}

/* Eliminates the `n` rows of a group. Each row leads its first slot, which is cleared in all later
 * rows. Rows without a slot in this group stay in r->rows, reduced to their part in the next group.
 * Returns their number, or RIBBON_ROWS if the rows are dependent. */
TARGET INLINE unsigned OF_ISA(eliminate)(struct ribbon_solve_memory *r, unsigned group, unsigned n)
{
    struct ribbon_leads *const leads = &r->leads[group];
    uint64_t later[RIBBON_SLOTS], later_rights[RIBBON_SLOTS];
    unsigned left = 0;
    uint32_t slots = 0;
    uint64_t row = r->rows[0], right = r->rights[0];
    for (unsigned i = 0; i < n; i++) {
        /* Updates the next row in scalar registers as well. Loading it after the vector store would
         * add the latency of store forwarding to each iteration. */
        uint64_t next = r->rows[i + 1], next_right = r->rights[i + 1];
        if ((uint32_t)row == 0) {
            if (row == 0 || left == RIBBON_SLOTS)
                return RIBBON_ROWS;
            later[left] = row >> RIBBON_SLOTS;
            later_rights[left++] = right;
        } else {
            const unsigned slot = (unsigned)__builtin_ctzll(row);
            OF_ISA(clear_slot)(r, slot, i + 2, n, row, right);
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

/* Returns whether the rows are independent. If so, each row leads a slot. */
TARGET INLINE bool OF_ISA(triangulate)(struct ribbon_solve_memory *r, unsigned groups)
{
    unsigned rows = 0;
    size_t next = 0;
    for (unsigned b = 0; b < groups; b++) {
        for (const size_t end = r->counts[b]; next < end; next++) {
            r->rows[rows] = ribbon_row(r->hashes[next]);
            r->rights[rows++] = r->hashes[next];
        }
        rows = OF_ISA(eliminate)(r, b, rows);
        if (rows == RIBBON_ROWS)
            return false;
    }
    return rows == 0;
}

#ifndef SET_SLOT
/* Sets a slot in eight columns, so that the equations of the row that leads it hold. All other
 * slots of the row are already set. */
TARGET INLINE void OF_ISA(set_slot)(ribbon_rows *pairs, unsigned slot, uint64_t row,
                                    uint64_t rights)
{
    for (unsigned j = 0; j < VECTOR; j++) {
        const uint64_t odd = (unsigned)__builtin_parityll((*pairs)[j] & row) ^ rights >> j;
        (*pairs)[j] |= (odd & 1) << slot;
    }
}
#endif

/* Back substitution: computes eight columns of all groups, from the last slot to the first. Slots
 * that no row leads remain 0. The high halves of `pairs` are the columns of the next group. */
TARGET INLINE void OF_ISA(substitute)(struct ribbon_solve_memory *r, unsigned groups,
                                      unsigned first)
{
    ribbon_rows pairs = { 0 };
    for (unsigned b = groups; b-- > 0;) {
        const struct ribbon_leads *const leads = &r->leads[b];
        pairs <<= RIBBON_SLOTS;
        for (unsigned slot = RIBBON_SLOTS; slot-- > 0;)
            OF_ISA(set_slot)(&pairs, slot, leads->rows[slot], leads->rights[slot] >> first);
        for (unsigned j = 0; j < VECTOR; j++)
            r->columns[b][first + j] = (uint32_t)pairs[j];
    }
}

/* Looks up all keys of a page, as a reader does. Returns whether all are found. */
TARGET INLINE bool OF_ISA(has_all)(const uint8_t *page, unsigned lines, const uint64_t *digests,
                                   size_t n)
{
    _Atomic uint32_t shape = 0;
    const struct kernel_view view = { .body = page, .units = lines, .shapes = &shape };
    return OF_ISA(contains_many)(&view, digests, n, NULL) == n;
}

TARGET static bool OF_ISA(solve)(uint8_t *page, unsigned lines, const uint64_t *digests,
                                 uint64_t keys, struct ribbon_solve_memory *r)
{
    const unsigned words = ribbon_words(lines);
    unsigned groups = ribbon_first_groups(keys, words);
    const size_t n = groups <= words / 2 ? (size_t)keys : 0;
    for (size_t i = 0; i < n; i++)
        r->seedless[i] = ribbon_seedless(digests[i]);
    for (; groups <= words / 2; groups++)
        for (unsigned seed = 0; seed < RIBBON_SEEDS; seed++) {
            count_keys_of_groups(r, n, groups, seed);
            if (!may_fit(r, groups))
                continue;
            sort_hashes(r, n, groups, seed);
            if (!OF_ISA(triangulate)(r, groups))
                continue;
            const uint32_t shape = ribbon_shape(groups, seed, words);
            for (unsigned j = 0; j < ribbon_columns(shape, groups - 1).count; j += VECTOR)
                OF_ISA(substitute)(r, groups, j);
            write_page(r, page, shape, n);
            return OF_ISA(has_all)(page, lines, digests, n);
        }
    put64(page, ribbon_head(0, 0, keys));
    return true;
}

#endif

const struct kernel OF_ISA(kernel_ribbon) = {
    .name = NAME(ISA),
    .density = KERNEL_LOCAL,
    .contains = OF_ISA(contains),
    .contains_many = OF_ISA(contains_many),
    .contains_ready = OF_ISA(contains_many),
    .expect = expect_columns,
    .tally = kernel_tally_ribbon,
    .count = kernel_tally_ribbon,
#ifndef BLOOMFILE_NO_BUILD
    .solve = OF_ISA(solve),
    .fold = kernel_fold_blocked,
#endif
};

#undef ISA
#undef TARGET
#undef LANES
#undef SET_SLOT
