/* SPDX-License-Identifier: MIT
 * As a writer with a commit, as a reader without. */
#include "handle/sync.h"

#include <bloomfile.h>

#include "handle/flush.h"
#include "handle/join.h"

int sync_prepare(const bloomfile *f)
{
    if (live_in_doubt(f))
        return 0;
    pthread_mutex_lock(&f->session->syncs);
    int error = join_open_own(f);
    pthread_mutex_unlock(&f->session->syncs);
    return error;
}

int sync_source(const bloomfile *f)
{
    pthread_mutex_lock(&f->session->syncs);
    int error = join_open_own(f);
    if (error == 0 && live_in_doubt(f))
        error = atomic_load(&f->guard->error);
    if (error == 0)
        error = atomic_load(&f->session->joined) ? flush_and_commit(f) : flush_as_reader(f);
    pthread_mutex_unlock(&f->session->syncs);
    return error;
}
