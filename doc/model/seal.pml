/* SPDX-License-Identifier: MIT
 *
 * seal.pml - seal() and complete() of doc/format/live.md 7 (L24 to L26). In lib/handle/sealing.c and
 * lib/live/flush.c. Page checksums (seal 1) belong to the body here.
 */

inline seal() {
    /* seal 0: byte 0, exclusively: nobody else may add */
#ifdef WITHOUT_SEAL_0
    skip;
#else
    atomic { excl0 == NOBODY && shared0 == bitof(me) -> excl0 = me };
#endif
    take3(); take1(); CHECK_LIVE;
    BEGIN;
    MAYBE_DIE;
    /* seal 1: the page checksums */
    e = c[f].est || c[f].writers > 1;
    /* seal 2: the body is on disk, and told, it poisons */
#ifndef WITHOUT_SEAL_2
    sync_body();
    MAYBE_DIE;
    POISON_IF_TOLD;
#endif
    MAYBE_DIE;
    /* seal 3: the sealed record, over the one that is not in force */
    write_record(OTHER, TOP, SEALED, 0, c[f].n + own, 0, e, 0);
    MAYBE_DIE;
    /* seal 4: it is on disk before the other one is overwritten */
#ifndef WITHOUT_SEAL_4
    sync_header();
    if
    :: bad ->                                           /* the live one counts as in force */
        write_record(1 - f, c[f].seq + 1, POISONED, c[f].boot, c[f].n, 0, e, 0);
        sync_header();
        write_record(f, c[f].seq + 2, POISONED, c[f].boot, c[f].n, 0, e, 0);
        sync_header(); goto dead
    :: else
    fi;
#endif
    MAYBE_DIE;
    /* seal 5: the same bytes over the other one */
    atomic { copy_record(c[f], c[1 - f]); dirty[f] = 1 };
    MAYBE_DIE;
    /* seal 6: they are on disk */
    sync_header()
}

/* The record in force is sealed, and the other one differs. */
inline complete() {
    atomic { shared0 == 0 && excl0 == NOBODY -> excl0 = me };
    take1();
    f = IN_FORCE(c);
    if
    :: !c[1 - f].intact || c[1 - f].seq != TOP ->
        assert((body & done) == done);
        /* complete 1: the record in force is on disk: its writer may have been killed */
#ifndef WITHOUT_COMPLETE_1
        sync_header();
        if :: bad -> goto dead :: else fi;
#endif
        /* complete 2: its bytes over the other one */
        atomic { copy_record(c[1 - f], c[f]); dirty[1 - f] = 1 };
        MAYBE_DIE;
        /* complete 3: they are on disk */
        sync_header()
    :: else
    fi
}
