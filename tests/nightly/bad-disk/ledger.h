/* SPDX-License-Identifier: MIT
 *
 * The results reported to writers, in memory that outlives them: a file on a disk that works. Each
 * writer counts its keys from 0, so one number says which of them are meant.
 */
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
    atomic_uint promised[WRITERS]; /* keys that the filter has on disk, as something said with 0 */
    atomic_uint syncs;             /* of the filter that returned 0 */
    atomic_uint told;              /* calls that returned an error, but for adds */
    atomic_uint sealed;            /* something said with 0 that the filter is sealed */
    atomic_uint taken;             /* reports of errors that another program has got */
    atomic_uint copies;            /* that were begun */
    struct copy {
        atomic_uint done; /* 1: it returned 0; 2: and is live */
        atomic_uint promised[WRITERS];
    } copy[COPIES];
};

/* Maps it; ends the program if that cannot be. */
struct ledger *ledger_open(const char *path);

/* What has been added up to now. */
void ledger_added(const struct ledger *l, unsigned added[WRITERS]);

/* Never takes back what was promised before. */
void ledger_promise(atomic_uint promised[WRITERS], const unsigned keys[WRITERS]);

/* Counts what a call returned; whether it is no error. */
bool ledger_count(struct ledger *l, int error);

#endif
