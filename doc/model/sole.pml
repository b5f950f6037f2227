/* SPDX-License-Identifier: MIT
 *
 * sole.pml - a sole adder (doc/format/live.md 5): it stores whole words of the body while it holds
 * byte 0 exclusively. Another writer tries to join, and a reader looks, at every step of it. The
 * adder may be killed at every step, and may have a child that lives on. With -DHOLDS the adder
 * takes the lock when it joins, and holds it until it leaves.
 *
 * Claimed (the asserts): a key that was there stays; a key that either writer announced is found by
 * every process that learns of it; when the adder is gone, so is its lock. -DBUG_... leaves a
 * precaution out, and an assert must fail. scripts/campaign model runs it.
 */
#define OLD   1     /* bits in each of two words: of a key that is there from the beginning, */
#define SOLE  2     /* of the sole adder's key, */
#define OTHER 4     /* of the other writer's key */
#define ADDS  2     /* by the sole adder, of the same key: it loads and stores the words again */
#define TRIES 2     /* by the other writer */

byte word[2];       /* in memory, as every process sees it */
byte waits[2];      /* stores of the sole adder that have not reached memory; 0: no store */
bit exclusive;      /* byte 0 */
byte shared;
bit forked, child, killed, gone, told_sole, told_other;

/* Stores reach memory in any order. */
proctype Processor() {
    do
    :: atomic { waits[0] -> word[0] = waits[0]; waits[0] = 0 }
    :: atomic { waits[1] -> word[1] = waits[1]; waits[1] = 0 }
    :: gone && !waits[0] && !waits[1] -> break
    od
}

#define ARRIVED (!waits[0] && !waits[1])

inline load() { have[0] = word[0]; have[1] = word[1] }

proctype Adder() {
    byte adds, have[2];
    {
        do
        :: adds < ADDS ->
            adds++;
#ifdef BUG_LOAD
            load();
#endif
            if
#ifdef HOLDS
            :: exclusive;
#else
            :: atomic { shared == 1 -> shared = 0; exclusive = 1 };
#endif
#ifdef BUG_SHARED
                atomic { shared = 1; exclusive = 0 };
#endif
#ifndef BUG_LOAD
                load();
#endif
                waits[0] = have[0] | SOLE;
                waits[1] = have[1] | SOLE;
                if :: atomic { !forked -> forked = 1; child = 1 } :: skip fi;
#ifndef BUG_FENCE
                ARRIVED;
#endif
                told_sole = 1;
#ifndef HOLDS
                ARRIVED;    /* the lock is changed by a system call */
                atomic { if :: exclusive -> exclusive = 0; shared++ :: else fi }
#endif
            :: shared > 1 ->    /* refused: it adds as every writer does */
                word[0] = word[0] | SOLE;
                word[1] = word[1] | SOLE;
                told_sole = 1
            fi
        :: break
        od
    } unless { killed };
    /* What was executed reaches memory. Then the system closes its openings; the child also has them. */
    ARRIVED;
    atomic { if :: !child && exclusive -> exclusive = 0 :: !exclusive -> shared-- :: else fi; gone = 1 }
}

/* Closes the opening that it has inherited. */
proctype Child() {
#ifndef BUG_CHILD
    if
    :: atomic { child -> child = 0; if :: gone -> exclusive = 0 :: else fi }
    :: gone && !child
    fi;
#endif
    gone;
#ifndef BUG_CHILD
    assert(!exclusive)
#else
    assert(!child || !exclusive)
#endif
}

proctype Killer() { if :: killed = 1 :: gone fi }

proctype Other() {
    byte tries;
    do
    :: tries < TRIES ->
        if
        :: atomic { !exclusive -> shared++ };
            word[0] = word[0] | OTHER;
            word[1] = word[1] | OTHER;
            told_other = 1;
            shared--;
            break
        :: exclusive -> tries++
        fi
    :: else -> break
    od
}

proctype Reader() {
    byte known;
    known = OLD | (told_sole -> SOLE : 0) | (told_other -> OTHER : 0);
    assert((word[0] & known) == known);
    assert((word[1] & known) == known)
}

init {
    atomic {
        word[0] = OLD; word[1] = OLD;
#ifdef HOLDS
        exclusive = 1;
#else
        shared = 1;
#endif
        run Processor(); run Adder(); run Child(); run Killer(); run Other(); run Reader()
    }
}
