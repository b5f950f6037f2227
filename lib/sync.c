/* SPDX-License-Identifier: MIT */
#include <bloomfile_live.h>

#include "live.h"

/* After the body was written to disk, or not. Holds LOCK_RECORDS. */
static int commit(bloomfile *f, int body_error)
{
    struct header now;
    int error = live_load_to_commit(f, &now);
    if (error != 0)
        return error;
    if (body_error != 0)
        return live_poison(f, &now, body_error);
    struct kernel_change counted = session_take(f->session);
    error = live_commit(f, &now, live_add_counts(&now, now.record, &counted));
    if (error != 0)
        session_count(f->session, &counted);
    return error;
}

int bloomfile_sync(bloomfile *f)
{
    int error = live_writable(f);
    if (error != 0)
        return error;
    pthread_mutex_lock(&f->session->records);
    int body_error = map_sync(&f->map, f->map.base_size);
    if (body_error != 0)
        guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    error = lock_wait(f->fd, LOCK_RECORDS, 1);
    if (error == 0) {
        error = commit(f, body_error);
        lock_drop(f->fd, LOCK_RECORDS, 1);
    }
    pthread_mutex_unlock(&f->session->records);
    if (body_error != 0)
        return body_error;
    return error != 0 ? error : live_check_path(f);
}

int bloomfile_finish(bloomfile *f)
{
    if (f->session == NULL)
        return 0;
    int error = live_leave(f);
    session_free(f->session);
    f->session = NULL;
    return error != 0 ? error : live_check_path(f);
}
