/* SPDX-License-Identifier: MIT
 *
 * Interruption by a signal. The first SIGHUP, SIGINT, SIGPIPE or SIGTERM is noted, so that the
 * current work can end properly. Another signal a second or more later kills, except SIGPIPE, which
 * often follows the others.
 */
#ifndef TOOLS_CLI_INTERRUPT_H
#define TOOLS_CLI_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>

/* The signal that came, or 0. */
extern atomic_int interrupt_signal;

/* Readable once one came, for a thread that waits, whichever thread it came to. */
extern int interrupt_fd;

/* From now on these signals are noted, but for those that the parent has had ignored. System calls
 * go on after them, except poll() and its like. */
void interrupt_catch(void);

/* Ends the program the way the noted signal would have. */
_Noreturn void interrupt_die(void);

#endif
