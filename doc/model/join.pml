/* SPDX-License-Identifier: MIT
 *
 * join.pml - join() and leave() of doc/format/live.md 6 (L12, L13, L18). In lib/live/join.c.
 */

inline join() {
    /* join 1: byte 0, shared, without waiting */
#ifndef WITHOUT_JOIN_1
    if
    :: atomic { excl0 == NOBODY -> shared0 = shared0 | bitof(me) }
    :: excl0 != NOBODY -> goto dead
    fi;
#endif
    MAYBE_DIE;
    /* join 2: byte 3, shared: nobody is synchronising, so a mark is of one that is gone */
#ifndef WITHOUT_JOIN_2
    atomic { byte3 == NOBODY -> sh3 = sh3 | bitof(me) };
#endif
    /* join 3: byte 1 */
#ifndef WITHOUT_JOIN_3
    take1();
#endif
    /* join 4: the record in force is live */
#ifdef WITHOUT_JOIN_4
    f = IN_FORCE(c);
#else
    CHECK_LIVE;
#endif
    others_hold();
    /* join 5: what is unclean is refused, or accepted for all */
    if
#ifndef WITHOUT_JOIN_5
    :: c[f].boot != 0 && (c[f].syn || c[f].boot != boot) ->
        assert(untidy);
        if :: goto dead :: atomic { done = done & body; forgiven = 1 } fi
#endif
    :: else
    fi;
    /* join 6: counts that a killed writer took along are flagged */
    e = c[f].est;
#ifndef WITHOUT_JOIN_6
    if
    :: c[f].boot != 0 && (c[f].boot != boot || c[f].syn || (!others && c[f].writers > 0)) -> e = 1
    :: else
    fi;
#endif
    if :: others -> w = c[f].writers + 1 :: else -> w = 1 fi;
    /* join 7: the image is in use, and keeps or gets the mark if it was unclean */
#ifdef WITHOUT_JOIN_7
    commit(c[f].boot, c[f].n, w, e);
#else
    commit_marked(boot, c[f].n, w, e, c[f].boot != 0 && (c[f].boot != boot || c[f].syn));
#endif
    drop1(); drop3()
}

inline leave() {
    /* leave 1: bytes 3 and 1 */
#ifndef WITHOUT_LEAVE_1
    take3();
#endif
    take1(); CHECK_LIVE;
    /* leave 2: the last one leaves it clean */
#ifdef WITHOUT_LEAVE_2
    others = 0;
#else
    others_hold();
#endif
    w = (c[f].writers > 0 -> c[f].writers - 1 : 0);
    e = c[f].est || (!others && w > 0);
    if
    /* leave 3: who finds a mark synchronises before it is cleared */
    :: !others || c[f].syn ->
        BEGIN;
        MAYBE_DIE;
        /* leave 4: the body is on disk before it is called clean */
#ifndef WITHOUT_LEAVE_4
        sync_body();
        MAYBE_DIE;
        POISON_IF_TOLD;
#endif
    :: else
    fi;
    MAYBE_DIE;
    /* leave 5: the counts, and whether it is clean */
    snap = own; own = 0;
    commit((others -> c[f].boot : 0), c[f].n + snap, (others -> w : 0), e);
    /* leave 6: byte 0, and only then 3 and 1, so that the next to leave knows that it is the last */
#ifdef WITHOUT_LEAVE_6
    drop1(); drop3();
#endif
    atomic { shared0 = shared0 & ~bitof(me) };
    drop1(); drop3()
}
