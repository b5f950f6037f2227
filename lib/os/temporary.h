/* SPDX-License-Identifier: MIT
 * Names of temporary files beside the files that they become. A maker locks its file for as long
 * as it has such a name, so one without a lock was left behind by a kill; and it is listed, so that
 * a handler of the signal that ends the process can remove it. */
#ifndef BLOOMFILE_TEMPORARY_H
#define BLOOMFILE_TEMPORARY_H

#include <signal.h>
#include <stdbool.h>

#define TEMPORARY_NAME_SIZE 32
#define TEMPORARY_TRIES     100 /* names to try, one after the other */
#define TEMPORARY_FIXED     8   /* this many makers in one folder at a time leave nothing behind */

struct temporary {
    char name[TEMPORARY_NAME_SIZE]; /* "": it has none */
    int directory, fd;              /* the folder of the name; the file */
    struct temporary *next;         /* listed */
};

/* Begins a moment in which a file gets a name: signals are held back, and whoever lists, unlists or
 * removes waits. EINTR: the names were removed, since the process ends; or ENOMEM. */
int temporary_begin(sigset_t *before);

/* Ends it: from now on `t`, unless it is NULL, is listed. */
void temporary_end(struct temporary *t, const sigset_t *before);

/* The name is gone, or is another's. */
void temporary_unlist(struct temporary *t);

/* Whether the name is still this file's. 0; ENOENT; EBUSY: it is another's; or an errno of fstat().
 */
int temporary_check(const struct temporary *t);

/* Removes the names of all that are listed, whichever thread makes them. No file gets one any more.
 * Async-signal-safe. */
void temporary_remove_listed(void);

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
