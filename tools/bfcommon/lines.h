/* SPDX-License-Identifier: MIT
 * Lines (or other keys, as keys.h defines them) from a part of an open file. They can be read
 * repeatedly, into a buffer of limited size. */
#ifndef BLOOMFILE_TOOLS_COMMON_LINES_H
#define BLOOMFILE_TOOLS_COMMON_LINES_H

#include "keys/header.h"
#include "keys/keys.h"

struct stretch {
    const char *name;                 /* for messages */
    int fd;                           /* -1: the stretch is empty */
    bool piped;                       /* it is not seekable: read from the current position */
    bool packed;                      /* it is, or may be, gzip or zstd data */
    bool silent;                      /* do not show progress */
    const struct keys_options *judge; /* options for input_type_judge(); NULL: do not check */
    struct header_line *header;       /* its header; NULL: keys only */
    uint64_t from, to;                /* to: UINT64_MAX: up to the end of the file */
    size_t room, limit;               /* of the buffer: initial and maximum size */
    bool summed;                      /* check the whole stretch against `sum`, its CRC-32 */
    uint32_t sum;
};

struct lines;

/* Of `form`, only null, record_size, crlf, fields and key_form are used. */
struct lines *lines_open(const struct keys_options *form, const struct stretch *where);

/* Like keys_next(). A missing field ends the program through cli_fail(). In keys that are made of
 * fields or converted, newlines are escaped, and a zero byte ends each key, so that no key is a
 * prefix of another. They sort bytewise, like plain keys. */
size_t lines_next(struct lines *l, struct bloomfile_key *keys, size_t max);

/* Like lines_next(), and also returns the lines of the keys, without the newline. Lines may contain
 * escapes as well. */
size_t lines_next_whole(struct lines *l, struct bloomfile_key *keys, struct bloomfile_key *whole,
                        size_t max);

/* Whether lines may contain newlines, which are escaped. */
bool lines_have_escapes(const struct keys_options *form);

/* Prints a line, with escapes decoded. */
void lines_print(struct bloomfile_key escaped);

/* Reads the header, but no keys. */
void lines_read_header(struct lines *l);

/* Returns the number of lines skipped so far because they lack a field. */
uint64_t lines_skipped(const struct lines *l);

void lines_close(struct lines *l);

/* Checks the first bytes of an input. If they cannot be keys, ends the program
 * through cli_fail(). */
void lines_judge(const struct stretch *where, const struct keys_options *form, const uint8_t *bytes,
                 size_t size);

/* Like memcmp(), for whole keys: a prefix of a key is less than the key. */
int lines_compare(const struct bloomfile_key *a, const struct bloomfile_key *b);

/* Sets *end to the byte after each key. Returns its length: 0 for records. */
size_t lines_end(const struct keys_options *form, char *end);

#endif
