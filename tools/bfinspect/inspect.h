/* SPDX-License-Identifier: MIT
 * The report on a file: the facts, the verdict, and the functions that print both. A report goes
 * through inspect_read(), inspect_verdict(), inspect_page() or inspect_json(), and inspect_free().
 */
#ifndef BLOOMFILE_TOOLS_INSPECT_H
#define BLOOMFILE_TOOLS_INSPECT_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include <stdio.h>
#include <sys/stat.h>

#include "cli/names.h"
#include "cli/text.h"
#include "filters/report.h"
#include "filters/series.h"
#include "keys/keys.h"
#include "picture/picture.h"

/* Feature bits that say no more than a field does: kind of keys; series and slices. */
#define INSPECT_KNOWN_COMPAT   1u
#define INSPECT_KNOWN_INCOMPAT 3u

struct inspect_options {
    bool fields, verify, quick, map, quiet, force;
    bool utf8;  /* text may keep its letters beyond ASCII */
    char *keys; /* NULL: none to check */
    const char *svg;
    struct report report;
    struct names files;
    unsigned open_flags;
    unsigned threads; /* to verify with; 0: the caller's alone */
    struct keys_options keys_form;
};

/* Exit status, and what a verdict amounts to. */
enum {
    INSPECT_HEALTHY = 0,
    INSPECT_PROMISE_BROKEN = 1, /* readable, but not all that it should be */
    INSPECT_UNUSABLE = 2,
};

/* How far reading came. */
enum inspect_depth {
    INSPECT_NOTHING, /* no bytes: missing, a directory, empty ... */
    INSPECT_BYTES,   /* some bytes, and what bloomfile_inspect() says of them */
    INSPECT_HEADER,  /* a valid header */
    INSPECT_BODY,    /* a body that was read as far as the options ask */
};

enum {
    INSPECT_HEADER_SIZE = 4096,
    INSPECT_FAULTS = 32,
    INSPECT_FLIPS = 3,
    INSPECT_MISSING = 5,
};

/* One bit of the header that changed since it was written. */
struct inspect_flip {
    uint64_t offset; /* of the byte */
    unsigned bit;    /* 0 to 7 */
};

struct inspect_range {
    double least, most, mean;
};

/* The pages of a layout that is solved. */
struct inspect_solution {
    uint64_t pages; /* 0: it is another layout, or was not measured */
    uint64_t lines;
    uint64_t unsolved;            /* pages */
    uint64_t reseeded, enlarged;  /* pages that took a further seed, or further groups */
    double further;               /* such groups a page, on average */
    struct inspect_range groups;  /* of a page that is solved */
    struct inspect_range columns; /* of a group there */
};

/* One image, as far as it was read. */
struct inspect_layer {
    char *name;  /* live: of its file */
    uint64_t at; /* sealed: where it begins in the file */
    struct bloomfile_info info;
    bool in_use, verified, measured;
    struct bloomfile_measurement measure;
    struct inspect_solution solution;
    int error; /* what is wrong with its body: BLOOMFILE_E*, or 0 */
    struct picture map;
};

struct inspect_report {
    const char *path;
    struct stat stat;
    uint64_t size; /* of the file */
    enum inspect_depth depth;
    int error; /* why the filter cannot be used: an errno, BLOOMFILE_E*, or 0 */

    uint8_t bytes[INSPECT_HEADER_SIZE];
    size_t have;                    /* of them */
    struct bloomfile_field *fields; /* those of which the file has all bytes, by offset */
    size_t field_count;
    struct bloomfile_info info;
    struct bloomfile_fault faults[INSPECT_FAULTS];
    size_t fault_count;
    struct inspect_flip flips[INSPECT_FLIPS]; /* turned back, the header is valid */
    size_t flip_count;

    /* Of a series, oldest first, and what the members above and below say of all of them. Why it
     * cannot be opened, if a file of it is to blame. */
    struct inspect_layer *layers;
    size_t layer_count;
    bool is_explained;
    char explanation[SERIES_TEXT];

