/* SPDX-License-Identifier: MIT
 * A patch read from a file, a descriptor or memory, in order. */
#ifndef BLOOMFILE_INPUT_H
#define BLOOMFILE_INPUT_H

#include <bloomfile.h>

#include "delta/part.h"

struct input {
    int fd;
    bool own;              /* opened by input_start() */
    uint64_t next;         /* offset to read at; BLOOMFILE_FROM_HERE: the descriptor's own */
    uint64_t left;         /* bytes that may be read */
    const uint8_t *memory; /* NULL: the descriptor */
    uint64_t taken;        /* bytes */
    uint32_t crc;          /* of what was taken since input_restart() */
    size_t at, end;
    uint8_t buffer[1 << 14];
};

/* Checks the source and opens its path. 0, BLOOMFILE_ESTRUCTSIZE, _EVALUE or an errno; after 0
 * input_stop() is due. */
int input_start(struct input *in, const struct bloomfile_source *given);
void input_stop(const struct input *in);

/* Before the head of a further patch. */
void input_restart(struct input *in);

/* Reads and checks the head. 0; BLOOMFILE_EPATCH, _EVERSION, _EFEATURE, _ETRUNCATED; or an error of
 * read(). */
int input_head(struct input *in, struct patch_head *head);

/* Reads how many pages before the next part, or the end, are as before. */
int input_skip(struct input *in, uint64_t *skip);

/* The head of a part but for part->skip, once that was read. Checks what it says; `pages` are left.
 */
int input_part(struct input *in, enum cells_kind kind, uint64_t pages, struct part *part);

/* Reads the strings of a part, of `size` bytes together, without taking them into the checksum; and
 * that of the part. */
int input_strings(struct input *in, uint8_t *strings, size_t size, uint32_t *crc);

/* BLOOMFILE_ETRAILING if there are more bytes. */
int input_end(struct input *in);

#endif
