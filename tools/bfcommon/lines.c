/* SPDX-License-Identifier: MIT
 * Lines of a file, read one at a time, of any length. */
#include "bfcommon/lines.h"
#include "cli/cli.h"
#include "keys/csv.h"
#include "keys/input_type.h"
#include "keys/split.h"
#include "keys/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lines {
    struct keys_options form;
    struct stretch where;
    struct unpack *unpack; /* NULL: not compressed */
    uint64_t at;           /* file offset of the next read */
    bool at_end;
    uint8_t *buffer;
    size_t size;        /* of the buffer */
    struct split whole; /* whole keys in the buffer that were not returned yet */
    uint8_t *joined;    /* keys of `whole` that differ from their records */
    size_t joined_size;
    uint8_t *escaped; /* the last keys and lines, with escapes */
    size_t escaped_size;
    enum csv_state csv; /* at the end of the bytes read */
    uint64_t next_line; /* number of the line after `whole`, if keys are fields */
    bool headed;        /* the header was read */
    uint32_t sum;       /* of the bytes read */
    size_t start, end;  /* in the buffer: bytes after `whole`; only the last read may have ends */
    struct input_type_start beginning;
    struct cli_progress progress;
};

/* Reads bytes of the file, before decompression. */
static ssize_t read_bytes(void *lines, uint8_t *to, size_t size)
{
    struct lines *l = lines;
    ssize_t n;
    do
        n = l->where.piped ? await_read(l->where.fd, to, size)
                           : pread(l->where.fd, to, size, (off_t)l->at);
    while (n < 0 && errno == EINTR);
    l->at += n > 0 ? (uint64_t)n : 0;
    l->progress.bytes += n > 0 ? (uint64_t)n : 0;
    return n;
}

