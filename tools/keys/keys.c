/* SPDX-License-Identifier: MIT
 * Keys from files or standard input: large reads, split in place. */
#include "keys/keys.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "keys/csv.h"
#include "keys/header.h"
#include "keys/input_type.h"
#include "keys/json.h"
#include "keys/source.h"
#include "keys/split.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 1 << 20 /* stays in a core's cache until its keys are split and hashed */
};

struct keys {
    struct keys_options options;
    char *const *paths;
    int count, next;
    const char *path; /* of the open input, as the user named it */
    struct source source;
    int given; /* keys of the command line that were read */
    bool at_end, headed;
    struct input_type_start start; /* of the current input */
    uint64_t pieces, lines;        /* pieces in all; lines of the current input */
    enum csv_state csv;            /* the state after all bytes read */
    struct header_line header;
    _Atomic uint64_t skipped;
    struct split split;      /* template for new splits */
    struct keys_piece rest;  /* read, but not yet in a piece: the beginning of a key */
    struct keys_piece piece; /* for keys_next() */
    struct split left;       /* of `piece`: keys not returned yet */
    uint64_t total;
    _Atomic unsigned errors; /* atomic: read by other threads while an error ends the program */
};

static char *const standard_input[] = { (char[]){ "-" } };

/* ------------------------------------------------------------------------------------- inputs */

static void trouble(struct keys *k, const char *what, const char *path, const char *reason)
{
    if (!k->options.keep_going)
        cli_fail(0, "cannot %s %s: %s", what, source_name(path), reason);
    cli_note(0, "cannot %s %s: %s", what, source_name(path), reason);
    k->errors++;
}

/* Returns the size of the input; 0 if unknown. */
static uint64_t survey(struct keys *k, const char *path)
{
    uint64_t size;
    const int error = source_survey(path, &size);
    if (error != 0 && !k->options.keep_going)
        trouble(k, "read", path, bloomfile_strerror(error));
    return size;
}

struct keys *keys_new(const struct keys_options *options, char *const *paths, int count)
{
    struct keys *k = calloc(1, sizeof(*k));
    if (k == NULL)
        cli_fail(ENOMEM, "cannot start reading keys");
    k->options = *options;
    k->paths = count > 0 ? paths : standard_input;
    k->count = count > 0 || options->given_count > 0 ? count : 1;
    k->path = k->paths[0];
    k->source = (struct source){ .packed = options->packed, .stoppable = options->stoppable };
    k->split = (struct split){
        .record_size = options->record_size,
        .end_byte = keys_end(options),
        .crlf = keys_strip_cr(options),
        .fields = &k->options.fields,
        .form = keys_options_form(&k->options),
    };

    bool known = true;
    for (int i = 0; i < k->count; i++) {
        uint64_t size = survey(k, k->paths[i]);
        known = known && size > 0;
        k->total += size;
    }
    if (!known)
        k->total = 0;
    return k;
}

static void close_input(struct keys *k)
{
    source_close(&k->source);
    k->rest.size = 0;
}

static void give_up(struct keys *k, const char *what, const char *reason)
{
    trouble(k, what, k->path, reason);
    close_input(k);
}

/* Refuses an input that can be read but not used. If `path` is empty, the reason
 * names the input. */
static void refuse(struct keys *k, const char *path, const char *reason)
{
    const char *between = path[0] != '\0' ? ": " : "";
    if (!k->options.keep_going)
        cli_fail(0, "%s%s%s", path, between, reason);
    cli_note(0, "%s%s%s", path, between, reason);
    k->errors++;
    close_input(k);
}

/* `reason` is from malloc(). */
static void refuse_record(struct keys *k, char *reason)
{
    refuse(k, "", reason);
    free(reason);
}

static void greet(const struct keys *k)
{
    if (strcmp(k->path, "-") == 0 && isatty(STDIN_FILENO))
        cli_note(0, "reading keys from the terminal%s (end the input with Ctrl-D)",
                 keys_are_lines(&k->options) ? ", one per line" : "");
}

