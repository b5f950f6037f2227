/* SPDX-License-Identifier: MIT
 *
 * The first half of the comparison: filters drop lines that are certainly not wanted, and the
 * remaining lines go to spools. No wanted line is dropped.
 */
#ifndef TOOLS_BFCOMMON_PASSES_H
#define TOOLS_BFCOMMON_PASSES_H

#include <bloomfile.h>

#include "bfcommon/spool.h"
#include "cli/names.h"
#include "filters/report.h"

#include <sys/stat.h>

/* ---- The files whose lines are compared. They stay open, so it does not matter if one is
 * replaced; but if they are too many for that, each is open while it is read. */

struct input {
    struct stretch where;
    struct keys_options form;
    struct stat before; /* as it was when it was opened */
    bool was_begun;     /* by input_begin() */
    bool by_turns;      /* it is open between input_begin() and input_end() only */
    struct spool *copy; /* of what can be read only once, if it was made */
    uint64_t lines;     /* estimated; UINT64_MAX if nothing is known */
};

/* Opens a file ("-" is standard input). A key may take up to `limit` bytes, and *form must
 * stay. Ends the program by cli_fail if it cannot be opened or is a directory. */
void input_open(struct input *in, const char *path, const struct keys_options *form, size_t limit);

/* Whether both would read from one pipe, each a part of what comes. */
bool input_is_same_pipe(const struct input *in, const struct input *other);

/* Copies what can be read only once, or is packed, to a temporary file, and turns to that. */
void input_keep(struct input *in, const char *folder, const struct keys_options *form);

/* Bytes, of what is packed about; UINT64_MAX if that is not known. */
uint64_t input_size(const struct input *in);

/* Whether it can be opened again. */
bool input_can_take_turns(const struct input *in);

/* Closes it until input_begin(). */
void input_take_turns(struct input *in);

/* Around each time that it is read. Both end the program by cli_fail if it is not the file, as it
 * was, that was opened at first. */
void input_begin(struct input *in);
void input_end(struct input *in);

/* Reads the header of an input that nobody needed to read. Ends the program by cli_fail if it is
 * another than that of the others. */
void input_check_header(struct input *in);

/* An input of the lines in a spool, which it takes. */
struct input input_of_spool(struct spool *s, size_t room);

/* Ends the program by cli_fail if the file has been written to since it was opened. */
void input_check_unchanged(const struct input *in);

void input_close(struct input *in);

/* ---- The passes. */

struct job {
    struct keys_options form, first_form; /* of the first input, if its fields differ */
    struct fields first, others;          /* fields given by -1 and -2; count 0: not given */
    const char *folder;                   /* for temporary files */
    uint64_t memory;
    struct input *inputs;
    size_t count;
    size_t at_once; /* inputs that there are descriptors for; at least 2 */
    struct header_line
        *header; /* that the inputs begin with: of keys that are fields one for each
                  * input, of others the first is that of all; NULL: they have none */
    bool difference, count_only, quiet, stats;
    struct report report;
    struct names names; /* of the inputs */
};

/* Shares of the memory: two filters or one sort, a key that is being read, and buffers. */
uint64_t memory_of_filter(uint64_t memory);
size_t memory_of_sort(uint64_t memory);
size_t memory_of_key(uint64_t memory);

/* kept[i]: lines of inputs[i], all those among them that are in all inputs, and some that are not.
 * false: there can be no common line, and kept[] is all NULL. */
bool passes_common(const struct job *job, struct spool **kept);

/* The first input against the others. */
struct parts {
    struct spool *certain;  /* its lines that are in no other */
    struct spool *doubtful; /* its other ones */
    struct spool *others;   /* those lines of the others that matter for the doubtful ones */
};
struct parts passes_difference(const struct job *job);

/* ---- A filter in memory, with a random seed: its false positives are different each time. */

struct filter {
    bloomfile_filter *f;
    uint64_t seed;
    uint64_t size; /* bytes */
    uint64_t keys; /* different ones, about */
};

/* For so many keys, if so much memory is enough for them; otherwise it is all used. Ends the
 * program by cli_fail for lack of memory. */
void filter_make(struct filter *filter, uint64_t keys, uint64_t memory);

void filter_add(struct filter *filter, const struct bloomfile_key *keys, size_t n);

/* Sets passed[i] to whether keys[i] may have been added. At most KEYS_BATCH of them. */
void filter_ask(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                bool *passed);

void filter_free(struct filter *filter);

#endif
