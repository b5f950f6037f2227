/* SPDX-License-Identifier: MIT
 * Merging sorted inputs line by line, and printing lines. */
#include "bfcommon/join.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"

enum {
    ROOM = 1 << 18,
    AHEAD = 64
};

/* The lines to print of two sorted sequences. */
enum {
    ONLY_LEFT = 1,
    BOTH = 2,
    ONLY_RIGHT = 4
};

/* A sorted spool that is read one line at a time. */
struct reader {
    struct lines *lines;
    struct bloomfile_key keys[AHEAD];
    size_t at, count;
};

/* Where lines go: into a spool, or, if that is NULL, to standard output. They may also
 * only be counted. */
struct output {
    const struct job *job;
    struct spool *spool;
    uint64_t lines;
};

static void print_end(const struct job *job)
{
    char end;
    size_t end_size = lines_end(&job->form, &end);
    cli_write(&end, end_size);
}

/* Keeps the carriage return only if whole lines are printed. */
void join_print_header(const struct job *job)
{
    const struct header_line *h = job->header;
    if (h == NULL || h->bytes == NULL || job->count_only)
        return;
    const bool cut = job->form.crlf && !keys_are_made(&job->form);
    cli_write(h->bytes, h->size - (cut && h->size > 0 && h->bytes[h->size - 1] == '\r'));
    print_end(job);
}

void join_print(const struct job *job, uint64_t before, const struct bloomfile_key *line)
{
    if (job->count_only)
        return;
    if (before == 0)
        join_print_header(job);
    if (keys_are_made(&job->form) && lines_have_escapes(&job->form))
        lines_print(*line);
    else
        cli_write(line->data, line->size);
    print_end(job);
}

static void put(struct output *out, const struct bloomfile_key *key)
{
    if (out->spool != NULL)
        spool_add(out->spool, key);
    else
        join_print(out->job, out->lines, key);
    out->lines++;
}

static const struct bloomfile_key *peek(struct reader *r)
{
    if (r->at == r->count && r->lines != NULL) {
        r->at = 0;
        r->count = lines_next(r->lines, r->keys, AHEAD);
    }
    return r->at < r->count ? &r->keys[r->at] : NULL;
}

/* Negative: the left line comes first. A sequence that has ended comes last. */
static int compare(const struct bloomfile_key *left, const struct bloomfile_key *right)
{
    if (left == NULL || right == NULL)
        return left == NULL ? 1 : -1;
    return lines_compare(left, right);
}

static void merge_join(struct extsort *sorted, struct reader *right, unsigned wanted,
                       struct output *out)
{
    struct bloomfile_key left;
    bool has_left = extsort_next(sorted, &left);
    for (;;) {
        const struct bloomfile_key *other = peek(right);
        if (!has_left && other == NULL)
            return;
        int order = compare(has_left ? &left : NULL, other);
        unsigned kind = order < 0 ? ONLY_LEFT : order > 0 ? ONLY_RIGHT : BOTH;
        if (wanted & kind)
            put(out, kind == ONLY_RIGHT ? other : &left);
        if (order >= 0)
            right->at++;
        if (order <= 0)
            has_left = extsort_next(sorted, &left);
    }
}

struct extsort *join_sort(const struct job *job, const struct spool *s)
{
    struct bloomfile_key keys[KEYS_BATCH];
    struct stretch where = spool_all(s, ROOM);
    where.name = "sorting";
    where.silent = job->quiet;
    uint64_t needed = extsort_needs(s->keys, s->bytes), most = memory_of_sort(job->memory);
    struct extsort *sorted =
        extsort_new(job->folder, &s->form, (size_t)(needed < most ? needed : most));
    struct lines *l = lines_open(&s->form, &where);
    for (size_t n; (n = lines_next(l, keys, KEYS_BATCH)) > 0;) {
        for (size_t i = 0; i < n; i++)
            extsort_add(sorted, &keys[i]);
    }
    lines_close(l);
    return sorted;
}

/* Sorts `left`, compares it with `right`, and frees both. `right` is sorted; NULL: no lines. */
static void join(struct spool *left, struct spool *right, unsigned wanted, struct output *out)
{
    struct reader reader = { 0 };
    struct extsort *sorted = join_sort(out->job, left);
    spool_free(left);
    extsort_finish(sorted);
    if (right != NULL) {
        struct stretch where = spool_all(right, ROOM);
        reader.lines = lines_open(&right->form, &where);
    }
    merge_join(sorted, &reader, wanted, out);
    if (out->spool != NULL)
        spool_flush(out->spool);
    if (right != NULL)
        lines_close(reader.lines);
    spool_free(right);
    extsort_free(sorted);
}

