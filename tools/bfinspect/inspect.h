/* SPDX-License-Identifier: MIT
 * The report on a file: facts, verdict, and the functions that print them. Call inspect_read(),
 * inspect_verdict(), then inspect_page() or inspect_json(), and inspect_free(). */
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

/* Feature bits that other fields of the report already explain: kind of keys; series and slices. */
#define INSPECT_KNOWN_COMPAT   1u
#define INSPECT_KNOWN_INCOMPAT 3u

struct inspect_options {
    bool fields, verify, quick, map, quiet, force;
    bool utf8;  /* print UTF-8 letters unchanged */
    char *keys; /* file of keys to check; may be NULL */
    const char *svg;
    struct report report;
    struct names files;
    unsigned open_flags;
    unsigned threads; /* for verification; 0: only the calling thread */
    struct keys_options keys_form;
};

/* Exit status, and the result of a verdict. */
enum {
    INSPECT_HEALTHY = 0,
    INSPECT_PROMISE_BROKEN = 1, /* readable, but not healthy */
    INSPECT_UNUSABLE = 2,
};

/* The part of the file that could be read. */
enum inspect_depth {
    INSPECT_NOTHING, /* no bytes: missing, a directory, empty ... */
    INSPECT_BYTES,   /* some bytes, and the result of bloomfile_inspect() */
    INSPECT_HEADER,  /* a valid header */
    INSPECT_BODY,    /* the body, as far as the options require */
};

enum {
    INSPECT_HEADER_SIZE = 4096,
    INSPECT_FAULTS = 32,
    INSPECT_FLIPS = 3,
    INSPECT_MISSING = 5,
};

/* A bit of the header that changed after it was written. */
struct inspect_flip {
    uint64_t offset; /* of the byte */
    unsigned bit;    /* 0 to 7 */
};

struct inspect_range {
    double least, most, mean;
};

/* The pages of a solved layout. */
struct inspect_solution {
    uint64_t pages; /* 0: another layout, or not measured */
    uint64_t lines;
    uint64_t unsolved;            /* pages */
    uint64_t reseeded, enlarged;  /* pages that needed another seed, or more groups */
    double further;               /* additional groups per page, on average */
    struct inspect_range groups;  /* of a solved page */
    struct inspect_range columns; /* of a group in such a page */
};

/* The part of an image that was read. */
struct inspect_layer {
    char *name;  /* live: name of its file */
    uint64_t at; /* sealed: its offset in the file */
    struct bloomfile_info info;
    bool in_use, verified, measured;
    struct bloomfile_measurement measure;
    struct inspect_solution solution;
    int error; /* damage of its body: BLOOMFILE_E*, or 0 */
    struct picture map;
};

struct inspect_report {
    const char *path;
    struct stat stat;
    uint64_t size; /* of the file */
    enum inspect_depth depth;
    int error; /* why the filter cannot be used: an errno, BLOOMFILE_E*, or 0 */

    uint8_t bytes[INSPECT_HEADER_SIZE];
    size_t have;                    /* bytes that were read */
    bool is_stream;                 /* several filters that can be merged */
    struct bloomfile_field *fields; /* fields that the file has completely, by offset */
    size_t field_count;
    struct bloomfile_info info;
    struct bloomfile_fault faults[INSPECT_FAULTS];
    size_t fault_count;
    struct inspect_flip flips[INSPECT_FLIPS]; /* the header is valid without these flips */
    size_t flip_count;

    /* The layers of a series, oldest first; the other members describe the whole series. If a file
     * prevents opening the series, `explanation` has the reason. */
    struct inspect_layer *layers;
    size_t layer_count;
    bool is_explained;
    char explanation[SERIES_TEXT];

    bool in_use;      /* live: programs have it open for writing */
    bool unclean;     /* live: the machine went down while it was open for writing */
    bool rewritten;   /* changed after its header was read */
    bool interrupted; /* the file shrank, or its disk failed, during the read of the body */
    bool verified;    /* the whole body was checked and is sound */
    bool measured;
    struct bloomfile_measurement measure;
    struct inspect_solution solution;
    struct picture map, image;