/* Opens the next input that can be opened. Returns false if no input is left. */
static bool open_next(struct keys *k)
{
    while (k->next < k->count) {
        k->path = k->paths[k->next++];
        const int error = source_open(&k->source, k->path);
        if (error != 0) {
            const bool explained = error == ENOENT && k->options.missing != NULL;
            give_up(k, "open", explained ? k->options.missing : bloomfile_strerror(error));
            continue;
        }
        greet(k);
        k->at_end = k->headed = false;
        k->start.size = k->start.judged = 0;
        k->lines = 0;
        k->csv = CSV_BEGIN;
        return true;
    }
    return false;
}

static size_t piece_size(const struct keys *k)
{
    return k->options.piece_size > 0 ? k->options.piece_size : PIECE_SIZE;
}

static bool is_stopped(const struct keys *k)
{
    return k->options.stoppable && interrupt_signal != 0;
}

/* Reads once, and appends to *p. Returns false after an error or an interrupt_signal. */
static bool read_more(struct keys *k, struct keys_piece *p, size_t *used)
{
    const char *reason;
    const ssize_t n = source_read(&k->source, p->bytes + *used, p->room - *used, &reason);
    if (n < 0 && is_stopped(k))
        return false;
    if (n < 0) {
        give_up(k, "read", reason);
        return false;
    }
    k->at_end = n == 0;
    *used += (size_t)n;
    return true;
}

/* ------------------------------------------------------------------------------------- pieces */

static void resize(const struct keys *k, struct keys_piece *p, size_t room)
{
    uint8_t *bytes = realloc(p->bytes, room + JSON_PADDING);
    if (bytes == NULL)
        cli_fail(ENOMEM, "cannot hold %zu bytes of keys from %s", room, source_name(k->path));
    p->bytes = bytes;
    p->room = room;
}

/* Begins a piece with the partial key that is left from the last one. Returns the size of that. A
 * buffer that a long key enlarged shrinks again after a piece of normal size. */
static size_t begin_piece(struct keys *k, struct keys_piece *p)
{
    size_t rest = k->rest.size, room = piece_size(k);
    bool was_long = p->size > room;
    while (room <= rest)
        room *= 2;
    p->size = 0;
    if (p->room < room || (p->room > room && !was_long))
        resize(k, p, room);
    if (rest > 0)
        memcpy(p->bytes, k->rest.bytes, rest);
    k->rest.size = 0;
    return rest;
}

static void keep_rest(struct keys *k, const struct keys_piece *p, size_t used)
{
    size_t rest = used - p->size;
    if (rest > k->rest.room)
        resize(k, &k->rest, rest);
    if (rest > 0)
        memcpy(k->rest.bytes, p->bytes + p->size, rest);
    k->rest.size = rest;
}

/* Adds the end byte to the last line if it is missing. */
static void end_line(const struct keys *k, struct keys_piece *p, size_t used)
{
    p->size = used;
    if (used == 0 || p->bytes[used - 1] == k->split.end_byte)
        return;
    if (used == p->room)
        resize(k, p, used + 1);
    p->bytes[p->size++] = k->split.end_byte;
}

/* The end of an input ends its last line. An incomplete record and an open quote are errors, but
 * the complete records before them are returned first. */
static void end_input(struct keys *k, struct keys_piece *p, size_t used)
{
    const struct fields *f = &k->options.fields;
    const bool is_open = f->csv && k->csv == CSV_QUOTED;
    if (k->split.record_size == 0 && !is_open) {
        end_line(k, p, used);
        close_input(k);
    } else if (p->size == used) {
        close_input(k);
    } else if (p->size > 0) {
        keep_rest(k, p, used);
    } else if (is_open) {
        const struct fault_place at = { .input = source_name(k->path),
                                        .line = k->lines + 1 +
                                                csv_lines_to_open(f->delimiter, p->bytes, used) };
        refuse_record(k, fault_describe((struct fault){ .kind = FAULT_OPEN_QUOTE }, &at));
    } else {
        char reason[128];
        snprintf(reason, sizeof(reason), "its last record has %zu of %zu bytes", used,
                 k->split.record_size);
        give_up(k, "read", reason);
    }
}

