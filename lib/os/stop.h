/* SPDX-License-Identifier: MIT
 * Whether the caller of a long call wants it to end. Each thread has its own answer. */
#ifndef BLOOMFILE_STOP_H
#define BLOOMFILE_STOP_H

/* What ends this thread's long calls; NULL: nothing. */
void stop_set(int (*stop)(void *context), void *context);

/* 0, or the error with which the call that asks ends. */
int stop_wanted(void);

#endif
