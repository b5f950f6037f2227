/* SPDX-License-Identifier: MIT
 * Interruption by a signal. The first SIGHUP, SIGINT, SIGPIPE or SIGTERM is recorded, so that the
 * current work can be completed. Another signal a second or more later ends the program
 * immediately, except SIGPIPE, which often follows another signal. */
#ifndef TOOLS_CLI_INTERRUPT_H
#define TOOLS_CLI_INTERRUPT_H

#include <signal.h>
#include <stdatomic.h>

/* The recorded signal, or 0. */
extern atomic_int interrupt_signal;

/* A descriptor that becomes readable when a signal is recorded in any thread, for poll(). */
extern int interrupt_fd;

/* Installs handlers for these signals, except those that the parent process set to be ignored.
 * Interrupted system calls restart, except poll() and similar calls. */
void interrupt_catch(void);

/* Ends the program by the recorded signal. */
_Noreturn void interrupt_die(void);

#endif
