/* SPDX-License-Identifier: MIT
 * Actions of other processes in the middle of an operation: between two of its system calls. */
#ifndef BLOOMFILE_TESTS_INTERLEAVE_H
#define BLOOMFILE_TESTS_INTERLEAVE_H

#include <stdint.h>
#include <sys/types.h>

#include "faults.h"

/* Calls run(), and act() just before the nth of those calls. Asserts that act() ran. */
int with_others(int (*run)(void), enum fault_call call, unsigned nth, void (*act)(void));

/* Like with_others(), on a system with these limits. */
int with_others_and(struct faults faults, int (*run)(void), enum fault_call call, unsigned nth,
                    void (*act)(void));

/* Calls run() where temporary files have names, and stops it by bloomfile_stop_with() at each
 * system call in turn. Asserts that no temporary file is left. `made` checks the other files and
 * removes them. */
void stopped_at_any_call(int (*run)(void), void (*made)(void));

/* Writes to a file that other processes may have mapped. */
void overwrite(const char *path, off_t at, const void *bytes, size_t size);

/* Changes a field of a record. The checksum is made correct. */
void change_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value);

/* Sets the state of both records to poisoned. */
void poison_records(const char *path);

/* Makes the checksums of both records wrong. */
void damage_records(const char *path);

#endif
