/* SPDX-License-Identifier: MIT
 * Encoding a part of a patch. All its changes are found first, because the parameters of the codes
 * depend on them. */
#include "delta/encode.h"

#include <errno.h>
#include <stdlib.h>

#include "format/checksum.h"

enum {
    CHANGES_MOST = ENCODE_MANY + 8 * CHECKSUM_PAGE, /* every bit of the last page may change */
};

/* With parameters chosen by the rule, a Rice code has two zeros on average before its 1, and a code
 * in a block at most 30. So a change takes less than 16 bytes: a gap of up to 60 bits, and a count
 * or a move. */
_Static_assert(CHANGES_MOST * 16 <= PART_STRINGS_MOST, "the strings of a part fit");

/* ---- room */

static int start_changes(struct changes_found *found, bool blocks, bool moves)
{
    found->gaps = malloc(CHANGES_MOST * sizeof *found->gaps);
    if (found->gaps == NULL)
        return ENOMEM;
    if (blocks) {
        found->counts = malloc(3 * CHANGES_MOST * sizeof *found->counts);
        if (found->counts == NULL)
            return ENOMEM;
        found->eligible = found->counts + CHANGES_MOST;
        found->skips = found->eligible + CHANGES_MOST;
    }
    found->moves = moves ? malloc(CHANGES_MOST) : NULL;
    return moves && found->moves == NULL ? ENOMEM : 0;
}

int encoder_start(struct encoder *e, enum cells_kind kind, const struct body_check *checks)
{
    *e = (struct encoder){ .kind = kind, .changes = changes_best() };
    for (int i = 0; i < ENCODE_BOTH; i++)
        e->checks[i] = checks[i];
    e->bytes = malloc(PART_HEAD_MOST + PART_STRINGS_MOST + BITS_SLACK);
    int error = e->bytes == NULL ? ENOMEM : 0;
    for (unsigned i = 0; error == 0 && i < part_streams(kind); i++)
        error = start_changes(&e->found[i], kind == CELLS_OF_BLOCKS, i == CELLS_MOVED);
    return error;
}

void encoder_release(struct encoder *e)
{
    for (unsigned i = 0; i < CELLS_CHANGES; i++) {
        free(e->found[i].gaps);
        free(e->found[i].counts);
        free(e->found[i].moves);
    }
    free(e->bytes);
}

/* ---- finding */

/* Copies a changed page of both bodies, and checks the copies. */
static bool take_page(struct encoder *e, uint64_t page)
{
    for (int i = 0; i < ENCODE_BOTH; i++) {
        body_check_skip(&e->checks[i], page);
        body_check_copy(&e->checks[i], e->pages[i], 1);
        if (e->checks[i].first_bad != UINT64_MAX)
            return false;
    }
    return true;
}

static bool find_in_page(struct encoder *e, uint64_t page, size_t size, bool same)
{
    if (same && e->kind == CELLS_OF_BLOCKS) {
        e->found[CELLS_RAISED].skipped += size / CELLS_UNIT_SIZE;
        e->found[CELLS_LOWERED].skipped += size / CELLS_UNIT_SIZE;
        return true;
    }
    if (!(same ? guard_copy(e->checks[ENCODE_OLD].guard, page, e->pages[ENCODE_OLD])
               : take_page(e, page)))
        return false;
    e->changes->find(e->kind, e->pages[ENCODE_OLD], e->pages[same ? ENCODE_OLD : ENCODE_NEW], size,
                     e->found);
    return true;
}

/* Returns whether there is room for the changes of another page. There always is, unless a page and
 * its checksum were replaced after the first pass. */
static bool has_room(const struct encoder *e)
{
    size_t changes = 0;
    for (unsigned i = 0; i < part_streams(e->kind); i++)
        changes += e->kind == CELLS_OF_BLOCKS ? e->found[i].cells : e->found[i].units;
    return changes <= ENCODE_MANY;
}

