/* SPDX-License-Identifier: MIT
 * Other processes' actions in the middle of an operation: between two of its system calls. */
#ifndef BLOOMFILE_TESTS_INTERLEAVE_H
#define BLOOMFILE_TESTS_INTERLEAVE_H

#include <stdint.h>
#include <sys/types.h>

#include "faults.h"

/* Runs it, and just before the nth of those calls, act(). Asserts that it was done. */
int with_others(int (*run)(void), enum fault_call call, unsigned nth, void (*act)(void));

/* The same where the system lacks something besides. */
int with_others_and(struct faults faults, int (*run)(void), enum fault_call call, unsigned nth,
                    void (*act)(void));

/* Runs it where temporary files have names, and stops it by bloomfile_stop_with() at each system
 * call in turn. Asserts that no temporary file is left, and lets `made` check what else is there
 * and remove it. */
void stopped_at_any_call(int (*run)(void), void (*made)(void));

/* Writes to a file that others may have mapped. */
void overwrite(const char *path, off_t at, const void *bytes, size_t size);

/* The same to a record, with the right checksum. */
void change_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value);

/* The state of both of them. */
void poison_records(const char *path);

/* Makes the checksum of both wrong. */
void damage_records(const char *path);

#endif
