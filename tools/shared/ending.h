/* SPDX-License-Identifier: MIT
 * Signals that end the program: no temporary file of the library is left behind. */
#ifndef BLOOMFILE_TOOLS_ENDING_H
#define BLOOMFILE_TOOLS_ENDING_H

/* Call it just before a file is made, and no earlier: a caught signal does not end a wait for a
 * network disk that hangs. Signals that are already caught or ignored stay so. */
void ending_catch(void);

/* Ends the program by that signal, which may be blocked, as in its handler. Async-signal-safe. */
_Noreturn void ending_die(int number);

#endif
