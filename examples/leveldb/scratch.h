/* SPDX-License-Identifier: MIT
 *
 * A directory that goes away with the program, whatever ends it but SIGKILL.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

/* Makes a directory in `parent` and runs call(context) in a process of its own, for which it is the
 * current one. Returns the exit status for main(). */
int scratch_run(const char *parent, void (*call)(const void *), const void *context);

#endif
