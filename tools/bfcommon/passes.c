/* SPDX-License-Identifier: MIT
 * Passes over the inputs through filters of the other inputs, so that few lines need sorting. */
#include "bfcommon/passes.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>

#include "bfcommon/lines.h"
#include "cli/cli.h"
#include "filters/params.h"
#include "format/min.h"

enum {
    ROOM = 1 << 18
};

struct pass {
    const struct stretch *from;
    const struct keys_options *form;
    const char *note;             /* for --stats: which lines are read */
    const struct filter *through; /* NULL: all lines pass */
    struct filter *into;          /* receives the lines that pass; may be NULL */
    struct spool *kept, *dropped; /* receive the lines that pass and the rest; may be NULL */
};

uint64_t memory_of_filter(uint64_t memory)
{
    return memory / 8 * 3;
}

size_t memory_of_sort(uint64_t memory)
{
    return (size_t)(memory / 2);
}

size_t memory_of_key(uint64_t memory)
{
    uint64_t most = UINT32_MAX / 2;
    return (size_t)(memory / 8 < most ? memory / 8 : most);
}

/* ----------------------------------------------------------------------------------- one pass */

/* Moves the keys that pass to the front, and the other keys after them. Returns how many pass. */
static size_t divide(const struct pass *p, struct bloomfile_key *keys, size_t n)
{
    bool passed[KEYS_BATCH];
    struct bloomfile_key others[KEYS_BATCH];
    size_t kept = 0, dropped = 0;
    if (p->through == NULL)
        return n;
    filter_ask(p->through, keys, n, passed);
    for (size_t i = 0; i < n; i++) {
        if (passed[i])
            keys[kept++] = keys[i];
        else
            others[dropped++] = keys[i];
    }
    for (size_t i = 0; i < dropped && p->dropped != NULL; i++)
        keys[kept + i] = others[i];
    return kept;
}

static void keep_all(struct spool *s, const struct bloomfile_key *keys, size_t n)
{
    for (size_t i = 0; i < n && s != NULL; i++)
        spool_add(s, &keys[i]);
}

static void tell(const struct job *job, const struct pass *p, uint64_t lines, uint64_t kept)
{
    char size[32], filter[64] = "";
    if (!job->stats)
        return;
    if (p->into != NULL)
        snprintf(filter, sizeof(filter), ", put into a filter of %s",
                 cli_bytes(size, sizeof(size), p->into->size));
    cli_note(0, "%s%s: %" PRIu64 " read, %" PRIu64 " kept%s", p->from->name, p->note, lines, kept,
             filter);
}

/* Reports skipped lines. `lines` is the number of lines that were not skipped. */
static void tell_skipped(const struct job *job, const struct pass *p, uint64_t skipped,
                         uint64_t lines)
{
    if (skipped > 0 && lines == 0)
        fields_tell_none(&p->form->fields, p->from->name, false);
    if (!job->quiet)
        fields_tell_skipped(&p->form->fields, p->from->name, skipped);
}

/* Returns the number of lines that passed. */
static uint64_t run(const struct job *job, const struct pass *p)
{
    struct bloomfile_key keys[KEYS_BATCH];
    struct stretch from = *p->from;
    from.silent = from.silent || job->quiet;
    struct lines *l = lines_open(p->form, &from);
    uint64_t lines = 0, kept = 0;
    for (size_t n; (n = lines_next(l, keys, KEYS_BATCH)) > 0;) {
        size_t passed = divide(p, keys, n);
        if (p->into != NULL)
            filter_add(p->into, keys, passed);
        keep_all(p->kept, keys, passed);
        keep_all(p->dropped, keys + passed, n - passed);
        lines += n;
        kept += passed;
    }
    if (p->note[0] == '\0')
        tell_skipped(job, p, lines_skipped(l), lines);
    lines_close(l);
    if (p->kept != NULL)
        spool_flush(p->kept);
    if (p->dropped != NULL)
        spool_flush(p->dropped);
    tell(job, p, lines, kept);
    return kept;
}

/* Runs a pass over an input. */
static void run_input(const struct job *job, struct input *in, struct pass *p)
{
    input_begin(in);
    p->from = &in->where;
    p->form = &in->form;
    run(job, p);
    input_end(in);
}

static struct spool *new_spool(const struct job *job)
{
    return spool_new(job->folder, &job->form);
}

/* Returns a filter of all lines of the first input, which is read again later. */
static struct filter filter_first(const struct job *job)
{
    struct input *first = &job->inputs[0];
    struct filter filter;
    input_keep(first, job->folder, &job->form);
    filter_make(&filter, first->lines, memory_of_filter(job->memory));
    run_input(job, first, &(struct pass){ .note = "", .into = &filter });
    return filter;
}

/* --------------------------------------------------------------------------------- common lines */

/* Passes lines through a filter into a new spool, and replaces the filter by a filter of the lines
 * that passed. `keys` is an upper limit for their number, approximately. */
static struct spool *strain(const struct job *job, const struct stretch *from,
                            const struct keys_options *form, const char *note, uint64_t keys,
                            struct filter *filter)
{
    struct filter next;
    struct spool *kept = new_spool(job);
    filter_make(&next, MIN(keys, filter->keys), memory_of_filter(job->memory));
    run(job, &(struct pass){ .from = from,
                             .form = form,
                             .note = note,
                             .through = filter,
                             .into = &next,
                             .kept = kept });
    filter_free(filter);
    *filter = next;
    return kept;
}

static void strain_input(const struct job *job, size_t i, const char *note, struct filter *filter,
                         struct spool **kept)
{
    struct input *in = &job->inputs[i];
    input_begin(in);
    kept[i] = strain(job, &in->where, &in->form, note, in->lines, filter);
    input_end(in);
}