struct lines *lines_open(const struct keys_options *form, const struct stretch *where)
{
    struct lines *l = calloc(1, sizeof(*l));
    if (l == NULL)
        cli_fail(ENOMEM, "cannot start reading %s", where->name);
    l->form = *form;
    l->whole = (struct split){ .record_size = form->record_size,
                               .end_byte = keys_end(form),
                               .crlf = keys_strip_cr(form),
                               .fields = &l->form.fields,
                               .form = keys_options_form(&l->form) };
    l->next_line = 1;
    l->headed = where->header == NULL;
    l->where = *where;
    l->at = where->from;
    l->at_end = where->fd < 0;
    l->unpack = where->packed ? unpack_new(read_bytes, l) : NULL;
    l->size = where->room;
    l->buffer = malloc(l->size + JSON_PADDING);
    if (form->fields.json != NULL)
        l->whole.json = json_parser_new();
    if (l->buffer == NULL || (form->fields.json != NULL && l->whole.json == NULL))
        cli_fail(ENOMEM, "cannot start reading %s", where->name);
    l->progress.doing = where->name;
    l->progress.shown_ns = where->silent ? -1 : 0;
    if (!l->at_end && !where->piped)
        (void)posix_fadvise(where->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return l;
}

/* Moves the bytes that are not whole keys to the front, to make room after them. */
static void make_room(struct lines *l)
{
    size_t left = l->end - l->start;
    if (l->start > 0)
        memmove(l->buffer, l->buffer + l->start, left);
    l->start = 0;
    l->end = left;
    if (left < l->size)
        return;
    char most[32];
    size_t size = l->size < l->where.limit / 2 ? 2 * l->size : l->where.limit;
    if (size <= l->size)
        cli_fail(0, "cannot hold a key of %s from %s (raise --memory, or check -0 and -x)",
                 cli_bytes(most, sizeof(most), l->size), l->where.name);
    uint8_t *bigger = realloc(l->buffer, size + JSON_PADDING);
    if (bigger == NULL)
        cli_fail(ENOMEM, "cannot hold a key of %s from %s", cli_bytes(most, sizeof(most), l->size),
                 l->where.name);
    l->buffer = bigger;
    l->size = size;
}

/* Detects a temporary file that was truncated or damaged: lines would be missing. */
static void check_sum(const struct lines *l)
{
    if (l->where.summed && (l->at_end || l->at == l->where.to) &&
        (l->at < l->where.to || l->sum != l->where.sum))
        cli_fail(0, "cannot read a temporary file: its contents changed"
                    " (choose another folder with --temp)");
}

void lines_judge(const struct stretch *where, const struct keys_options *form, const uint8_t *bytes,
                 size_t size)
{
    char reason[INPUT_TYPE_REASON];
    if (!input_type_judge(where->name, form, bytes, size, reason))
        cli_fail(0, "%s: %s", where->name, reason);
}

static void read_piece(struct lines *l)
{
    make_room(l);
    uint64_t left = l->where.to - l->at;
    size_t room = l->size - l->end;
    size_t size = left < room ? (size_t)left : room;
    uint8_t *to = l->buffer + l->end;
    const ssize_t n =
        l->unpack != NULL ? unpack_read(l->unpack, to, room) : read_bytes(l, to, size);
    if (n < 0 && l->unpack != NULL && unpack_trouble(l->unpack) != NULL)
        cli_fail(0, "cannot read %s: %s", l->where.name, unpack_trouble(l->unpack));
    if (n < 0)
        cli_fail(errno, "cannot read %s", l->where.name);
    if (l->where.summed)
        l->sum = libdeflate_crc32(l->sum, l->buffer + l->end, (size_t)n);
    l->at_end = n == 0;
    l->end += (size_t)n;
    check_sum(l);
    cli_progress_step(&l->progress);
}

static void take_header(struct lines *l)
{
    struct split *s = &l->whole;
    char message[HEADER_LINE_MESSAGE];
    struct fields *f = &l->form.fields;
    const size_t size = (size_t)(s->end - s->at);
    const uint8_t *found = memchr(s->at, s->end_byte, size);
    const uint8_t *end = f->csv          ? s->at + csv_first(f->delimiter, s->at, size)
                         : found != NULL ? found + 1
                                         : s->end;
    const bool has_end = end > s->at && end[-1] == s->end_byte;
    const struct bloomfile_key line = { s->at, (size_t)(end - s->at) - has_end };
    if (!header_line_take(l->where.header, l->where.name, line, s->crlf, message) ||
        !header_find_columns(f, l->where.name, line, s->crlf, message))
        cli_fail(0, "%s", message);
    l->next_line += split_count(s, s->at, (size_t)(end - s->at));
    s->at = end;
    l->headed = true;
}

static void prepare_fields(struct lines *l)
{
    struct split *s = &l->whole;
    const size_t bytes = (size_t)(s->end - s->at), lines = split_count(s, s->at, bytes);
    const uint64_t room = key_form_room(&l->form.key_form, s->fields, bytes, lines + 1);
    s->first = s->at;
    s->line = l->next_line;
    l->next_line += lines;
    if (room > l->joined_size) {
        free(l->joined);
        l->joined = fields_allocate(room);
        if (l->joined == NULL)
            cli_fail(ENOMEM, "cannot hold the fields of %s", l->where.name);
        l->joined_size = (size_t)room;
    }
    s->room = l->joined;
}

/* Makes the first `size` bytes of the rest available as keys. */
static void hand_out(struct lines *l, size_t size)
{
    l->whole.at = l->buffer + l->start;
    l->start += size;
    l->whole.end = l->buffer + l->start;
    if (!l->headed && size > 0)
        take_header(l);
    if (split_makes_keys(&l->whole))
        prepare_fields(l);
}

/* The last line may lack its newline. An incomplete record or an open quote is an error. */
static void hand_out_rest(struct lines *l)
{
    const struct fields *f = &l->form.fields;
    size_t left = l->end - l->start;
    if (f->csv && l->csv == CSV_QUOTED) {
        const struct fault_place at = {
            .input = l->where.name,
            .line = l->next_line + csv_lines_to_open(f->delimiter, l->buffer + l->start, left)
        };
        cli_fail(0, "%s", fault_describe((struct fault){ .kind = FAULT_OPEN_QUOTE }, &at));
    }
    if (l->form.record_size > 0 && left > 0)
        cli_fail(0, "cannot read %s: its last record has %zu of %zu bytes", l->where.name, left,
                 l->form.record_size);
    hand_out(l, left);
}

/* Checks the type of the input from its first whole key on. */
static void judge(struct lines *l, size_t seen, size_t whole)
{
    char reason[INPUT_TYPE_REASON];
    if (l->where.judge == NULL)
        return;
    input_type_arrived(&l->beginning, l->buffer + seen, l->end - seen);
    if ((whole > 0 || l->at_end || l->end >= INPUT_TYPE_SIZE) &&
        !input_type_judge_start(&l->beginning, l->where.name, l->where.judge, l->at_end, reason))
        cli_fail(0, "%s: %s", l->where.name, reason);
}

/* Like split_whole(), also for CSV. */
static size_t whole_keys(struct lines *l, size_t seen)
{
    const uint8_t *bytes = l->buffer + l->start;
    const size_t size = l->end - l->start;
    if (!l->form.fields.csv)
        return split_whole(&l->whole, bytes, size, seen);
    const size_t whole = csv_whole(&l->csv, l->form.fields.delimiter, bytes + seen, size - seen);
    return whole > 0 ? seen + whole : 0;
}

/* Refills the buffer after its keys were split. Returns false at the end of the input. */
static bool read_on(struct lines *l)
{
    const size_t seen = l->end - l->start;
    if (l->at_end && seen == 0)
        return false;
    if (l->at_end) {
        hand_out_rest(l);
        return true;
    }
    read_piece(l);
    const size_t whole = whole_keys(l, seen);
    judge(l, seen, whole);
    hand_out(l, whole);
    return true;
}

void lines_read_header(struct lines *l)
{
    while (!l->headed && read_on(l))
        continue;
}

static size_t next(struct lines *l, struct bloomfile_key *keys, struct bloomfile_key *whole,
                   size_t max)
{
    for (;;) {
        size_t n = whole != NULL ? split_next_lines(&l->whole, keys, whole, max)
                                 : split_next(&l->whole, keys, max);
        split_check(&l->whole, l->where.name);
        l->progress.keys += n;
        if (n > 0 || !read_on(l))
            return n;
    }
}

/* ---- Escapes. Spools separate keys by newlines, and a zero byte ends each key that is made of
 * fields, so 0A and 00 must not occur inside a key. 00, 01, 0A and 0B become 01 01, 01 02, 0B 01
 * and 0B 02. This keeps the order: each pair sorts where its byte did. */

static bool is_escaped(uint8_t byte)
{
    return (byte | 1) == 0x01 || (byte | 1) == 0x0B;
}

/* Returns nonzero if a byte of the word needs an escape. `low` has a zero byte for each 00 and 01,
 * `high` for each 0A and 0B. The last line is the usual test for zero bytes. */
static uint64_t word_escaped(const uint8_t *bytes)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    const uint64_t low = (word | ones) ^ ones, high = low ^ (ones * 0x0A); /* 0: 00 01, 0A 0B */
    return (((low - ones) & ~low) | ((high - ones) & ~high)) & (ones << 7);
}

