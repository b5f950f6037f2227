/* SPDX-License-Identifier: MIT
 *
 * The file that all ranks write together. Until it is complete it has a temporary name beside the
 * one that it is to get, ".bfcreate_mpi.XXXXXXXXXXXX.tmp"; X are random hexadecimal digits.
 */
#ifndef TARGET_H
#define TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct target {
    char path[PATH_MAX];      /* links resolved */
    char temporary[PATH_MAX]; /* "": there is none */
    int fd;                   /* of the temporary; rank 0 only, else -1 */
    bool replace;             /* the filter that is there */
    bool exists;
    const char *kept; /* why that must not be replaced, and what to do; else NULL */
    struct stat old;  /* if it exists */
    bool in_place;    /* the new one */
};

/* Looks at what is at the path. 0, EEXIST, EISDIR, BLOOMFILE_ENOTREGULAR or another errno; EPERM,
 * and t->kept says why, of what bfcreate -f does not replace either: what is no filter, what others
 * add to, a file of a live series. */
int target_look(struct target *t, const char *path, bool replace);

/* Makes the temporary, with room for so many bytes. Rank 0 only. 0 or an errno. */
int target_start(struct target *t, uint64_t size);

/* From here on, in every rank that knows the temporary: SIGINT, SIGTERM and SIGHUP remove it before
 * they end the process. So whoever of a job is killed, the others, which mpirun ends by SIGTERM,
 * leave nothing behind. */
void target_guard(const struct target *t);

/* Writes the first bytes of the file, once all ranks have written the others to disk, and gives it
 * its name. Rank 0 only. 0, or an error as of target_look(). If the last step fails, the fsync of
 * the folder, the new file is in place all the same. */
int target_publish(struct target *t, const void *header, size_t size);

/* Removes the temporary, if there still is one. */
void target_end(struct target *t);

#endif
