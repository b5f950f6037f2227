/* SPDX-License-Identifier: MIT
 * System calls and allocations of the library that fail on demand: those of fault_calls.def. */
#ifndef BLOOMFILE_TESTS_FAULTS_H
#define BLOOMFILE_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#define X(name) ON_##name,
enum fault_call {
#include "fault_calls.def"
    ON_unlock, /* fcntl64 that lets go of a lock; ON_fcntl64 are the others */
    FAULT_CALL_COUNT
};
#undef X

/* What goes wrong between faults_begin() and faults_end(). */
struct faults {
    enum fault_call call;
    unsigned nth;  /* of its calls, from 1; 0: none fails */
    int error;     /* 0: pwrite() writes nothing, and says so */
    bool for_ever; /* the later ones fail too */

    /* The system lacks something, besides. */
    bool no_unnamed_files, no_proc, no_renameat2;
    bool read_only;            /* open() for writing is refused */
    bool links_are_copies;     /* inodes of their own */
    bool other_device;         /* fstat says */
    unsigned long file_system; /* what fstatfs says; 0: what it is */
    size_t transfer_at_most;   /* bytes a read or write; 0: no limit */
    size_t file_ends_at;       /* for reading; 0: where it does */
    const char *text_read;     /* what read() gives, then its end; NULL: what is there */

    const struct faults *besides; /* another call that fails; NULL: none */

    void (*at_each_call)(enum fault_call call); /* may be NULL; its own calls are left alone */
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

/* How often it was called since faults_begin(). */
unsigned fault_calls(enum fault_call call);

/* Bytes that msync() was to bring to disk since then, where it did not fail. */
size_t fault_flushed(void);

const char *fault_name(enum fault_call call);

#endif
