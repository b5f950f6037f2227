/* SPDX-License-Identifier: MIT */
#include "split.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static struct bloomfile_key key_between(const uint8_t *start, const uint8_t *end, bool crlf)
{
    if (crlf && end > start && end[-1] == '\r')
        end--;
    return (struct bloomfile_key){ start, (size_t)(end - start) };
}

#ifdef __SSE2__

enum {
    BLOCK = 64
};

/* Bit i is set where block[i] is the mark. */
static uint64_t marks_in(const uint8_t *block, __m128i mark)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < BLOCK / sizeof(mark); i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)block + i);
        uint32_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, mark));
        found |= (uint64_t)bits << (i * sizeof(mark));
    }
    return found;
}

/* As far as whole blocks go; the rest is the caller's. */
static size_t split_blocks(struct split *s, struct bloomfile_key *keys, size_t max)
{
    const __m128i mark = _mm_set1_epi8((char)s->mark);
    const uint8_t *at = s->at, *const end = s->end;
    const bool crlf = s->crlf;
    size_t n = 0;
    for (const uint8_t *block = at; end - block >= BLOCK && n < max; block += BLOCK) {
        uint64_t marks = marks_in(block, mark);
        for (; marks != 0 && n < max; marks &= marks - 1) {
            const uint8_t *found = block + __builtin_ctzll(marks);
            keys[n++] = key_between(at, found, crlf);
            at = found + 1;
        }
    }
    s->at = at;
    return n;
}

#else

static size_t split_blocks(struct split *s, struct bloomfile_key *keys, size_t max)
{
    (void)s;
    (void)keys;
    (void)max;
    return 0;
}

#endif

static size_t split_text(struct split *s, struct bloomfile_key *keys, size_t max)
{
    size_t n = split_blocks(s, keys, max);
    while (n < max && s->at < s->end) {
        const uint8_t *found = memchr(s->at, s->mark, (size_t)(s->end - s->at));
        keys[n++] = key_between(s->at, found != NULL ? found : s->end, s->crlf);
        s->at = found != NULL ? found + 1 : s->end;
    }
    return n;
}

static size_t split_records(struct split *s, struct bloomfile_key *keys, size_t max)
{
    size_t n = 0;
    for (; n < max && s->at < s->end; n++) {
        keys[n] = (struct bloomfile_key){ s->at, s->record_size };
        s->at += s->record_size;
    }
    return n;
}

size_t split_next(struct split *s, struct bloomfile_key *keys, size_t max)
{
    return s->record_size > 0 ? split_records(s, keys, max) : split_text(s, keys, max);
}

size_t split_whole(const struct split *s, const uint8_t *bytes, size_t size, size_t seen)
{
    if (s->record_size > 0)
        return size - size % s->record_size;
    const uint8_t *last = memrchr(bytes + seen, s->mark, size - seen);
    return last != NULL ? (size_t)(last + 1 - bytes) : 0;
}
