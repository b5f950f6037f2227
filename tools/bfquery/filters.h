/* SPDX-License-Identifier: MIT
 *
 * The filters to look up: one, or several in one pass over the keys.
 */
#ifndef BLOOMFILE_TOOLS_QUERY_FILTERS_H
#define BLOOMFILE_TOOLS_QUERY_FILTERS_H

#include "keys/batch.h"
#include "keys/key_list.h"

#include <bloomfile.h>
#include <sys/stat.h>

struct filters_one {
    const char *path;
    bloomfile_filter *f;
    uint64_t seed;
    bool folds;       /* this filter holds lower-case keys, but not all filters do */
    uint64_t matches; /* for the caller */
    struct stat file; /* the path names it, or did before it was opened */
};

/* Begins as all zero. */
struct filters {
    struct filters_one *list; /* as they were named */
    size_t count;
    size_t *order; /* of lookups: filters with the same digests follow one another */
    bool all;      /* a key must be in all of them, and not only in one */
    bool apart;    /* filters_has() is needed */
    bool parents;  /* keys are domain names; one also matches if a parent does, */
    const struct key_list *unless; /* except keys and parents in this list */
};

void filters_name(struct filters *fs, const char *path);

/* Opens the filters. Errors, including keys of another kind than the filter's, end the program by
 * cli_fail. If all filters hold lower-case keys, the keys read are folded. */
void filters_open(struct filters *fs, unsigned flags, struct keys_options *keys);

/* The seed for the digests of a batch. */
uint64_t filters_seed(const struct filters *fs);

/* Sets b->chosen[i] to whether the key may be in any filter, or in all. By several threads. */
void filters_ask(const struct filters *fs, struct batch *b);

/* Whether the key may be in a filter, after filters_ask(). */
bool filters_has(const struct batch *b, size_t filter, size_t key);

/* Looks at the files: whether answers that were given so far may be wrong, if `absent` is true
 * those that a key is not in the filter. */
bool filters_distrusted(const struct filters *fs, bool absent);

/* The path of a filter that was replaced or removed since it was opened; NULL: none was. */
const char *filters_replaced(const struct filters *fs);

/* Names the filters that turned out to be damaged. Returns whether any did. *distrusted: as
 * filters_distrusted(). */
bool filters_tell_damage(const struct filters *fs, bool absent, bool *distrusted);

void filters_close(struct filters *fs);

/* ---- The output for lines: a mark, the input, the line number, and the filters that possibly
 * contain the key. */

struct print {
    bool marks; /* print every line, after 1 or 0 and a tab */
    bool inputs, numbers, filters;
    const struct filters *names;
};

/* Whether anything is printed; otherwise lines are printed by batch_gather() and batch_write(). */
bool print_tells(const struct print *p);

/* Puts the chosen lines into b->text, behind the header, if it is the first one. */
void print_gather(const struct print *p, struct batch *b);

/* The parts of that: the header line, if the batch begins with it; and one line. Line numbers are
 * counted up to `at`. */
struct print_place {
    uint64_t number; /* of the line there */
    const uint8_t *counted;
};
void print_header(const struct print *p, struct batch *b);
struct print_place print_start(const struct batch *b);
void print_line(const struct print *p, struct batch *b, size_t key, struct print_place *at);

/* Ends the program by cli_usage() if the name of a filter looks like the text that follows it. */
void print_check_names(const struct print *p);

#endif
