/* SPDX-License-Identifier: MIT
 * Reading a patch from a file, a descriptor or memory, in order. */
#ifndef BLOOMFILE_INPUT_H
#define BLOOMFILE_INPUT_H

#include <bloomfile.h>

#include "delta/part.h"

struct input {
    int fd;
    bool own;              /* whether input_start() opened the descriptor */
    uint64_t next;         /* next offset, or BLOOMFILE_FROM_HERE: the descriptor's own offset */
    uint64_t left;         /* bytes that may be read */
    const uint8_t *memory; /* NULL if a descriptor is read */
    uint64_t taken;        /* bytes taken so far */
    uint32_t crc;          /* CRC of the bytes of the head, or of the part, taken so far */
    size_t at, end;
    uint8_t buffer[1 << 14];
};

/* Checks the source and opens its path. Returns 0, BLOOMFILE_ESTRUCTSIZE, _EVALUE or an errno.
 * After 0, call input_stop(). */
int input_start(struct input *in, const struct bloomfile_source *given);
void input_stop(const struct input *in);

/* Prepares for the head of the next patch. */
void input_restart(struct input *in);

/* Reads and checks the head. Returns 0, BLOOMFILE_EPATCH, _EVERSION, _EFEATURE, _ELAYOUT,
 * _ETRUNCATED, or an error of read(). */
int input_head(struct input *in, struct patch_head *head);

/* Reads the number of unchanged pages before the next part or the end. */
int input_skip(struct input *in, uint64_t *skip);

/* Reads and checks the head of a part, except part->skip. `pages` is the number of pages left. */
int input_part(struct input *in, enum cells_kind kind, uint64_t pages, struct part *part);

/* Reads the strings of a part, `size` bytes in total, and the CRC of the part. Does not update
 * in->crc: a thread computes it later, without the lock. */
int input_strings(struct input *in, uint8_t *strings, size_t size, uint32_t *crc);

/* Returns BLOOMFILE_ETRAILING if there are more bytes. */
int input_end(struct input *in);

#endif
