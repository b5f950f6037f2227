/* SPDX-License-Identifier: MIT
 *
 * Memory of processes, from Linux' /proc/PID/smaps. A page that several processes map counts in the
 * proportional set size (PSS) of each by its share.
 */
#ifndef BLOOMFILE_BENCH_PSS_H
#define BLOOMFILE_BENCH_PSS_H

#include <stdint.h>
#include <sys/types.h>

struct pss {                   /* bytes */
    uint64_t mapping;          /* PSS of the mappings of the file */
    uint64_t mapping_resident; /* their RSS */
    uint64_t rest;             /* PSS of all other mappings */
};

/* Adds what a process has mapped. */
void pss_add(struct pss *sum, pid_t pid, const char *file);

#endif
