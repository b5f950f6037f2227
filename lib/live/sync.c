/* SPDX-License-Identifier: MIT
 * Syncing a single image: a writer commits, a reader does not. */
#include "live/sync.h"

#include "live/file_change.h"
#include "live/join.h"

int sync_prepare(const bloomfile_filter *f)
{
    if (live_in_doubt(f))
        return 0;
    pthread_mutex_lock(&f->live->session->syncs);
    int error = join_open_own(f);
    pthread_mutex_unlock(&f->live->session->syncs);
    return error;
}

static int sync_image(const bloomfile_filter *f, const struct flush_mark *mark, bool cleans)
{
    pthread_mutex_lock(&f->live->session->syncs);
    int error = join_open_own(f);
    if (error == 0)
        error = changed_or_damaged_so_far(f);
    /* A reader takes a mark for a sync in progress while a writer holds LOCK_SYNCS exclusively. So
     * this writer only commits if the mark is to be removed. */
    const bool commits =
        atomic_load(&f->live->session->joined) && (cleans || !f->live->session->unclean);
    if (error == 0)
        error = commits ? flush_and_commit(f, mark) : flush_as_reader(f);
    pthread_mutex_unlock(&f->live->session->syncs);
    return error;
}

int sync_with(const bloomfile_filter *f, const struct flush_mark *mark)
{
    return sync_image(f, mark, true);
}

int sync_source(const bloomfile_filter *f)
{
    return sync_image(f, NULL, false);
}

int sync_all(bloomfile_filter *f, const uint8_t *watermark)
{
    const struct flush_mark mark = { .watermark = watermark };
    int error = f->live->writing ? changed_before_reading(f) : BLOOMFILE_EREADONLY;
    if (error == 0)
        error = join_writable(f);
    if (error == 0)
        error = sync_with(f, watermark != NULL ? &mark : NULL);
    if (error == 0)
        error = changed_or_damaged(f);
    return error != 0 ? error : join_check_path(f);
}

int sync_finish(bloomfile_filter *f)
{
    if (!f->live->writing)
        return f->live->finished;
    const int before = changed_or_damaged(f);
    int error = join_leave(f);
    f->live->writing = false;
    atomic_store(&f->live->session->joined, false);
    if (error == 0)
        error = before != 0 ? before : join_check_path(f);
    f->live->finished = error;
    return error;
}