static bool find_changes(struct encoder *e, const struct encode_source *source, uint64_t page,
                         uint64_t span)
{
    const uint64_t end = page + span;
    for (unsigned i = 0; i < part_streams(e->kind); i++) {
        e->found[i].units = e->found[i].cells = 0;
        e->found[i].skipped = 0;
    }
    for (; page < end && has_room(e); page++)
        if (!find_in_page(e, page, checksum_page_size(source->body_size, page),
                          source->changes[page] == 0))
            return false;
    return page == end;
}

/* ---- parameters and strings */

static uint64_t count_code(uint64_t count, uint64_t typical)
{
    return count > typical ? 2 * (count - typical) - 1 : 2 * (typical - count);
}

static void set_parameters(struct part_stream *s, const struct changes_found *found, bool blocks)
{
    uint64_t gaps = 0, codes = 0;
    s->units = found->units;
    for (size_t i = 0; i < found->units; i++)
        gaps += found->gaps[i];
    s->gap_bits = (uint8_t)bits_parameter(gaps, found->units);
    if (!blocks)
        return;
    s->typical = (2 * found->cells + found->units) / (2 * found->units);
    for (size_t i = 0; i < found->units; i++)
        codes += count_code(found->counts[i], s->typical);
    s->count_bits = (uint8_t)bits_parameter(codes, found->units);
}

static const uint16_t *put_block(struct bits_writer *w, const struct part_stream *s,
                                 const uint16_t *skips, unsigned count, unsigned left)
{
    bits_put_rice(w, count_code(count, s->typical), s->count_bits);
    for (; count > 1; count--) {
        bits_put_rice(w, *skips, bits_parameter(left - count, count + 1));
        left -= *skips++ + 1u;
    }
    bits_put_truncated(w, *skips++, left);
    return skips;
}

static void put_string(struct bits_writer *w, struct part_stream *s,
                       const struct changes_found *found, enum cells_kind kind, unsigned change)
{
    const uint8_t *begin = w->at;
    const uint16_t *skips = found->skips;
    for (size_t i = 0; i < found->units; i++) {
        bits_put_rice(w, found->gaps[i], s->gap_bits);
        if (kind == CELLS_OF_BLOCKS)
            skips = put_block(w, s, skips, found->counts[i], found->eligible[i]);
        else if (change == CELLS_MOVED)
            bits_put_rice(w, found->moves[i], 0);
    }
    s->size = (uint64_t)(bits_end(w) - begin);
}

/* ---- the whole */

static size_t put_head(uint8_t *bytes, const struct part *p, enum cells_kind kind)
{
    uint8_t *at = bytes;
    at += patch_put_number(at, p->skip);
    at += patch_put_number(at, p->span);
    for (unsigned i = 0; i < part_streams(kind); i++) {
        const struct part_stream *s = &p->streams[i];
        at += patch_put_number(at, s->units);
        if (s->units == 0)
            continue;
        *at++ = s->gap_bits;
        if (kind == CELLS_OF_BLOCKS) {
            at += patch_put_number(at, s->typical);
            *at++ = s->count_bits;
        }
        at += patch_put_number(at, s->size);
    }
    return (size_t)(at - bytes);
}

const uint8_t *encode_part(struct encoder *e, const struct encode_source *source, uint64_t page,
                           uint64_t skip, uint64_t span, size_t *size)
{
    uint8_t head[PART_HEAD_MOST], *strings = e->bytes + PART_HEAD_MOST;
    struct part p = { .skip = skip, .span = span };
    struct bits_writer w = { .at = strings };
    if (!find_changes(e, source, page, span))
        return NULL;
    for (unsigned i = 0; i < part_streams(e->kind); i++) {
        if (e->found[i].units == 0)
            continue;
        set_parameters(&p.streams[i], &e->found[i], e->kind == CELLS_OF_BLOCKS);
        put_string(&w, &p.streams[i], &e->found[i], e->kind, i);
    }
    const size_t head_size = put_head(head, &p, e->kind);
    uint8_t *begin = strings - head_size;
    memcpy(begin, head, head_size);
    put32(w.at, checksum(begin, (size_t)(w.at - begin)));
    *size = (size_t)(w.at - begin) + PART_CRC;
    return begin;
}
