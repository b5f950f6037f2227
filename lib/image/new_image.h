/* SPDX-License-Identifier: MIT
 * Writing a new filter to a file, a descriptor or memory: a sealed filter with counts and
 * checksums, or a live copy. The body is either written in order, piece by piece, or made in memory
 * by the caller. A new file needs memory only for its page checksums, 0.1% of its size. */
#ifndef BLOOMFILE_IMAGE_NEW_IMAGE_H
#define BLOOMFILE_IMAGE_NEW_IMAGE_H

#include "format/header.h"
#include "image/body.h"
#include "publish/publish.h"

/* The header size of an image at a destination: 4096 for files, 512 for embedded images. */
static inline uint32_t new_image_header_size(const struct destination *to)
{
    return destination_is_memory(to) ? GEOMETRY_EMBEDDED_HEADER : GEOMETRY_FILE_HEADER;
}

/* Starts a file of `size` bytes (0: not known yet), for any content. At the end it is published at
 * a path, or copied to another destination. `reserve` as for allocate_file(). */
int new_image_publication(struct publication **p, const struct destination *to, uint64_t size,
                          bool reserve, int *fd);

struct new_image {
    struct destination to;
    struct publication *publication;
    int fd;         /* of the file */
    uint8_t *image; /* in memory; NULL: in the file */
    const struct header *h;
    struct body_pass pass;
    uint8_t *checksums; /* CRC-32 of each page; NULL: live */
    uint64_t at;        /* bytes of the body written so far */
};

/* Starts the result of *h, which has the fields that describe the filter (image_describe()) and the
 * state of the record. Sets the rest of the static part. Call new_image_abandon() in any case. */
int new_image_start(struct new_image *r, struct header *h, struct destination to);

/* The body, initially undefined, if it is made in memory; otherwise NULL. */
uint8_t *new_image_body(const struct new_image *r);

/* Writes the next whole pages of the body. */
int new_image_put(struct new_image *r, const uint8_t *pages, size_t size);

/* Sets the fields of *record for the complete body, except n and flags. */
void new_image_record(const struct new_image *r, struct record *record);

/* Writes the header and checksums, from *h and r->checksums. Publishes the file, or gives the image
 * to the caller. */
int new_image_finish(struct new_image *r, struct header *h);

void new_image_abandon(struct new_image *r);

/* ---- The file that a new file replaces. */

/* Reads and decodes the header of a file of `size` bytes. A damaged record is not an error. */
int replaced_read_header(int fd, uint64_t size, struct header *h);

/* Checks whether a single file may replace the file at a path, given the flags of a public
 * function. Returns BLOOMFILE_ESERIES if that file is the first of several files of a live series,
 * because the other files would be orphaned. Also returns it if the file is missing, damaged or
 * unreadable, and PATH.1 is, or may be, a layer. Otherwise returns 0 or an errno. */
int replaced_check(const char *path, unsigned flags);

#endif
