/* SPDX-License-Identifier: MIT
 * Signals that end the program while it creates a file. */
#ifndef TOOLS_CLI_FATAL_SIGNALS_H
#define TOOLS_CLI_FATAL_SIGNALS_H

#include <stdbool.h>

/* Call it just before the library creates a file, in the thread that lets it. From then on SIGHUP,
 * SIGINT and SIGTERM end the library's call with EINTR, and it removes its temporary file. If the
 * call does not end within two seconds, the program ends all the same. Signals that are already
 * caught or ignored stay so. */
void fatal_signals_catch(void);

/* Ends the program if such a signal came. */
void fatal_signals_check(void);

/* Whether a signal belongs to the first request to end. One request may come as several signals:
 * timeout(1) signals its child and then the process group, and a terminal that is closed sends
 * SIGHUP next to what the shell sends. Async-signal-safe. */
bool fatal_signals_is_first(void);

/* Ends the program by that signal, which may be blocked, as in its handler. Async-signal-safe. */
_Noreturn void fatal_signals_die(int number);

#endif