    bool keys_checked;
    uint64_t keys_count, keys_missing;
    uint64_t keys_own; /* keys that the filter could exclude; of a slice: keys that belong there */
    char *missing[INSPECT_MISSING]; /* the first missing keys, safe to print */

    int status; /* INSPECT_HEALTHY ... */
    char verdict[SERIES_TEXT + 512];
    char advice[SERIES_TEXT]; /* the remedy; may be empty */
};

/* ---- reading */

void inspect_read(struct inspect_report *r, const struct inspect_options *options);
void inspect_free(struct inspect_report *r);

/* Verifies and measures the body, or the body of each layer, as far as the options require. */
void inspect_bodies(struct inspect_report *r, const bloomfile_filter *f,
                    const struct inspect_options *options);

/* Sums up all pages of a solved layout. */
void inspect_solution(struct inspect_solution *s, const bloomfile_filter *f);

/* The size of the image, or of all layers of a series. */
static inline uint64_t inspect_whole_size(const struct bloomfile_info *info)
{
    return info->layers > 0 ? info->rest_size : info->image_size;
}

/* Whether the file is a later layer of a live series, so that the series is not
 * opened by its name. */
bool inspect_is_part(const struct inspect_report *r);

/* Whether no program has the live filter open for writing and the last writer
 * closed it properly. */
bool inspect_is_clean(const struct bloomfile_info *info);

/* Whether the filter uses an application's hash, so that only that application can look up keys. */
bool inspect_hash_is_applications(const struct inspect_report *r);

/* Sets r->verdict, r->advice and r->status. */
void inspect_verdict(struct inspect_report *r, bool verify);

/* Searches for flipped bits that explain a damaged header. Sets r->flips only if they do. */
void inspect_find_flips(struct inspect_report *r);

/* ---- printing */

/* Prints the report for people. */
void inspect_page(FILE *out, const struct inspect_report *r, const struct inspect_options *options);

/* Returns the report as JSON. */
json *inspect_json(const struct inspect_report *r);

/* Writes the line below a picture: "blocked, 6144 bits, ...". */
void inspect_caption(char *text, size_t size, const struct inspect_report *r);

/* ---- the header's fields, from the bytes themselves */

/* Sets r->fields. */
void inspect_list_fields(struct inspect_report *r);

/* Whether the file has all bytes of a field of the static header. */
bool inspect_has_field(const struct inspect_report *r, const char *name);

/* The name of the field at an offset of the header: "k", "n of record 0", or "reserved bytes".
 * Returns text. */
char *inspect_field_at(const struct inspect_report *r, uint64_t offset, char *text, size_t size);

/* The size of a label without trailing zero bytes. */
size_t inspect_label_size(const uint8_t *label, size_t size);

/* The value of a field as the report shows it. Returns text. */
char *inspect_field_text(const struct inspect_report *r, const struct bloomfile_field *field,
                         bool utf8, char *text, size_t size);

/* The fault in this field, or NULL. A fault of a whole record counts for its first field. */
const struct bloomfile_fault *inspect_field_fault(const struct inspect_report *r,
                                                  const struct bloomfile_field *field);

/* A little-endian number of 1 to 8 bytes. */
uint64_t inspect_number(const uint8_t *bytes, size_t size);

/* ---- The report's part about a series (series_table.c). */

/* Prints whether the series grows or forgets, and how long a generation lasts. Prints nothing for a
 * single filter. */
void table_kind(FILE *out, const struct inspect_report *r);

/* "7", or "7 to 10" if the layers differ. Returns text. */
char *table_hashes(char *text, size_t size, const struct inspect_report *r);

/* Prints a line for each layer. */
void table_layers(FILE *out, const struct inspect_report *r, bool utf8);

#endif
