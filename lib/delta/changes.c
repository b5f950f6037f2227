/* SPDX-License-Identifier: MIT
 * Finding and making the changes between two bodies, for each instruction set. */
#include "delta/changes.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Inlined into functions of each instruction set, so that the compiler uses its instructions. */
#define CHANGES_INLINE static inline __attribute__((always_inline))
#define CHANGES_WORDS  (CELLS_UNIT_SIZE / CELLS_WORD)

/* Returns the position of the n-th set bit of a word: cells_select(), or a faster instruction. */
typedef unsigned select_bit(uint64_t word, unsigned n);

CHANGES_INLINE unsigned ones_of(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

/* ---- comparing */

CHANGES_INLINE unsigned compare_cells(enum cells_kind kind, const uint8_t *old, const uint8_t *new,
                                      size_t size)
{
    unsigned count = 0;
    for (size_t at = 0; at < size; at += CELLS_WORD) {
        const uint64_t differ = get64(old + at) ^ get64(new + at);
        count += ones_of(kind == CELLS_OF_COUNTERS ? cells_not_zero(differ) : differ);
    }
    return count;
}

/* ---- finding */

CHANGES_INLINE uint8_t move_of(uint64_t old, uint64_t new, unsigned at)
{
    const int by = (int)(new >> at & 15) - (int)(old >> at & 15);
    return (uint8_t)(by > 0 ? 2 * (by - 2) : 2 * (-by - 2) + 1);
}

/* Appends the changed cells of a word. Gaps count only eligible cells, those for which the change
 * is possible: a set bit cannot be raised. */
CHANGES_INLINE void find_in_word(uint64_t eligible, uint64_t changed, struct changes_found *found)
{
    unsigned past = 0; /* eligible cells of this word up to the previous change */
    for (uint64_t bits = changed; bits != 0; bits &= bits - 1) {
        const unsigned before = ones_of(eligible & ((bits & -bits) - 1));
        found->gaps[found->units++] = found->skipped + before - past;
        found->skipped = 0;
        past = before + 1;
    }
    found->skipped += ones_of(eligible) - past;
}

CHANGES_INLINE void find_single_bits(const uint8_t *old, const uint8_t *new, size_t size,
                                     struct changes_found *found)
{
    for (size_t at = 0; at < size; at += CELLS_WORD) {
        const uint64_t from = get64(old + at), differ = from ^ get64(new + at);
        find_in_word(~from, differ & ~from, &found[CELLS_RAISED]);
        find_in_word(from, differ & from, &found[CELLS_LOWERED]);
    }
}

CHANGES_INLINE void find_counters(const uint8_t *old, const uint8_t *new, size_t size,
                                  struct changes_found *found)
{
    struct changes_found *moves = &found[CELLS_MOVED];
    for (size_t at = 0; at < size; at += CELLS_WORD) {
        const uint64_t from = get64(old + at), to = get64(new + at);
        const uint64_t can_rise = cells_not_zero(~from), can_fall = cells_not_zero(from);
        const uint64_t raised = can_rise & ~cells_not_zero((from + can_rise) ^ to);
        const uint64_t lowered = can_fall & ~cells_not_zero((from - can_fall) ^ to);
        const uint64_t moved = cells_not_zero(from ^ to) & ~raised & ~lowered;
        find_in_word(can_rise, raised, &found[CELLS_RAISED]);
        find_in_word(can_fall, lowered, &found[CELLS_LOWERED]);
        size_t unit = moves->units;
        for (uint64_t bits = moved; bits != 0; bits &= bits - 1)
            moves->moves[unit++] = move_of(from, to, (unsigned)__builtin_ctzll(bits));
        find_in_word(CELLS_LOWEST, moved, moves);
    }
}

/* Appends the changes of one kind in a block, which must have at least one change. */
CHANGES_INLINE void find_in_block(enum cells_change change, const uint8_t *old, const uint8_t *new,
                                  struct changes_found *found)
{
    unsigned eligible = 0, past = 0;
    const size_t first = found->cells;
    for (unsigned at = 0; at < CELLS_UNIT_SIZE; at += CELLS_WORD) {
        const uint64_t from = get64(old + at), can = from ^ cells_flip(change);
        uint64_t bits = (from ^ get64(new + at)) & can;
        for (; bits != 0; bits &= bits - 1) {
            const unsigned before = eligible + ones_of(can & ((bits & -bits) - 1));
            found->skips[found->cells++] = (uint16_t)(before - past);
            past = before + 1;
        }
        eligible += ones_of(can);
    }
    found->gaps[found->units] = found->skipped;
    found->counts[found->units] = (uint16_t)(found->cells - first);
    found->eligible[found->units++] = (uint16_t)eligible;
    found->skipped = 0;
}

/* Most blocks have no changes, or changes of one kind. */
CHANGES_INLINE void find_in_blocks(const uint8_t *old, const uint8_t *new, size_t size,
                                   struct changes_found *found)
{
    for (size_t at = 0; at < size; at += CELLS_UNIT_SIZE) {
        uint64_t raised = 0, lowered = 0;
        for (unsigned word = 0; word < CELLS_UNIT_SIZE; word += CELLS_WORD) {
            const uint64_t from = get64(old + at + word), differ = from ^ get64(new + at + word);
            raised |= differ & ~from;
            lowered |= differ & from;
        }
        if (raised != 0)
            find_in_block(CELLS_RAISED, old + at, new + at, &found[CELLS_RAISED]);
        else
            found[CELLS_RAISED].skipped++;
        if (lowered != 0)
            find_in_block(CELLS_LOWERED, old + at, new + at, &found[CELLS_LOWERED]);
        else
            found[CELLS_LOWERED].skipped++;
    }
}

CHANGES_INLINE void find_cells(enum cells_kind kind, const uint8_t *old, const uint8_t *new,
                               size_t size, struct changes_found *found)
{
    if (kind == CELLS_OF_BLOCKS) {
        find_in_blocks(old, new, size, found);
    } else if (kind == CELLS_OF_BITS) {
        find_single_bits(old, new, size, found);
    } else {
        find_counters(old, new, size, found);
    }
}

/* ---- making */

/* Returns the word with one counter moved by the next code. */
CHANGES_INLINE uint64_t move(uint64_t old, uint64_t word, unsigned at, struct changes_stream *s)
{
    const uint64_t code = bits_get_rice(&s->bits, 0), by = code / 2 + 2, is = old >> at & 15;
    const uint64_t value = code % 2 == 0 ? is + by : is - by;
    if (value > 15) {
        bits_wrong(&s->bits);
        return word;
    }
    return (word & ~(15ull << at)) | value << at;
}

CHANGES_INLINE void to_next(struct changes_stream *s)
{
    s->skip += 1 + (--s->units > 0 ? bits_get_rice(&s->bits, s->gap_bits) : 0);
}

CHANGES_INLINE void make_in_word(enum cells_change change, uint64_t eligible, uint8_t *to,
                                 struct changes_stream *s, select_bit *select)
{
    const uint64_t by = cells_flip(change) | 1; /* -1 or 1 */
    const unsigned count = ones_of(eligible);
    if (s->skip < count) {
        uint64_t word = get64(to);
        do {
            word -= by << select(eligible, (unsigned)s->skip);
            to_next(s);
        } while (s->units > 0 && s->skip < count);
        put64(to, word);
    }
    s->skip -= count;
}

CHANGES_INLINE void make_bits(enum cells_change change, const uint8_t *old, uint8_t *to,
                              size_t size, struct changes_stream *s, select_bit *select)
{
    for (size_t at = 0; at < size && s->units > 0; at += CELLS_WORD)
        make_in_word(change, get64(old + at) ^ cells_flip(change), to + at, s, select);
}

CHANGES_INLINE void make_counters(enum cells_change change, const uint8_t *old, uint8_t *to,
                                  size_t size, struct changes_stream *s, select_bit *select)
{
    for (size_t at = 0; at < size && s->units > 0; at += CELLS_WORD)
        make_in_word(change, cells_not_zero(get64(old + at) ^ cells_flip(change)), to + at, s,
                     select);
}

/* Makes moves, for which every counter is eligible. */
CHANGES_INLINE void make_moves(const uint8_t *old, uint8_t *to, size_t size,
                               struct changes_stream *s)
{
    const unsigned count = 2 * CELLS_WORD;
    for (size_t at = 0; at < size && s->units > 0; at += CELLS_WORD) {
        for (; s->units > 0 && s->skip < count; to_next(s))
            put64(to + at, move(get64(old + at), get64(to + at), 4 * (unsigned)s->skip, s));
        s->skip -= count;
    }
}

/* Reads the number of changed cells in a block. Returns 0 if it is above `eligible`. */
CHANGES_INLINE unsigned take_count(struct changes_stream *s, unsigned eligible)
{
    const uint64_t code = bits_get_rice(&s->bits, s->count_bits), by = code / 2;
    const uint64_t count = code % 2 == 0 ? s->typical - by : s->typical + by + 1;
    return count <= eligible ? (unsigned)count : 0;
}

CHANGES_INLINE void make_in_block(enum cells_change change, const uint8_t *old, uint8_t *to,
                                  struct changes_stream *s, select_bit *select)
{
    uint64_t can[CHANGES_WORDS];
    unsigned before[CHANGES_WORDS]; /* eligible cells in the words before */
    unsigned left = 0, past = 0;
    for (unsigned i = 0; i < CHANGES_WORDS; i++) {
        can[i] = get64(old + CELLS_WORD * i) ^ cells_flip(change);
        before[i] = left;
        left += ones_of(can[i]);
    }
    const unsigned count = take_count(s, left);
    if (count == 0)
        bits_wrong(&s->bits);
    for (unsigned i = count; i > 0; i--) {
        const uint64_t skip = i == 1 ? bits_get_truncated(&s->bits, left)
                                     : bits_get_rice(&s->bits, bits_parameter(left - i, i + 1));
        if (skip > left - i) {
            bits_wrong(&s->bits);
            return;
        }
        left -= (unsigned)skip + 1;
        const unsigned n = past + (unsigned)skip;
        unsigned word = 0;
        for (unsigned w = 1; w < CHANGES_WORDS; w++) /* a branch here would be mispredicted */
            word += n >= before[w];
        uint8_t *at = to + CELLS_WORD * word;
        put64(at, get64(at) ^ 1ull << select(can[word], n - before[word]));
        past = n + 1;
    }
}

CHANGES_INLINE void make_blocks(enum cells_change change, const uint8_t *old, uint8_t *to,
                                size_t size, struct changes_stream *s, select_bit *select)
{
    const uint64_t blocks = size / CELLS_UNIT_SIZE;
    while (s->units > 0 && s->skip < blocks) {
        const size_t at = (size_t)s->skip * CELLS_UNIT_SIZE;
        make_in_block(change, old + at, to + at, s, select);
        to_next(s);
        if (s->bits.wrong)
            return;
    }
    s->skip -= s->skip < blocks ? s->skip : blocks;
}

CHANGES_INLINE void make_cells(enum cells_kind kind, enum cells_change change, const uint8_t *old,
                               uint8_t *to, size_t size, struct changes_stream *stream,
                               select_bit *select)
{
    if (kind == CELLS_OF_BLOCKS)
        make_blocks(change, old, to, size, stream, select);
    else if (kind == CELLS_OF_BITS)
        make_bits(change, old, to, size, stream, select);
    else if (change == CELLS_MOVED)
        make_moves(old, to, size, stream);
    else
        make_counters(change, old, to, size, stream, select);
}

/* ---- for each instruction set */

#define CHANGES(attributes, name, select)                                                          \
    attributes static unsigned name##_compare(enum cells_kind kind, const uint8_t *old,            \
                                              const uint8_t *new, size_t size)                     \
    {                                                                                              \
        return compare_cells(kind, old, new, size);                                                \
    }                                                                                              \
    attributes static void name##_find(enum cells_kind kind, const uint8_t *old,                   \
                                       const uint8_t *new, size_t size,                            \
                                       struct changes_found *found)                                \
    {                                                                                              \
        find_cells(kind, old, new, size, found);                                                   \
    }                                                                                              \
    attributes static void name##_make(enum cells_kind kind, enum cells_change change,             \
                                       const uint8_t *old, uint8_t *to, size_t size,               \
                                       struct changes_stream *stream)                              \
    {                                                                                              \
        make_cells(kind, change, old, to, size, stream, select);                                   \
    }                                                                                              \
    const struct changes changes_##name = { name##_compare, name##_find, name##_make }

CHANGES(, plain, cells_select);

#ifdef __x86_64__

/* PDEP moves bit n to the place of the n-th set bit: two instructions instead of a loop. */
#define BMI2 __attribute__((target("bmi,bmi2,popcnt")))

BMI2 CHANGES_INLINE unsigned bmi2_select(uint64_t word, unsigned n)
{
    return (unsigned)__builtin_ctzll(_pdep_u64(1ull << n, word));
}

CHANGES(BMI2, bmi2, bmi2_select);

#endif

const struct changes *changes_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return &changes_bmi2;
#endif
    return &changes_plain;
}