static void strain_again(const struct job *job, size_t i, struct filter *filter,
                         struct spool **kept)
{
    struct spool *before = kept[i];
    struct stretch from = spool_all(before, ROOM);
    from.name = job->inputs[i].where.name;
    kept[i] = strain(job, &from, &before->form, ", kept lines", before->keys, filter);
    spool_free(before);
}

static uint64_t total_bytes(const struct job *job, struct spool *const *kept)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->count; i++)
        bytes += kept[i]->bytes;
    return bytes;
}

/* Whether more passes may help: many of the lines kept are in only some inputs, and
 * together they are too many to sort in memory. `keys` is the number of distinct lines kept
 * of the first input. */
static bool can_do_better(const struct job *job, struct spool *const *kept, uint64_t keys)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < job->count; i++)
        lines += kept[i]->keys;
    return lines / 5 * 4 > job->count * keys &&
           total_bytes(job, kept) > memory_of_sort(job->memory);
}

/* Repeats passes over the spools as long as each drops at least a quarter of the bytes. */
static void repeat(const struct job *job, struct filter *filter, struct spool **kept)
{
    uint64_t before = UINT64_MAX, now = total_bytes(job, kept);
    while (now < before - before / 4 && can_do_better(job, kept, filter->keys)) {
        before = now;
        for (size_t i = 1; i < job->count; i++)
            strain_again(job, i, filter, kept);
        strain_again(job, 0, filter, kept);
        now = total_bytes(job, kept);
    }
}

/* Each input is read through the filter of the lines that passed from the input before it, so the
 * filter shrinks to lines that all inputs may share. The first input is read again at the end. */
bool passes_common(const struct job *job, struct spool **kept)
{
    struct filter filter = filter_first(job);
    for (size_t i = 1; i < job->count && filter.keys > 0; i++)
        strain_input(job, i, "", &filter, kept);
    bool some = filter.keys > 0;
    if (some) {
        strain_input(job, 0, " again", &filter, kept);
        repeat(job, &filter, kept);
    }
    for (size_t i = 0; i < job->count && !some; i++) {
        spool_free(kept[i]);
        kept[i] = NULL;
    }
    filter_free(&filter);
    return some;
}

/* ----------------------------------------------------------------------------------- difference */

/* The other inputs are read through the filter of the first, and leave a filter of the lines that
 * passed. A line of the first input that does not pass that filter is in no other input. */
struct parts passes_difference(const struct job *job)
{
    struct parts parts = { new_spool(job), new_spool(job), new_spool(job) };
    struct filter filter = filter_first(job), others;
    uint64_t lines = 0;
    for (size_t i = 1; i < job->count; i++)
        lines += MIN(job->inputs[i].lines, filter.keys);
    filter_make(&others, MIN(lines, filter.keys), memory_of_filter(job->memory));
    for (size_t i = 1; i < job->count; i++)
        run_input(job, &job->inputs[i],
                  &(struct pass){
                      .note = "", .through = &filter, .into = &others, .kept = parts.others });
    filter_free(&filter);
    run_input(job, &job->inputs[0],
              &(struct pass){ .note = " again",
                              .through = &others,
                              .kept = parts.doubtful,
                              .dropped = parts.certain });
    filter_free(&others);
    return parts;
}

/* ---- A blocked filter of an input's keys. */

enum {
    BITS_PER_KEY = 24, /* about one key in ten thousand passes by mistake */
    MOST_HASHES = 8    /* more hashes would cost more time than they save */
};

void filter_make(struct filter *filter, uint64_t keys, uint64_t memory)
{
    uint64_t most = memory * 8;
    uint64_t bits = keys < most / BITS_PER_KEY ? keys * BITS_PER_KEY : most;
    const uint32_t block = bloomfile_traits_of(BLOOMFILE_LAYOUT_BLOCKED)->unit_cells;
    bits = (bits / block + 1) * block;
    *filter = (struct filter){ .size = bits / 8 };
    filter->seed = params_random();
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_size size;
    params.layout = BLOOMFILE_LAYOUT_BLOCKED;
    params.bits = bits;
    params.capacity = keys > 0 ? keys : 1;
    params.hashes =
        params_size(&params, &size) && size.hashes < MOST_HASHES ? size.hashes : MOST_HASHES;
    params.capacity = 0;
    params.seed = filter->seed;
    int error = bloomfile_create_memory(&filter->f, &params,
                                        BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_OVER_CAPACITY);
    if (error != 0)
        cli_fail(error, "cannot create a filter in memory");
}

static void hash_all(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                     bloomfile_digest *digests)
{
    for (size_t i = 0; i < n; i++)
        digests[i] = bloomfile_hash(filter->seed, keys[i].data, keys[i].size);
}

void filter_add(struct filter *filter, const struct bloomfile_key *keys, size_t n)
{
    bloomfile_digest digests[KEYS_BATCH];
    size_t new_keys;
    hash_all(filter, keys, n, digests);
    int error = bloomfile_add_digests(filter->f, digests, n, NULL, &new_keys, NULL);
    if (error != 0)
        cli_fail(error, "cannot add to a filter in memory");
    filter->keys += new_keys;
}

void filter_ask(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                bool *passed)
{
    bloomfile_digest digests[KEYS_BATCH];
    hash_all(filter, keys, n, digests);
    bloomfile_contains_digests(filter->f, digests, n, passed);
}

void filter_free(struct filter *filter)
{
    bloomfile_close(filter->f);
    *filter = (struct filter){ 0 };
}
