/* SPDX-License-Identifier: MIT
 * With pwrite(), so that a full or failing disk is an error and no signal. */
#include "handle/record.h"

#include "os/file.h"

int record_write(int fd, const struct header *h, const struct record *r, const uint8_t *image,
                 unsigned kept, unsigned slot)
{
    uint8_t bytes[HEADER_RECORD_MAX];
    header_encode_record(h, r, image + header_record_offset(h, kept), bytes);
    return file_write(fd, header_record_offset(h, slot), bytes, header_record_size(h));
}
