/* SPDX-License-Identifier: MIT
 * A copy of the first one. */
#include "shared/header.h"
#include "shared/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool header_take(struct header *h, const char *path, const uint8_t *bytes, size_t size,
                 char reason[HEADER_REASON])
{
    if (h->bytes == NULL) {
        h->bytes = malloc(size);
        if (h->bytes == NULL)
            cli_fail(ENOMEM, "cannot hold the header of %s", path);
        memcpy(h->bytes, bytes, size);
        h->size = size;
        h->path = path;
    }
    if (size == h->size && memcmp(bytes, h->bytes, size) == 0)
        return true;
    snprintf(reason, HEADER_REASON,
             "its header is not that of %s (without --header, 'tail -n +2' leaves headers out)",
             h->path);
    return false;
}
