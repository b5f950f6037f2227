/* SPDX-License-Identifier: MIT
 * The filters to query, in a single pass over the keys. */
#ifndef BLOOMFILE_TOOLS_QUERY_FILTERS_H
#define BLOOMFILE_TOOLS_QUERY_FILTERS_H

#include "keys/batch.h"
#include "keys/key_list.h"

#include <bloomfile.h>
#include <sys/stat.h>

/* For a file that does not exist: a key may have been given in its place. */
#define FILTERS_MISSING "No such file or directory (for a key: bfquery -e KEY FILE)"

struct filters_one {
    const char *path;
    bloomfile_filter *f;
    uint64_t seed;
    bool folds;       /* this filter holds lowercase keys, but not all filters do */
    uint64_t matches; /* for the caller */
    struct stat file; /* the file that the path named just before it was opened */
};

/* Initialize it with zeros. */
struct filters {
    struct filters_one *list; /* as they were named */
    size_t count;
    size_t *order;                 /* of lookups: filters with the same digests are adjacent */
    bool all;                      /* a key must be in all filters; otherwise in any */
    bool apart;                    /* filters_has() is needed */
    bool parents;                  /* keys are domain names, and match if a parent does, */
    const struct key_list *unless; /* except keys and parents in this list */
};

void filters_name(struct filters *fs, const char *path);

/* Opens the filters. An error, such as keys that a filter does not accept, ends the program through
 * cli_fail(). If all filters hold lowercase keys, the keys read are folded. */
void filters_open(struct filters *fs, unsigned flags, struct keys_options *keys);

/* The seed for the digests of a batch. */
uint64_t filters_seed(const struct filters *fs);

/* Sets b->chosen[i] to whether the key may be in any filter, or in all filters. Thread-safe. */
void filters_ask(const struct filters *fs, struct batch *b);

/* Whether the key may be in a filter, after filters_ask(). */
bool filters_has(const struct batch *b, size_t filter, size_t key);

/* Checks the files again. Returns whether results so far may be wrong; if `absent`, whether results
 * that a key is absent may be wrong. */
bool filters_distrusted(const struct filters *fs, bool absent);

/* The path of a filter that was replaced or removed after it was opened, or NULL. */
const char *filters_replaced(const struct filters *fs);

/* Warns about each filter that turned out to be damaged. Returns whether any filter is. Sets
 * *distrusted as filters_distrusted() returns it. */
bool filters_tell_damage(const struct filters *fs, bool absent, bool *distrusted);

void filters_close(struct filters *fs);

/* ---- The output for lines: a mark, the input, the line number, and the filters that possibly
 * contain the key. */

struct print {
    bool marks; /* print every line, after 1 or 0 and a tab */
    bool inputs, numbers, filters;
    const struct filters *names;
};

/* Whether lines get a prefix. If not, they are printed by batch_gather() and batch_write(). */
bool print_tells(const struct print *p);

/* Appends the chosen lines to b->text, after the header of the first input. */
void print_gather(const struct print *p, struct batch *b);

/* The parts of print_gather(): the header, if the batch begins with the first one; and a line. Line
 * numbers are counted up to `at`. */
struct print_place {
    uint64_t number; /* number of the line at `counted` */
    const uint8_t *counted;
};
void print_header(const struct print *p, struct batch *b);
struct print_place print_start(const struct batch *b);
void print_line(const struct print *p, struct batch *b, size_t key, struct print_place *at);

/* Ends the program through cli_usage() if a filter's name contains a separator of the output. */
void print_check_names(const struct print *p);

#endif
