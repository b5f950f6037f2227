/* SPDX-License-Identifier: MIT
 * Names of temporary files next to the files that they become. The process that creates a temporary
 * file locks it as long as it has that name. A file without a lock was left behind by a kill. The
 * next process that creates a file in the folder removes it. */
#ifndef BLOOMFILE_PUBLISH_TEMPORARY_H
#define BLOOMFILE_PUBLISH_TEMPORARY_H

#include <stdbool.h>

#define TEMPORARY_NAME_SIZE 32
#define TEMPORARY_TRIES     100 /* names to try, one after the other */
#define TEMPORARY_FIXED     8   /* this many creators in a folder at a time leave nothing behind */

/* Whether the name is still this file's. 0; ENOENT; EBUSY: it is another file's; an errno of
 * fstat(). */
int temporary_check(int directory, const char *name, int fd);

/* The name for a try, from 0 on. The first few names are fixed, so that they are found again. The
 * other names are random and not looked for. 0 or an errno. */
int temporary_name(unsigned attempt, char name[TEMPORARY_NAME_SIZE]);

/* Locks a file that has, or will get, the name of that try. false: it cannot be locked. */
bool temporary_hold(unsigned attempt, int fd);

/* The file has another name now. Its descriptor may live on. */
void temporary_let_go(int fd);

/* Removes the files that kills left in a folder: regular files of this user that no process locks.
 * Takes one system call for each fixed name if it finds no files. A file that cannot be removed
 * stays. */
void temporary_clean(int directory);

#endif
