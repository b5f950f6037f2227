/* SPDX-License-Identifier: MIT
 * Closing the handle of a single image. */
#include "handle/closing.h"

#include <stdlib.h>
#include <unistd.h>

#include "live/join.h"

void handle_close(bloomfile_filter *f)
{
    if (f == NULL)
        return;
    if (handle_is_writing(f))
        join_close(f);
    guard_release(f->guard);
    free(f->view.shapes);
    map_release(&f->map);
    live_free(f->live);
    if (f->folder >= 0)
        close(f->folder);
    if (f->reader >= 0)
        close(f->reader);
    free(f->path);
    free(f);
}
