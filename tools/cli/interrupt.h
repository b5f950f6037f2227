/* SPDX-License-Identifier: MIT
 * Interruption by a signal. The first SIGHUP, SIGINT, SIGPIPE or SIGTERM is noted, so that the
 * current work can end properly. Another signal a second or more later ends the program
 * immediately, except SIGPIPE, which often follows another signal. */
#ifndef TOOLS_CLI_INTERRUPT_H
#define TOOLS_CLI_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>

/* The signal that was noted, or 0. */
extern atomic_int interrupt_signal;

/* Becomes readable when a signal was noted in any thread, for threads that use poll(). */
extern int interrupt_fd;

/* Starts to note these signals, except those that the parent process set to be ignored. Interrupted
 * system calls restart, except poll() and the like. */
void interrupt_catch(void);

/* Ends the program the way the noted signal would have. */
_Noreturn void interrupt_die(void);

#endif
