/* SPDX-License-Identifier: MIT
 *
 * Ctrl-C between two steps: work that a signal ends in good order.
 */
#ifndef BLOOMFILE_TOOLS_INTERRUPT_H
#define BLOOMFILE_TOOLS_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP, but for those that are ignored, wait until no step is
 * being done. Then finish(data) is called, in a thread of its own, and the program dies by the
 * signal. A second signal does not wait. Call before other threads are started. */
void interrupt_watch(void (*finish)(void *data), void *data);

/* A step begins; it does not return if a signal has come. */
void interrupt_hold(void);
/* It has ended. Until the next one begins, finish may run beside the caller. */
void interrupt_release(void);

/* All is done, in a step that needs no end: dies by a signal that came during it. */
void interrupt_end(void);

#endif
