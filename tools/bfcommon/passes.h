/* SPDX-License-Identifier: MIT
 * The first half of the comparison: filters drop lines that are certainly not wanted, and the
 * remaining lines go to spools. No wanted line is dropped. */
#ifndef TOOLS_BFCOMMON_PASSES_H
#define TOOLS_BFCOMMON_PASSES_H

#include <bloomfile.h>

#include "bfcommon/spool.h"
#include "cli/names.h"
#include "filters/report.h"

#include <sys/stat.h>

/* ---- The files whose lines are compared. They stay open, so replacing a file on disk does no
 * harm. If there are too many of them, each is open only while it is read. */

struct input {
    struct stretch where;
    struct keys_options form;
    struct stat before; /* state of the file when it was opened */
    bool was_begun;     /* by input_begin() */
    bool by_turns;      /* it is open only between input_begin() and input_end() */
    struct spool *copy; /* temporary copy, made if it can be read only once */
    uint64_t lines;     /* estimated; UINT64_MAX if unknown */
};

/* Opens a file ("-" is standard input). A key may take up to `limit` bytes. *form must stay valid.
 * Ends the program through cli_fail() if the file cannot be opened or is a directory. */
void input_open(struct input *in, const char *path, const struct keys_options *form, size_t limit);

/* Whether both inputs are the same pipe, so that each would get only a part of the data. */
bool input_is_same_pipe(const struct input *in, const struct input *other);

/* If the input can be read only once or is compressed, copies it to a temporary file
 * and uses that. */
void input_keep(struct input *in, const char *folder, const struct keys_options *form);

/* The size in bytes, estimated if compressed; UINT64_MAX if unknown. */
uint64_t input_size(const struct input *in);

/* Whether the input can be closed and opened again. */
bool input_can_take_turns(const struct input *in);

/* Closes the input until input_begin(). */
void input_take_turns(struct input *in);

/* Call these around each read of the whole input. Both end the program through cli_fail() if the
 * file has been replaced or changed since it was first opened. */
void input_begin(struct input *in);
void input_end(struct input *in);

/* Reads the header of an input that was never read otherwise. Ends the program through cli_fail()
 * if the header differs from that of the other inputs. */
void input_check_header(struct input *in);

/* Makes an input of the lines in a spool, and takes ownership of the spool. */
struct input input_of_spool(struct spool *s, size_t room);

/* Ends the program through cli_fail() if the file was changed since it was opened. */
void input_check_unchanged(const struct input *in);

void input_close(struct input *in);

/* ---- The passes. */

struct job {
    struct keys_options form, first_form; /* first_form: of the first input */
    struct fields first, others;          /* from -1 and -2; count 0: not given */
    const char *folder;                   /* for temporary files */
    uint64_t memory;
    struct input *inputs;
    size_t count;
    size_t at_once;             /* inputs for which there are descriptors; at least 2 */
    struct header_line *header; /* headers: one per input if keys are fields, otherwise one for all;
                                   NULL: no headers */
    bool difference, count_only, quiet, stats;
    struct report report;
    struct names names; /* of the inputs */
};

/* Shares of the memory. At any time there are two filters or one sort, a key that is being
 * read, and buffers. */
uint64_t memory_of_filter(uint64_t memory);
size_t memory_of_sort(uint64_t memory);
size_t memory_of_key(uint64_t memory);

/* Sets kept[i] to lines of inputs[i]: all lines that are in every input, and some other lines.
 * Returns false if a common line is impossible; then all kept[] are NULL. */
bool passes_common(const struct job *job, struct spool **kept);

/* The first input, compared with the other inputs. */
struct parts {
    struct spool *certain;  /* lines that no other input has */
    struct spool *doubtful; /* the rest of its lines */
    struct spool *others;   /* lines of the other inputs that may equal doubtful lines */
};
struct parts passes_difference(const struct job *job);

/* ---- A filter in memory. Its seed is random, so that its false positives differ each time. */

struct filter {
    bloomfile_filter *f;
    uint64_t seed;
    uint64_t size; /* bytes */
    uint64_t keys; /* distinct keys, approximately */
};

/* Makes a filter for `keys` keys, which uses at most `memory` bytes. Running out of memory ends the
 * program through cli_fail(). */
void filter_make(struct filter *filter, uint64_t keys, uint64_t memory);

void filter_add(struct filter *filter, const struct bloomfile_key *keys, size_t n);

/* Sets passed[i] to whether keys[i] may have been added. n is at most KEYS_BATCH. */
void filter_ask(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                bool *passed);

void filter_free(struct filter *filter);

#endif
