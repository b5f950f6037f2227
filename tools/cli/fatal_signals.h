/* SPDX-License-Identifier: MIT
 * Signals that end the program while it creates a file. */
#ifndef TOOLS_CLI_FATAL_SIGNALS_H
#define TOOLS_CLI_FATAL_SIGNALS_H

#include <stdbool.h>

/* Call this just before the library creates a file, in the thread that makes the call. SIGHUP,
 * SIGINT and SIGTERM then make the library's call fail with EINTR and remove its temporary file. If
 * the call does not return within two seconds, the program ends anyway. A signal that is already
 * caught or ignored stays so. */
void fatal_signals_catch(void);

/* Ends the program if such a signal has arrived. */
void fatal_signals_check(void);

/* Whether a signal belongs to the first request to end. One request may arrive as several signals:
 * timeout(1) signals its child and then the process group, and closing a terminal sends SIGHUP in
 * addition to the shell's signals. Async-signal-safe. */
bool fatal_signals_is_first(void);

/* Ends the program by this signal, even if it is blocked, as it is in its own handler.
 * Async-signal-safe. */
_Noreturn void fatal_signals_die(int number);

#endif
