/* SPDX-License-Identifier: MIT
 *
 * What a table file has beyond what mtbl wrote.
 *
 *     what mtbl wrote: data blocks, index, metadata (512 bytes)
 *     the filter, if it is embedded
 *     the footer (48 bytes)
 *     the metadata again
 *
 * mtbl looks for its metadata in the last 512 bytes of a file and for all else where they say,
 * counted from the file's beginning; so this is a table for every program that reads mtbl files.
 *
 * The identity is drawn at random when a table is written, and is the tag of its filter. So a
 * filter cannot be taken for that of another table, whatever the two are called. (A hash of all
 * rows would do too, and bloomfile_builder_set_tag() would take it at the end; but a filter that is
 * merged of others is made before the first row.)
 */
#ifndef FOOTER_H
#define FOOTER_H

#include <bloomfile.h>

#include <stdint.h>

enum {
    METADATA_SIZE = 512,
    FOOTER_SIZE = 48
};

struct footer {
    uint8_t identity[BLOOMFILE_TAG_SIZE];
    uint64_t image_offset, image_size; /* of an embedded filter; 0: it is a file of its own */
};

enum footer_state {
    FOOTER_SOUND,
    FOOTER_ABSENT, /* written by another program */
    FOOTER_DAMAGED,
};

void footer_encode(const struct footer *footer, uint8_t bytes[FOOTER_SIZE]);

/* Whether the place of the filter is in the file, bloomfile_open_fd() checks. */
enum footer_state footer_decode(struct footer *footer, const uint8_t bytes[FOOTER_SIZE]);

#endif