/* Like split_whole(), also for CSV. */
static size_t whole_keys(struct keys *k, const uint8_t *bytes, size_t size, size_t seen)
{
    if (!k->options.fields.csv)
        return split_whole(&k->split, bytes, size, seen);
    const size_t whole = csv_whole(&k->csv, k->options.fields.delimiter, bytes + seen, size - seen);
    return whole > 0 ? seen + whole : 0;
}

/* Returns false if the input does not consist of keys; then the piece is empty. */
static bool judge(struct keys *k, struct keys_piece *p)
{
    char reason[INPUT_TYPE_REASON];
    if (input_type_judge_start(&k->start, source_name(k->path), &k->options, k->at_end, reason))
        return true;
    refuse(k, source_name(k->path), reason);
    p->size = 0;
    return false;
}

static void fill_piece(struct keys *k, struct keys_piece *p)
{
    const size_t least = k->options.piece_least;
    size_t used = begin_piece(k, p);
    while (!k->at_end && (p->size == 0 || p->size < least)) {
        if (used == p->room && p->size > 0)
            break;
        if (used == p->room)
            resize(k, p, 2 * p->room);
        size_t seen = used;
        if (!read_more(k, p, &used))
            return;
        input_type_arrived(&k->start, p->bytes + seen, used - seen);
        size_t whole = whole_keys(k, p->bytes, used, seen);
        if (whole > 0)
            p->size = whole;
        if (used >= INPUT_TYPE_SIZE && !judge(k, p))
            return;
    }
    if (!judge(k, p))
        return;
    if (k->at_end)
        end_input(k, p, used);
    else
        keep_rest(k, p, used);
}

/* Takes the header of each input. An input whose header differs from the first is refused. */
static void take_header(struct keys *k, struct keys_piece *p)
{
    char message[HEADER_LINE_MESSAGE];
    p->header = 0;
    p->is_first_header = false;
    if (!k->options.fields.header || k->headed || p->size == 0)
        return;
    k->headed = true;
    const struct fields *f = &k->options.fields;
    const uint8_t *end = memchr(p->bytes, k->split.end_byte, p->size);
    p->header = f->csv ? csv_first(f->delimiter, p->bytes, p->size) : (size_t)(end + 1 - p->bytes);
    p->is_first_header = k->header.bytes == NULL;
    const struct bloomfile_key line = { p->bytes, p->header - 1 };
    const char *path = source_name(k->path);
    const bool crlf = k->split.crlf;
    const bool is_same = header_line_take(&k->header, path, line, crlf, message);
    if (is_same && header_find_columns(&k->options.fields, path, line, crlf, message))
        return;
    refuse(k, "", message);
    p->size = 0;
    if (is_same) { /* the columns were missing, but the next input may have them */
        free(k->header.bytes);
        k->header = (struct header_line){ 0 };
    }
}

static bool is_given(const struct keys_piece *p)
{
    return p->operand == fault_command_line;
}

/* Stores in the piece all that a thread needs to split it. */
static void prepare(struct keys *k, struct keys_piece *p)
{
    p->path = source_name(k->path);
    p->operand = k->path;
    if (!split_makes_keys(&k->split) && !k->options.numbered)
        return;
    const size_t lines = is_given(p) ? 1 : split_count(&k->split, p->bytes, p->size);
    const uint64_t room = key_form_room(&k->options.key_form, &k->options.fields, p->size, lines);
    if (k->options.fields.json != NULL && p->json == NULL && (p->json = json_parser_new()) == NULL)
        cli_fail(ENOMEM, "cannot start reading JSON");
    p->number = k->pieces++;
    p->line = k->lines + 1;
    k->lines += lines;
    if (room <= p->joined_room && p->joined_room / 4 <= piece_size(k))
        return;
    free(p->joined);
    p->joined = fields_allocate(room + room / 4);
    if (p->joined == NULL)
        cli_fail(ENOMEM, "cannot hold the fields of %zu lines from %s", lines, p->path);
    p->joined_room = (size_t)(room + room / 4);
}

