/* SPDX-License-Identifier: MIT
 * Running signal handlers during long calls: the library calls back now and then. */
#include "long_call.h"

#include <bloomfile_unstable.h>
#include <errno.h>
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

static bool is_as_then(const struct stat *now, const struct stat *then)
{
    return now->st_size == then->st_size && now->st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

int long_call_replaces_only(const struct only *only)
{
    struct stat now;
    current->only = only;
    const int error = bloomfile_thread_replaces_only(only->fd);
    if (error != 0 || only->fd < 0)
        return error;
    return fstat(only->fd, &now) == 0 && is_as_then(&now, &only->then) ? 0 : BLOOMFILE_EREPLACED;
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
