/* SPDX-License-Identifier: MIT
 * Names of temporary files, which are in the folder of the files that they become. The process that
 * creates a temporary file locks it while it has that name. A file without a lock was left behind
 * by a kill; the next process that creates a file in the folder removes it. */
#ifndef BLOOMFILE_PUBLISH_TEMPORARY_H
#define BLOOMFILE_PUBLISH_TEMPORARY_H

#include <stdbool.h>

#define TEMPORARY_NAME_SIZE 32
#define TEMPORARY_TRIES     100 /* names to try, one after the other */
#define TEMPORARY_FIXED     8   /* fixed names; more creators at a time may leave files behind */

/* Checks that the name still belongs to this file. Returns 0, ENOENT, EBUSY if it belongs to
 * another file, or an errno of fstat(). */
int temporary_check(int directory, const char *name, int fd);

/* Makes the name for an attempt, from 0 on. The first names are fixed, so that temporary_clean()
 * finds them. The others are random, and their leftovers are not found. Returns 0 or an errno. */
int temporary_name(unsigned attempt, char name[TEMPORARY_NAME_SIZE]);

/* Locks a file that has, or will get, the name of that attempt. Returns false if it cannot be
 * locked. */
bool temporary_hold(unsigned attempt, int fd);

/* Releases the lock after the file was renamed. The descriptor stays open. */
void temporary_let_go(int fd);

/* Removes the files that kills left in a folder: regular files of this user that no process has
 * locked. Makes one system call for each fixed name if there are none. Files that cannot be removed
 * are skipped. */
void temporary_clean(int directory);

#endif
