/* SPDX-License-Identifier: MIT
 * Cancellation of long calls, by the callback of each thread. Threads that a call starts have no
 * callback: the calling thread checks its own for all.
 */
#include "os/cancel.h"

#include <stddef.h>

static _Thread_local struct {
    int (*stop)(void *context);
    void *context;
} mine;

void cancel_set(int (*stop)(void *context), void *context)
{
    mine.stop = stop;
    mine.context = context;
}

int cancel_wanted(void)
{
    return mine.stop != NULL ? mine.stop(mine.context) : 0;
}
