/* SPDX-License-Identifier: MIT
 * Output of repeated lines. They are copied, because the printed lines overwrite them. */
#include "bfuniq/repeated.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

void repeated_take(struct repeated *r, const struct batch *b, size_t first, size_t last)
{
    if (r->file.path == NULL)
        return;
    if (b->piece.size > r->room) {
        free(r->bytes);
        r->room = b->piece.size;
        r->bytes = malloc(r->room);
        if (r->bytes == NULL)
            cli_fail(ENOMEM, "cannot hold %zu bytes of repeated lines", r->room);
    }
    r->size = batch_copy_others(b, first, last, r->bytes);
}

void repeated_write(const struct repeated *r)
{
    side_file_write(&r->file, r->bytes, r->size);
}

void repeated_write_header(const struct repeated *r, const struct batch *b)
{
    if (b->piece.is_first_header)
        side_file_write(&r->file, b->piece.bytes, b->piece.header);
}

void repeated_close(struct repeated *r)
{
    free(r->bytes);
    side_file_close(&r->file);
}
