/* SPDX-License-Identifier: MIT
 * By the marks of line ends, without copying. */
#include "shared/split.h"

#include "shared/marks.h"

#include <string.h>

static struct bloomfile_key key_between(const uint8_t *start, const uint8_t *end, bool crlf)
{
    if (crlf && end > start && end[-1] == '\r')
        end--;
    return (struct bloomfile_key){ start, (size_t)(end - start) };
}

/* As far as whole blocks go; the rest is the caller's. */
static size_t split_blocks(struct split *s, struct bloomfile_key *keys, size_t max)
{
    const size_t n = marks_finder()(s->at, s->end, s->mark, keys, max);
    const uint8_t *at = s->at;
    const bool crlf = s->crlf;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *found = keys[i].data;
        keys[i] = key_between(at, found, crlf);
        at = found + 1;
    }
    s->at = at;
    return n;
}

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
