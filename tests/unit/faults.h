/* SPDX-License-Identifier: MIT
 * System calls and allocations of the library that fail on demand. fault_calls.def lists them. */
#ifndef BLOOMFILE_TESTS_FAULTS_H
#define BLOOMFILE_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#define X(name) ON_##name,
enum fault_call {
#include "fault_calls.def"
    ON_unlock, /* the fcntl64 calls that unlock; ON_fcntl64 counts the rest */
    FAULT_CALL_COUNT
};
#undef X

/* The faults between faults_begin() and faults_end(). */
struct faults {
    enum fault_call call;
    unsigned nth;  /* which call, from 1; 0: no call fails */
    int error;     /* 0: pwrite() writes 0 bytes */
    bool for_ever; /* all later calls fail too */

    /* Abilities that the system lacks. */
    bool no_unnamed_files, no_proc, no_renameat2;
    bool read_only;            /* open() for writing fails */
    bool links_are_copies;     /* linkat() copies: each name has its own inode */
    bool other_device;         /* fstat() returns another device */
    unsigned long file_system; /* type that fstatfs() returns; 0: the real one */
    size_t transfer_at_most;   /* bytes per read or write; 0: no limit */
    size_t file_ends_at;       /* for reads; 0: at its real end */
    const char *text_read; /* bytes that read() returns before end of file; NULL: the real bytes */

    const struct faults *besides; /* a second call that fails, or NULL */

    void (*at_each_call)(enum fault_call call); /* may be NULL; its own calls succeed uncounted */
};

static inline struct faults once(enum fault_call call, unsigned nth, int error)
{
    return (struct faults){ .call = call, .nth = nth, .error = error };
}

static inline struct faults from_then_on(enum fault_call call, unsigned nth, int error)
{
    return (struct faults){ .call = call, .nth = nth, .error = error, .for_ever = true };
}

void faults_begin(const struct faults *faults);
void faults_end(void);

/* The number of calls since faults_begin(). */
unsigned fault_calls(enum fault_call call);

/* Bytes passed to successful msync(MS_SYNC) since faults_begin(). */
size_t fault_flushed(void);

const char *fault_name(enum fault_call call);

#endif
