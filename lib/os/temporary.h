/* SPDX-License-Identifier: MIT
 * Names of temporary files beside the files that they become. A maker locks its file for as long
 * as it has such a name, so one without a lock was left behind by a kill. */
#ifndef BLOOMFILE_TEMPORARY_H
#define BLOOMFILE_TEMPORARY_H

#include <stdbool.h>

#define TEMPORARY_NAME_SIZE 32
#define TEMPORARY_TRIES     100 /* names to try, one after the other */
#define TEMPORARY_FIXED     8   /* this many makers in one folder at a time leave nothing behind */

/* The name for a try, from 0 on. The first few are fixed, so that they are found again; the others
 * are random and never looked for. 0 or an errno. */
int temporary_name(unsigned attempt, char name[TEMPORARY_NAME_SIZE]);

/* Locks a file that has, or will get, the name of that try. false: it cannot be locked. */
bool temporary_hold(unsigned attempt, int fd);

/* The file has another name now. Its descriptor may live on. */
void temporary_let_go(int fd);

/* Removes what kills have left in a folder: regular files of ours that nobody locks. If there are
 * none, it costs one system call per fixed name. What cannot be removed stays. */
void temporary_clean(int directory);

#endif
