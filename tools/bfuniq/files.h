/* SPDX-License-Identifier: MIT
 *
 * Generations in files: FILE.1, FILE.2 and so on, of which the highest number is the newest. Any
 * number of processes use them at once; the file system decides who makes the next one.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_FILES_H
#define BLOOMFILE_TOOLS_UNIQ_FILES_H

#include "bfuniq/state.h"

/* Opens the newest generation and those before it that count, made anew if there is none, and
 * removes those that have expired. What was open and still counts stays open. */
void files_load(struct seen *s);

/* Ends the program if FILE is about to be made although it has generations: a new file would know
 * nothing of what they have seen. */
void files_check_unused(const struct seen *s);

/* Whether another process has gone on to the next generation. */
bool files_have_moved(const struct seen *s);

/* Whether the newest one has no successor; of one that is not there any more. */
bool files_are_gone(const struct seen *s);

/* Begins the next generation, or joins the process that was faster. */
void files_rotate(struct seen *s);

#endif
