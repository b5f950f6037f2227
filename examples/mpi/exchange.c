/* SPDX-License-Identifier: MIT
 * Digests on their way to other ranks. */
#include "exchange.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Places are counted with an int, as all in MPI 3.1 is. */
static int room_of(size_t bytes, int ranks)
{
    const size_t room = bytes / sizeof(bloomfile_digest) / (size_t)ranks, most = INT_MAX / ranks;
    return room == 0 ? 1 : room < most ? (int)room : (int)most;
}

int exchange_init(struct exchange *x, size_t bytes, int rank, int ranks)
{
    *x = (struct exchange){ .rank = rank, .ranks = ranks, .room = room_of(bytes, ranks) };
    const size_t all = (size_t)x->room * (size_t)ranks;
    x->out = calloc(all, sizeof *x->out);
    x->in = calloc(all, sizeof *x->in);
    x->going = calloc((size_t)ranks, sizeof *x->going);
    x->came = calloc((size_t)ranks, sizeof *x->came);
    x->places = calloc((size_t)ranks, sizeof *x->places);
    x->recent = calloc(EXCHANGE_RECENT, sizeof *x->recent);
    if (!x->out || !x->in || !x->going || !x->came || !x->places || !x->recent)
        return ENOMEM;
    for (size_t i = 0; i < EXCHANGE_RECENT; i++)
        x->recent[i] = i + 1; /* which is none with that remainder */
    for (int i = 0; i < ranks; i++)
        x->places[i] = i * x->room;
    return 0;
}

void exchange_turn(struct exchange *x)
{
    MPI_Alltoall(x->going, 1, MPI_INT, x->came, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(x->out, x->going, x->places, MPI_UINT64_T, x->in, x->came, x->places,
                  MPI_UINT64_T, MPI_COMM_WORLD);
    x->rounds++;
    for (int i = 0; i < x->ranks; i++)
        if (i != x->rank)
            x->sent +=
                (MPI_Count)sizeof *x->going + x->going[i] * (MPI_Count)sizeof(bloomfile_digest);
    memset(x->going, 0, (size_t)x->ranks * sizeof *x->going);
}

void exchange_free(struct exchange *x)
{
    free(x->out);
    free(x->in);
    free(x->going);
    free(x->came);
    free(x->places);
    free(x->recent);
    x->out = x->in = x->recent = NULL;
    x->going = x->came = x->places = NULL;
}
