/* SPDX-License-Identifier: MIT
 * The results reported to writers, in memory that outlives them: a file on a disk that works.
 * Each writer counts its keys from 0, so one number describes a set of keys. */
#ifndef BAD_DISK_LEDGER_H
#define BAD_DISK_LEDGER_H

#include <stdatomic.h>

#include "keys.h"

enum {
    COPIES = 64
};

/* trial.py reads it too: 32-bit numbers, in this order. */
struct ledger {
    atomic_uint added[WRITERS];    /* keys whose add has returned */
    atomic_uint promised[WRITERS]; /* keys that a call which returned 0 reported as on disk */
    atomic_uint syncs;             /* of the filter; each returned 0 */
    atomic_uint told;              /* calls other than adds that returned an error */
    atomic_uint sealed;            /* a call that returned 0 reported the filter as sealed */
    atomic_uint taken;             /* reports of errors that went to another program */
    atomic_uint copies;            /* copies begun */
    struct copy {
        atomic_uint done; /* 1: it returned 0; 2: and the copy is live */
        atomic_uint promised[WRITERS];
    } copy[COPIES];
};

/* Maps the file; ends the program on an error. */
struct ledger *ledger_open(const char *path);

/* The keys added so far. */
void ledger_added(const struct ledger *l, unsigned added[WRITERS]);

/* Never lowers a promise. */
void ledger_promise(atomic_uint promised[WRITERS], const unsigned keys[WRITERS]);

/* Counts the result of a call; returns whether it succeeded. */
bool ledger_count(struct ledger *l, int error);

#endif
