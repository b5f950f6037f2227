/* SPDX-License-Identifier: MIT
 * With pwrite(), so that a full or failing disk is an error and no signal. */
#include "handle/record.h"

#include <errno.h>

int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot)
{
    uint8_t bytes[HEADER_RECORD_MAX];
    header_encode_record(h, r, image + header_record_offset(h, kept), bytes);
    const int error = file_check(fd, own);
    return error != 0 ? error
                      : file_write(fd, header_record_offset(h, slot), bytes, header_record_size(h));
}
