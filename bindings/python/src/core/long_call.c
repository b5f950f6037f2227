/* SPDX-License-Identifier: MIT
 * Running signal handlers during long calls: the library calls back now and then. */
#include "long_call.h"

#include <bloomfile_unstable.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"

#define EVERY                                                                                      \
    10000000 /* nanoseconds: taking the GIL may take 5 ms, so less often in longer calls */

static _Thread_local struct long_call *current;
static _Thread_local unsigned handling;

static int64_t now(void)
{
    struct timespec t = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int long_call_note(struct only *only)
{
    if (only->fd < 0)
        return 0;
    only->size = pread(only->fd, only->head, sizeof only->head, 0);
    return fstat(only->fd, &only->then) == 0 ? 0 : errno;
}

/* Compares the head too: two changes may have the same time. */
static bool is_as_then(const struct only *now, const struct only *then)
{
    return now->then.st_size == then->then.st_size &&
           now->then.st_mtim.tv_sec == then->then.st_mtim.tv_sec &&
           now->then.st_mtim.tv_nsec == then->then.st_mtim.tv_nsec && now->size == then->size &&
           (now->size <= 0 || memcmp(now->head, then->head, (size_t)now->size) == 0);
}

int long_call_replaces_only(const struct only *only)
{
    struct only now = { .fd = only->fd };
    current->only = only;
    int error = bloomfile_thread_replaces_only(only->fd);
    if (error == 0)
        error = long_call_note(&now);
    if (error != 0 || only->fd < 0)
        return error;
    return is_as_then(&now, only) ? 0 : BLOOMFILE_EREPLACED;
}

/* A handler may replace any file, and the call may begin to write again. */
static int handle_signals(struct long_call *call)
{
    if (call->only != NULL)
        bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY);
    handling++;
    call->raised = PyErr_CheckSignals() != 0;
    handling--;
    if (call->raised)
        return EINTR;
    return call->only != NULL ? long_call_replaces_only(call->only) : 0;
}

static int stop(void *context)
{
    struct long_call *call = context;
    if (call->error == 0 && now() >= call->next) {
        PyEval_RestoreThread(call->python);
        call->error = handle_signals(call);
        call->python = PyEval_SaveThread();
        const int64_t since = now() - call->begun;
        call->next = now() + (since / 8 > EVERY ? since / 8 : EVERY);
    }
    return call->error;
}

/* Only the main thread runs handlers. */
static bool is_main(void)
{
    return gettid() == getpid();
}

void long_call_begin(struct long_call *call)
{
    *call = (struct long_call){ .outer = current, .begun = now() };
    call->next = call->begun + EVERY;
    current = call;
    if (is_main())
        bloomfile_stop_with(stop, call);
    call->python = PyEval_SaveThread();
}

int long_call_end(struct long_call *call, int error)
{
    if (call->only != NULL)
        bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY);
    PyEval_RestoreThread(call->python);
    current = call->outer;
    bloomfile_stop_with(current != NULL ? stop : NULL, current);
    return call->raised ? ERROR_RAISED : error;
}

bool long_call_is_interrupted(void)
{
    return handling > 0;
}
