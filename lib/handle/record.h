/* SPDX-License-Identifier: MIT
 * Writing one commit record of a mapped image. */
#ifndef BLOOMFILE_RECORD_H
#define BLOOMFILE_RECORD_H

#include "format/header.h"
#include "os/file.h"

/* Writes *r, a record for the static header of *h, to a slot; EBADF if the descriptor has another
 * file than `own`. `image` is mapped; the bytes that the record reserves are those of slot `kept`
 * there. 0 or an errno. */
int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot);

#endif
