/* SPDX-License-Identifier: MIT
 * Whole lines with wanted keys. Each line is sorted with its key before it, so that it comes where
 * the key does. */
#include "bfcommon/whole_lines.h"
#include "bfcommon/join.h"

#include <string.h>

enum {
    ROOM = 1 << 18,
    AHEAD = 64
};

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

/* The lines that may be wanted, each behind its key. */
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

/* Of a key with the beginning of the pair; no closed key is the beginning of another. */
static int compare(const struct bloomfile_key *key, const struct bloomfile_key *pair)
{
    const struct bloomfile_key begin = { pair->data,
                                         pair->size < key->size ? pair->size : key->size };
    return lines_compare(key, &begin);
}

/* Both are sorted. */
static uint64_t print_wanted(const struct job *job, struct extsort *pairs, struct lines *wanted)
{
    struct bloomfile_key keys[AHEAD], pair;
    size_t at = 0, count = lines_next(wanted, keys, AHEAD);
    uint64_t printed = 0;
    while (count > 0 && extsort_next(pairs, &pair)) {
        int order = 0;
        while (count > 0 && (order = compare(&keys[at], &pair)) < 0) {
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