/* Checks a word at a time. The last word may overlap the word before it. */
static bool needs_escapes(struct bloomfile_key text)
{
    enum {
        WORD = sizeof(uint64_t)
    };
    const uint8_t *bytes = text.data;
    uint64_t any = text.size < WORD ? 0 : word_escaped(bytes + text.size - WORD);
    for (size_t i = 0; text.size - i > WORD && text.size > WORD; i += WORD)
        any |= word_escaped(bytes + i);
    for (size_t i = 0; i < text.size && text.size < WORD; i++)
        any |= is_escaped(bytes[i]);
    return any != 0;
}

static uint8_t *escape(struct bloomfile_key text, uint8_t *to)
{
    const uint8_t *bytes = text.data;
    if (text.size > 0 && !needs_escapes(text)) {
        memcpy(to, bytes, text.size);
        return to + text.size;
    }
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t byte = bytes[i], first = byte | 1;
        *to++ = is_escaped(byte) ? first : byte;
        if (is_escaped(byte))
            *to++ = (uint8_t)(byte - first + 2);
    }
    return to;
}

bool lines_have_escapes(const struct keys_options *form)
{
    return form->fields.csv || form->null;
}

void lines_print(struct bloomfile_key escaped)
{
    const uint8_t *at = escaped.data, *end = at + escaped.size, *plain = at;
    for (; at < end; at++) {
        if (!is_escaped(*at))
            continue;
        const uint8_t byte = (uint8_t)(at[0] + at[1] - 2);
        cli_write(plain, (size_t)(at - plain));
        cli_write(&byte, 1);
        plain = ++at + 1;
    }
    cli_write(plain, (size_t)(end - plain));
}

