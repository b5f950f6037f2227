/* SPDX-License-Identifier: MIT
 *
 * sync.pml - adding, begin() and synchronisation() of doc/format/live.md 5 and 6 (L5, L14 to L19).
 * In lib/live/adding.c and flush.c.
 */

/* The bits are set at once, or when the processor comes to it: then nobody has seen them yet. */
inline perform(bits) {
    if
    :: !(body & bits) ->
        assert(c[0].state != SEALED && c[1].state != SEALED);
        body = body | bits; own++; news++
    :: else
    fi
}

inline add() {
    if :: key = bitof(0) :: KEYS > 1 -> key = bitof(1) fi;
    /* add 1: sets the bits */
    if :: atomic { perform(key) } :: pending[me] = key fi;
    /* add 2: and it waits until they are there: whoever learns of the add, however, finds them */
#ifndef WITHOUT_ADD_2
    performed();
#endif
    done = done | key;
    key = 0
}

inline performed() {
    atomic { if :: pending[me] -> perform(pending[me]); pending[me] = 0 :: else fi }
}

/* sync 2: the mark is in the record in force while a body is synchronised */
#ifdef WITHOUT_SYNC_2
#define BEGIN skip
#else
#define BEGIN \
    if :: !c[f].syn -> \
        write(LIVE, c[f].boot, c[f].n, c[f].writers, c[f].est, 1); \
        f = IN_FORCE(c) \
    :: else fi
#endif

inline synchronisation() {
    /* sync 1: one writer at a time */
#ifndef WITHOUT_SYNC_1
    take3();
#endif
    wanted = done;
    take1(); CHECK_LIVE;
    BEGIN;
    drop1();
    MAYBE_DIE;
    /* sync 3: the body goes to disk */
#ifndef WITHOUT_SYNC_3
    sync_body();
#endif
    MAYBE_DIE;
    take1();
    /* sync 4: told, it poisons; and a poisoned image takes no commit */
#ifdef WITHOUT_SYNC_4
    bad = 0;
#endif
    CHECK_LIVE;
    POISON_IF_TOLD;
#ifndef WITHOUT_SYNC_2
    assert(c[f].syn);                                   /* nobody else has cleared it */
#endif
    /* sync 5: the counts, and the mark away */
    snap = own; own = 0;
    commit(c[f].boot, c[f].n + snap, c[f].writers, c[f].est);
    snap = 0; drop1(); drop3();
    promised = promised | wanted; wanted = 0
}
