/* SPDX-License-Identifier: MIT
 *
 * Whether an input looks like something else than keys.
 */
#ifndef BLOOMFILE_TOOLS_KIND_H
#define BLOOMFILE_TOOLS_KIND_H

#include "shared/keys_options.h"

#include <stdint.h>

enum {
    KIND_SIZE = 1 << 16, /* more bytes than these are not looked at */
    KIND_REASON = 200,
    KIND_START = 64,
    KIND_TEXT = 4600 /* with a path */
};

/* Whether these bytes are the first ones of a filter file. */
bool kind_is_filter(const uint8_t *bytes, size_t size);

/* Whether they are those of a patch, however few there are: nobody but bfdelta writes them. */
bool kind_is_patch(const uint8_t *bytes, size_t size);

/* Judges the bytes that an input begins with, unless options->as_is. They are a whole key, all of
 * the input, or KIND_SIZE, as a key may end later otherwise. false: they are not keys, and the
 * reason says why: a filter, a patch, UTF-16 text, or packed data, of which -Z has left none. Warns
 * if all lines end in a carriage return that is to be part of the keys, if lines have zero bytes,
 * if the first line has a byte order mark, if text has newlines where a zero byte should be, or by
 * columns_judge(). */
bool kind_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                size_t size, char reason[KIND_REASON]);

struct kind_text {
    bool is_patch;
    char what[100];         /* "it is gzip-compressed" */
    char remedy[KIND_TEXT]; /* "unpack it: gzip -dk x.bloom.gz" */
};

/* Describes a file that should be a filter and is not, by the bytes that it begins with, KIND_START
 * if it has so many, and its size: packed, a patch, or a filter of another project. `path` is for
 * the command in the remedy. false: not known. */
bool kind_describe(const uint8_t *bytes, size_t size, uint64_t file_size, const char *path,
                   struct kind_text *text);
bool kind_describe_file(const char *path, struct kind_text *text);

#endif