static void make_room_for_escapes(struct lines *l, uint64_t room)
{
    if (room <= l->escaped_size)
        return;
    free(l->escaped);
    l->escaped = fields_allocate(room);
    if (l->escaped == NULL)
        cli_fail(ENOMEM, "cannot hold the fields of %s", l->where.name);
    l->escaped_size = (size_t)room;
}

/* A zero byte ends each key, so no key is a prefix of another. */
static void escape_all(struct lines *l, struct bloomfile_key *keys, struct bloomfile_key *whole,
                       size_t n)
{
    const bool escapes_lines = whole != NULL && lines_have_escapes(&l->form);
    uint64_t room = 0;
    for (size_t i = 0; i < n; i++)
        room += UINT64_C(2) * (keys[i].size + (escapes_lines ? whole[i].size : 0)) + 1;
    make_room_for_escapes(l, room);
    uint8_t *to = l->escaped;
    for (size_t i = 0; i < n; i++) {
        uint8_t *start = to;
        to = escape(keys[i], to);
        *to++ = '\0';
        keys[i] = (struct bloomfile_key){ start, (size_t)(to - start) };
        if (!escapes_lines || !needs_escapes(whole[i]))
            continue;
        start = to;
        to = escape(whole[i], to);
        whole[i] = (struct bloomfile_key){ start, (size_t)(to - start) };
    }
}

size_t lines_next(struct lines *l, struct bloomfile_key *keys, size_t max)
{
    const size_t n = next(l, keys, NULL, max);
    if (split_makes_keys(&l->whole))
        escape_all(l, keys, NULL, n);
    return n;
}

size_t lines_next_whole(struct lines *l, struct bloomfile_key *keys, struct bloomfile_key *whole,
                        size_t max)
{
    const size_t n = next(l, keys, whole, max);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *line = whole[i].data;
        whole[i].size -= whole[i].size > 0 && line[whole[i].size - 1] == l->whole.end_byte;
    }
    escape_all(l, keys, whole, n);
    return n;
}

uint64_t lines_skipped(const struct lines *l)
{
    return l->whole.skipped;
}

/* Reads the rest of the stretch, because its checksum covers all bytes. */
static void read_rest(struct lines *l)
{
    while (l->where.summed && !l->at_end && l->at < l->where.to) {
        l->start = l->end = 0;
        read_piece(l);
    }
}

void lines_close(struct lines *l)
{
    read_rest(l);
    cli_progress_end(&l->progress);
    unpack_free(l->unpack);
    free(l->beginning.bytes);
    free(l->joined);
    free(l->escaped);
    json_parser_free(l->whole.json);
    free(l->buffer);
    free(l);
}

int lines_compare(const struct bloomfile_key *a, const struct bloomfile_key *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size == 0 ? 0 : memcmp(a->data, b->data, size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

size_t lines_end(const struct keys_options *form, char *end)
{
    *end = keys_end(form);
    return form->record_size > 0 ? 0 : 1;
}