/* Makes a piece of the next key on the command line. It may have end bytes inside. */
static void give(struct keys *k, struct keys_piece *p)
{
    const size_t record = k->split.record_size;
    const char *key = k->options.given[k->given++];
    const size_t size = strlen(key);
    if (record > 0 && size != record)
        cli_usage("'%s' has %zu bytes, not the %zu of -x/--record-size", key, size, record);
    if (p->room < size + 1)
        resize(k, p, size + 1);
    memcpy(p->bytes, key, size);
    p->size = size;
    p->header = 0;
    p->is_first_header = false;
    if (record == 0)
        p->bytes[p->size++] = k->split.end_byte;
    k->path = fault_command_line;
    prepare(k, p);
}

bool keys_next_piece(struct keys *k, struct keys_piece *piece)
{
    if (k->given < k->options.given_count) {
        give(k, piece);
        return true;
    }
    do {
        if (is_stopped(k) || (!k->source.is_open && !open_next(k)))
            return false;
        fill_piece(k, piece);
        take_header(k, piece);
    } while (piece->size == 0);
    prepare(k, piece);
    return true;
}

void keys_piece_free(struct keys_piece *piece)
{
    free(piece->bytes);
    free(piece->joined);
    json_parser_free(piece->json);
}

struct split keys_split(const struct keys *k, const struct keys_piece *piece)
{
    struct split s = k->split;
    s.at = piece->bytes + piece->header;
    s.end = piece->bytes + piece->size;
    s.room = piece->joined;
    s.json = piece->json;
    s.whole = is_given(piece);
    s.first = s.at;
    s.line = piece->line + split_count(&s, piece->bytes, piece->header);
    return s;
}

void keys_end_split(struct keys *k, const struct split *split)
{
    if (split->skipped > 0)
        k->skipped += split->skipped;
}

void keys_tell_skipped(struct keys *k, uint64_t keys, bool quiet)
{
    const bool all = keys == 0 && k->skipped > 0 && k->errors == 0 && !is_stopped(k);
    if (!all && !quiet)
        fields_tell_skipped(&k->options.fields, NULL, k->skipped);
    if (!all)
        return;
    fields_tell_none(&k->options.fields, k->count == 1 ? source_name(k->paths[0]) : "all inputs",
                     k->options.keep_going);
    k->errors++;
}

/* --------------------------------------------------------------------------------------- keys */

/* Reports a faulty record and stops: later inputs would have such records too. */
static void end_at_fault(struct keys *k)
{
    refuse_record(k, split_describe(&k->left, source_name(k->path)));
    k->next = k->count;
    k->left = (struct split){ 0 };
}

size_t keys_next(struct keys *k, struct bloomfile_key *keys, size_t max)
{
    for (;;) {
        size_t n = split_next(&k->left, keys, max);
        if (n > 0)
            return n;
        keys_end_split(k, &k->left);
        k->left.skipped = 0;
        if (split_is_broken(&k->left))
            end_at_fault(k);
        if (!keys_next_piece(k, &k->piece))
            return 0;
        k->left = keys_split(k, &k->piece);
    }
}

unsigned keys_errors(const struct keys *k)
{
    return k->errors;
}

uint64_t keys_bytes(const struct keys *k)
{
    return k->source.bytes;
}

uint64_t keys_total(const struct keys *k)
{
    return k->total;
}

const char *keys_path(const struct keys *k)
{
    return source_name(k->path);
}

void keys_free(struct keys *k)
{
    close_input(k);
    free(k->rest.bytes);
    free(k->start.bytes);
    free(k->header.bytes);
    keys_piece_free(&k->piece);
    free(k);
}
