/* SPDX-License-Identifier: MIT
 * What others do in the middle of an operation: between two of its system calls. */
#ifndef BLOOMFILE_TESTS_MEANWHILE_H
#define BLOOMFILE_TESTS_MEANWHILE_H

#include <stdint.h>
#include <sys/types.h>

#include "faults.h"

/* Runs it, and just before the nth of those calls, act(). Asserts that it was done. */
int with_others(int (*run)(void), enum fault_call call, unsigned nth, void (*act)(void));

/* The same where the system lacks something besides. */
int with_others_and(struct faults faults, int (*run)(void), enum fault_call call, unsigned nth,
                    void (*act)(void));

/* Runs it, where temporary files have names, in a child that Ctrl-C ends at each call in turn, by a
 * handler that calls bloomfile_remove_temporaries(). Asserts that no such file is left, and that
 * what `made` says of the rest holds, and removes that. */
void ended_at_any_call(int (*run)(void), void (*made)(void));

/* The same where another thread than the one that runs it is the one that Ctrl-C comes to. */
void ended_beside_any_call(int (*run)(void), void (*made)(void));

/* Writes to a file that others may have mapped. */
void overwrite(const char *path, off_t at, const void *bytes, size_t size);

/* The same to a record, with the right checksum. */
void change_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value);

/* The state of both of them. */
void poison_records(const char *path);

/* Makes the checksum of both wrong. */
void damage_records(const char *path);

#endif