    bool in_use;      /* live: programs have it open for writing */
    bool unclean;     /* live: the machine went down meanwhile */
    bool rewritten;   /* after its header was read */
    bool interrupted; /* the file shrank, or the disk failed, while the body was read */
    bool verified;    /* the whole body was checked and is right */
    bool measured;
    struct bloomfile_measurement measure;
    struct inspect_solution solution;
    struct picture map, image;

    bool keys_checked;
    uint64_t keys_count, keys_missing;
    uint64_t keys_own; /* to which the filter can say no: of a slice, those that belong there */
    char *missing[INSPECT_MISSING]; /* the first ones, safe to print */

    int status; /* INSPECT_HEALTHY ... */
    char verdict[SERIES_TEXT + 512];
    char advice[SERIES_TEXT]; /* what to do about it; may be empty */
};

/* ---- finding out */

void inspect_read(struct inspect_report *r, const struct inspect_options *options);
void inspect_free(struct inspect_report *r);

/* Verifies and measures the body, or that of each layer, as far as the options ask. */
void inspect_bodies(struct inspect_report *r, const bloomfile_filter *f,
                    const struct inspect_options *options);

/* Of all pages. */
void inspect_solution(struct inspect_solution *s, const bloomfile_filter *f);

/* Whether the file is one layer of a live series, and not the one by which that is opened. */
bool inspect_is_part(const struct inspect_report *r);

/* Whether no program has the live filter open for writing, and the last one left it in order. */
bool inspect_is_clean(const struct bloomfile_info *info);

/* Whether only the application that made the filter can look up keys. */
bool inspect_hash_is_applications(const struct inspect_report *r);

/* Sets r->verdict, advice and status. */
void inspect_verdict(struct inspect_report *r, bool verify);

/* Looks for flipped bits that explain a damaged header, and sets r->flips only if they do. */
void inspect_find_flips(struct inspect_report *r);

/* ---- saying so */

/* The page for people. */
void inspect_page(FILE *out, const struct inspect_report *r, const struct inspect_options *options);

/* The same as JSON. */
json *inspect_json(const struct inspect_report *r);

/* "blocked, 6144 bits, ...": one line below a picture. */
void inspect_caption(char *text, size_t size, const struct inspect_report *r);

/* ---- the header's fields, from the bytes themselves */

/* Sets r->fields. */
void inspect_list_fields(struct inspect_report *r);

/* Whether the file has all bytes of a field of the static header. */
bool inspect_has_field(const struct inspect_report *r, const char *name);

/* "k", "record 0 n", "reserved bytes": what is at an offset of the header. Returns text. */
char *inspect_field_at(const struct inspect_report *r, uint64_t offset, char *text, size_t size);

/* The size of a label without the zero bytes behind it. */
size_t inspect_label_size(const uint8_t *label, size_t size);

/* The value as the page shows it. Returns text. */
char *inspect_field_text(const struct inspect_report *r, const struct bloomfile_field *field,
                         bool utf8, char *text, size_t size);

/* Is this field, or a record as a whole if `field` is its first, one that a fault names? */
const struct bloomfile_fault *inspect_field_fault(const struct inspect_report *r,
                                                  const struct bloomfile_field *field);

/* A little-endian number of 1 to 8 bytes. */
uint64_t inspect_number(const uint8_t *bytes, size_t size);

/* ---- The report's part about a series, which a single filter does not have (series_table.c). */

/* Rows: whether it grows or forgets, and how long a generation lasts. Nothing of a single filter.
 */
void table_kind(FILE *out, const struct inspect_report *r);

/* "7", or of layers that differ, "7 to 10". Returns text. */
char *table_hashes(char *text, size_t size, const struct inspect_report *r);

/* A line for each layer. */
void table_layers(FILE *out, const struct inspect_report *r, bool utf8);

#endif
