/* SPDX-License-Identifier: MIT
 * Detecting inputs that do not look like keys. */
#ifndef TOOLS_KEYS_INPUT_TYPE_H
#define TOOLS_KEYS_INPUT_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "keys/keys_options.h"

enum {
    INPUT_TYPE_SIZE = 1 << 16, /* at most this many bytes are examined */
    INPUT_TYPE_REASON = 200,
    INPUT_TYPE_START = 64,
    INPUT_TYPE_TEXT = 4600 /* includes a path */
};

/* Whether these bytes begin a filter file. */
bool input_type_is_filter(const uint8_t *bytes, size_t size);

/* Whether these bytes begin a patch, even if there are very few of them: only bfdelta
 * writes such bytes. */
bool input_type_is_patch(const uint8_t *bytes, size_t size);

/* Checks the first bytes of an input, unless options->as_is. Returns false if they are not keys,
 * with the reason: a filter, a patch, UTF-16 text, lines with -x, or compressed data, with -Z after
 * decompression. Warns if
 *   - each line ends in a carriage return that becomes part of the key
 *   - lines have NUL bytes, or -0 is given and the text has newlines but no NUL
 *   - the first line begins with a byte order mark
 *   - delimiter_check_warn() finds a problem */
bool input_type_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                      size_t size, char reason[INPUT_TYPE_REASON]);

/* The first bytes of an input that arrives in pieces. */
struct input_type_start {
    uint8_t *bytes;      /* from malloc() */
    size_t size, judged; /* bytes in all, and those that were judged */
};

/* Takes the next bytes of the input. A failed allocation ends the program. */
void input_type_arrived(struct input_type_start *s, const uint8_t *bytes, size_t size);

/* input_type_judge() for an input that arrives in pieces: a pipe may deliver a few bytes first.
 * The first call warns. Later calls do nothing until INPUT_TYPE_SIZE bytes, or all bytes, have
 * arrived: the start of good records may look like text. */
bool input_type_judge_start(struct input_type_start *s, const char *name,
                            const struct keys_options *options, bool at_end,
                            char reason[INPUT_TYPE_REASON]);

struct input_type_text {
    bool is_patch;
    char what[100];               /* "it is gzip-compressed" */
    char remedy[INPUT_TYPE_TEXT]; /* "decompress it: gzip -dc < x.bloom.gz > NEWFILE" */
};

/* Describes a file that is not a filter, although it should be: compressed, a patch, or a filter of
 * another project. `bytes` are its first INPUT_TYPE_START bytes, or all. `path` is for the command
 * in the remedy. Returns false if the file is not recognized. */
bool input_type_describe(const uint8_t *bytes, size_t size, uint64_t file_size, const char *path,
                         struct input_type_text *text);
bool input_type_describe_file(const char *path, struct input_type_text *text);

/* ---- Bloom filters of other projects, recognized by their first bytes and their size. */

/* Returns the name of the project, or NULL if unknown. `bytes`: the first 40 of the
 * file, or all. */
const char *foreign_filter(const uint8_t *bytes, size_t size, uint64_t file_size);

#endif
