/* SPDX-License-Identifier: MIT
 * Signals that end the program: no temporary file of the library is left behind. */
#ifndef BLOOMFILE_TOOLS_ENDING_H
#define BLOOMFILE_TOOLS_ENDING_H

/* Before a file is made. Not before: a signal that is caught does not end a wait for a network disk
 * that hangs. Those that are caught or ignored already stay so. */
void ending_catch(void);

/* Ends the program by that signal, which may be blocked, as in its handler. Async-signal-safe. */
_Noreturn void ending_die(int number);

#endif
