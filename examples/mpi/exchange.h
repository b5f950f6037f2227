/* SPDX-License-Identifier: MIT
 *
 * Digests on their way to the ranks to which they belong: in rounds, each of which moves at most
 * `room` digests from each rank to each other, so that memory is bounded whatever the keys are.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <bloomfile.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define EXCHANGE_RECENT 65536u

struct exchange {
    int rank, ranks;
    int room;                 /* digests to each rank in a round */
    bloomfile_digest *out;    /* those to rank i from i * room on */
    bloomfile_digest *in;     /* those from rank i from i * room on */
    int *going, *came;        /* how many */
    int *places;              /* i * room */
    bloomfile_digest *recent; /* the last one of each with that remainder by EXCHANGE_RECENT */
    MPI_Count rounds, sent;   /* bytes to other ranks */
};

/* With about so many bytes for what goes out in a round, and as many for what comes in. 0 or
 * ENOMEM; exchange_free() is due in any case. */
int exchange_init(struct exchange *x, size_t bytes, int rank, int ranks);

/* Whether one more can be put, whatever rank it is for. A digest that was put a short time ago is
 * not sent again: most occurrences of a frequent key are met here, or one rank would get them all.
 */
static inline bool exchange_put(struct exchange *x, unsigned to, bloomfile_digest digest)
{
    bloomfile_digest *recent = &x->recent[digest % EXCHANGE_RECENT];
    if (*recent == digest)
        return true;
    *recent = digest;
    x->out[x->places[to] + x->going[to]++] = digest;
    return x->going[to] < x->room;
}

/* A round, in which all ranks take part: what was put goes out; came[i] digests have come from rank
 * i. */
void exchange_turn(struct exchange *x);

void exchange_free(struct exchange *x);

#endif
