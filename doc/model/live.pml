/* SPDX-License-Identifier: MIT
 *
 * live.pml - writers of a live image, each of whom joins, adds and synchronises in any order, and
 * leaves or seals; image.pml says what may happen to them and to the disk.
 *
 * Claimed (the asserts): a sealed image, and a clean live one, has every key whose add was complete;
 * an unclean one every key whose synchronisation had returned; there is always a record in force;
 * nobody adds to a sealed image; n is exact unless flagged, when nobody writes; what all writers left
 * in order is clean. Nobody waits for ever (spin's invalid end states).
 *
 * The steps are named as in the code ("commit 1"): each is a comment here and there. -DWITHOUT_COMMIT_1
 * leaves the step out, and an assert must fail. scripts/campaign model runs it all.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef SESSIONS
#define SESSIONS 1      /* of each writer */
#endif
#ifndef KEYS
#define KEYS 2
#endif
#ifndef LOSSES
#define LOSSES 0        /* of power */
#endif
#ifndef KILLS
#define KILLS 1
#endif

#include "image.pml"
#include "poison.pml"
#include "commit.pml"
#include "sync.pml"
#include "join.pml"
#include "seal.pml"

proctype Writer(byte me) {
    byte sessions, f, own, snap, wanted, key, chk, w, at;
    bit others, bad, e;
again:
    {
        do
        :: sessions < SESSIONS ->
            sessions++;
            atomic {
                f = IN_FORCE(c);
#ifdef FAIL
                opened = opened | bitof(me);
                if :: failed && !seen -> tell = tell | bitof(me) :: else fi;
#endif
            }
            if
            :: c[f].state == SEALED -> if :: complete() :: skip fi; goto dead
            :: c[f].state != SEALED && !IS_LIVE(f) -> goto dead
            :: IS_LIVE(f)
            fi;
            join();
            do
            :: own < KEYS -> add(); MAYBE_DIE
#ifndef NO_SYNCS
            :: synchronisation(); break
#endif
            :: break
            od;
            performed();
            if
#ifndef NO_SEALS
            :: seal()
#endif
            :: leave()
            fi;
dead:       drop_locks();
            own = 0; snap = 0; wanted = 0; key = 0; w = 0; others = 0; bad = 0; e = 0
        :: else -> break
        od
    } unless { powerless[me] };
    if
    :: powerless[me] ->
        atomic { powerless[me] = 0; f = 0; own = 0; snap = 0; wanted = 0; key = 0; w = 0; at = 0;
                 others = 0; bad = 0; e = 0 };
        goto again
    :: else
    fi
}

init {
    atomic {
        c[0].seq = 1; c[0].state = LIVE; c[0].intact = 1;
        copy_record(d[0], c[0]);
        run Power();
#ifdef FAIL
        run Disk();
#endif
        byte i = 0;
        do
        :: i < WRITERS -> run Writer(i); i++
        :: else -> break
        od
    }
}
