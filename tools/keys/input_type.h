/* SPDX-License-Identifier: MIT
 *
 * Detection of inputs that do not look like keys.
 */
#ifndef TOOLS_KEYS_INPUT_TYPE_H
#define TOOLS_KEYS_INPUT_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "keys/keys_options.h"

enum {
    INPUT_TYPE_SIZE = 1 << 16, /* more bytes than these are not looked at */
    INPUT_TYPE_REASON = 200,
    INPUT_TYPE_START = 64,
    INPUT_TYPE_TEXT = 4600 /* with a path */
};

/* Whether these bytes are the first ones of a filter file. */
bool input_type_is_filter(const uint8_t *bytes, size_t size);

/* Whether they are those of a patch, however few there are: nobody but bfdelta writes them. */
bool input_type_is_patch(const uint8_t *bytes, size_t size);

/* Judges the bytes that an input begins with, unless options->as_is. They are a whole key, all of
 * the input, or INPUT_TYPE_SIZE, as a key may end later otherwise. false: they are not keys, and
 * the reason says why: a filter, a patch, UTF-16 text, or packed data, of which -Z has left none.
 * Warns if all lines end in a carriage return that is to be part of the keys, if lines have zero
 * bytes, if the first line has a byte order mark, if text has newlines where a zero byte should be,
 * or by delimiter_check_warn(). */
bool input_type_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                      size_t size, char reason[INPUT_TYPE_REASON]);

struct input_type_text {
    bool is_patch;
    char what[100];               /* "it is gzip-compressed" */
    char remedy[INPUT_TYPE_TEXT]; /* "unpack it: gzip -dk x.bloom.gz" */
};

/* Describes a file that should be a filter and is not, by the bytes that it begins with,
 * INPUT_TYPE_START if it has so many, and its size: packed, a patch, or a filter of another
 * project. `path` is for the command in the remedy. false: not known. */
bool input_type_describe(const uint8_t *bytes, size_t size, uint64_t file_size, const char *path,
                         struct input_type_text *text);
bool input_type_describe_file(const char *path, struct input_type_text *text);

/* ---- Bloom filters in files of other projects, recognized by their first bytes and their
 * size. */

/* The name of the project; NULL: not known. `bytes`: the first 40 of the file, or all. */
const char *foreign_filter(const uint8_t *bytes, size_t size, uint64_t file_size);

/* ---- Detection of a wrong field delimiter, by the look of an input's fields. */

/* Warns, of the lines that an input begins with, if none has the delimiter but some have another
 * one, and keys come of them all the same; and if quotes become a part of keys. */
void delimiter_check_warn(const char *name, const struct keys_options *options,
                          const uint8_t *bytes, size_t size);

#endif