static struct spool *join_to_spool(const struct job *job, struct spool *left, struct spool *right,
                                   unsigned wanted)
{
    struct output out = { .job = job, .spool = spool_new(job->folder, &job->form) };
    join(left, right, wanted, &out);
    return out.spool;
}

/* Returns the lines that all inputs but the last have in common. */
static struct spool *join_all_but_last(const struct job *job, struct spool **kept)
{
    struct spool *common = join_to_spool(job, kept[0], NULL, ONLY_LEFT);
    for (size_t i = 1; i + 1 < job->count; i++)
        common = join_to_spool(job, kept[i], common, BOTH);
    return common;
}

uint64_t join_common(const struct job *job, struct spool **kept, struct spool *into)
{
    struct output out = { .job = job, .spool = into };
    struct spool *common = join_all_but_last(job, kept);
    join(kept[job->count - 1], common, BOTH, &out);
    memset(kept, 0, job->count * sizeof(struct spool *));
    return out.lines;
}

uint64_t join_difference(const struct job *job, struct parts *parts, struct spool *into)
{
    struct output out = { .job = job, .spool = into };
    struct spool *others = join_to_spool(job, parts->others, NULL, ONLY_LEFT);
    struct spool *cleared = join_to_spool(job, parts->doubtful, others, ONLY_LEFT);
    join(parts->certain, cleared, ONLY_LEFT | BOTH | ONLY_RIGHT, &out);
    return out.lines;
}

/* ---- Whole lines with wanted keys. Each line is sorted with its key in front, so that it sorts as
 * the key does. */

static struct filter filter_of(const struct job *job, const struct spool *keys)
{
    struct bloomfile_key some[KEYS_BATCH];
    struct filter filter;
    const struct stretch where = spool_all(keys, ROOM);
    struct lines *l = lines_open(&keys->form, &where);
    filter_make(&filter, keys->keys, memory_of_filter(job->memory));
    for (size_t n; (n = lines_next(l, some, KEYS_BATCH)) > 0;)
        filter_add(&filter, some, n);
    lines_close(l);
    return filter;
}

/* Returns the lines that may be wanted, each after its key. */
static struct spool *keep(const struct job *job, struct input *in, const struct filter *filter)
{
    struct bloomfile_key keys[KEYS_BATCH], lines[KEYS_BATCH];
    bool passed[KEYS_BATCH];
    struct spool *kept = spool_new(job->folder, &job->form);
    input_begin(in);
    struct stretch where = in->where;
    where.silent = where.silent || job->quiet;
    struct lines *l = lines_open(&in->form, &where);
    for (size_t n; (n = lines_next_whole(l, keys, lines, KEYS_BATCH)) > 0;) {
        filter_ask(filter, keys, n, passed);
        for (size_t i = 0; i < n; i++) {
            if (passed[i])
                spool_add_pair(kept, &keys[i], &lines[i]);
        }
    }
    lines_close(l);
    input_end(in);
    input_check_unchanged(in);
    spool_flush(kept);
    return kept;
}

/* Compares a key with the key in front of a pair. No key is a prefix of another. */
static int compare_key(const struct bloomfile_key *key, const struct bloomfile_key *pair)
{
    const struct bloomfile_key begin = { pair->data,
                                         pair->size < key->size ? pair->size : key->size };
    return lines_compare(key, &begin);
}

/* Both sequences are sorted. */
static uint64_t print_wanted(const struct job *job, struct extsort *pairs, struct lines *wanted)
{
    struct bloomfile_key keys[AHEAD], pair;
    size_t at = 0, count = lines_next(wanted, keys, AHEAD);
    uint64_t printed = 0;
    while (count > 0 && extsort_next(pairs, &pair)) {
        int order = 0;
        while (count > 0 && (order = compare_key(&keys[at], &pair)) < 0) {
            if (++at < count)
                continue;
            at = 0;
            count = lines_next(wanted, keys, AHEAD);
        }
        if (count == 0 || order > 0)
            continue;
        const size_t size = keys[at].size;
        join_print(job, printed++,
                   &(struct bloomfile_key){ (const uint8_t *)pair.data + size, pair.size - size });
    }
    return printed;
}

uint64_t whole_lines(const struct job *job, struct input *in, struct spool *keys)
{
    struct filter filter = filter_of(job, keys);
    struct spool *kept = keep(job, in, &filter);
    filter_free(&filter);
    struct extsort *pairs = join_sort(job, kept);
    spool_free(kept);
    extsort_finish(pairs);
    const struct stretch where = spool_all(keys, ROOM);
    struct lines *wanted = lines_open(&keys->form, &where);
    const uint64_t printed = print_wanted(job, pairs, wanted);
    lines_close(wanted);
    extsort_free(pairs);
    spool_free(keys);
    return printed;
}
