/* SPDX-License-Identifier: MIT
 * Cancellation of a long call by its caller. Each thread has its own callback. */
#ifndef BLOOMFILE_OS_CANCEL_H
#define BLOOMFILE_OS_CANCEL_H

/* What ends this thread's long calls; NULL: nothing. */
void cancel_set(int (*stop)(void *context), void *context);

/* 0, or the error with which the call that asks ends. */
int cancel_wanted(void);

#endif
