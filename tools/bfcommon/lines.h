/* SPDX-License-Identifier: MIT
 *
 * Lines (or other keys, as keys.h defines them) from a stretch of an open file, which can be read
 * as often as one likes, into a buffer of limited size.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_LINES_H
#define BLOOMFILE_TOOLS_COMMON_LINES_H

#include "keys/header.h"
#include "keys/keys.h"

struct stretch {
    const char *name; /* for messages */
    int fd;           /* -1: it is empty */
    bool piped;       /* it cannot be read from a place, only from where it stands */
    bool packed;      /* it is, or may be, gzip or zstd data, of which the lines are */
    bool silent;      /* no progress is shown */
    const struct keys_options
        *judge;                 /* what it should look like (input_type.h); NULL: never mind */
    struct header_line *header; /* what it begins with; NULL: nothing but keys */
    uint64_t from, to;          /* to: UINT64_MAX, as far as the file goes */
    size_t room, limit;         /* of the buffer: at first, and at most */
    bool summed;                /* all of it must have this CRC-32 */
    uint32_t sum;
};

struct lines;

/* Only null, record_size, crlf and fields of `form` count. */
struct lines *lines_open(const struct keys_options *form, const struct stretch *where);

/* As keys_next(). A missing field ends the program by cli_fail. In keys made of fields, newlines
 * are escaped, and a zero byte ends each key, so no key is a prefix of another. They sort by their
 * bytes, as plain keys do. */
size_t lines_next(struct lines *l, struct bloomfile_key *keys, size_t max);

/* The same for keys made of fields, with their lines, without newlines at the end. Lines may have
 * escapes too. */
size_t lines_next_whole(struct lines *l, struct bloomfile_key *keys, struct bloomfile_key *whole,
                        size_t max);

/* Whether lines may contain newlines, which are escaped. */
bool lines_have_escapes(const struct keys_options *form);

/* Prints a line, with escapes decoded. */
void lines_print(struct bloomfile_key escaped);

/* Reads the header, and no key. */
void lines_read_header(struct lines *l);

/* How many lines so far lacked a field, and were left out. */
uint64_t lines_skipped(const struct lines *l);

void lines_close(struct lines *l);

/* Looks at what an input begins with; what cannot be keys ends the program by cli_fail. */
void lines_judge(const struct stretch *where, const struct keys_options *form, const uint8_t *bytes,
                 size_t size);

/* As memcmp() for whole keys: a key is less than those that it is the beginning of. */
int lines_compare(const struct bloomfile_key *a, const struct bloomfile_key *b);

/* What stands after each key: its length is 0 for records. */
size_t lines_end(const struct keys_options *form, char *end);

#endif
