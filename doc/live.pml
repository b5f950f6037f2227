/* SPDX-License-Identifier: MIT
 *
 * live.pml - the protocol of live files (format-spec.md, section 13) as a model for spin.
 *
 * Modelled: the two commit records and the body, each in the page cache and on disk; the locks on
 * bytes 0, 1 and 3; joining, adding, synchronising, leaving, sealing in place and completing it; the
 * death of a process between any two steps; power loss at any moment, after which each record that
 * was not synchronised is old, new or torn, and any subset of the bits not synchronised is there;
 * opening an unclean file all the same. With -DFAIL also a write to disk that fails, once: pages are
 * dropped, and the kernel tells each open file once (a new one only if nobody was told before).
 *
 * Claimed (the asserts): a sealed image, and a clean live one, has every key whose add was complete;
 * an unclean one every key whose synchronisation had returned; there is always a record in force;
 * nobody adds to a sealed image; n is exact unless flagged, when nobody writes.
 *
 *     spin -a -DFIXED [-DFAIL] live.pml && cc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m100000
 *
 * -DFIXED is the protocol of the text: whoever is about to commit synchronises the header first.
 * Without it two kills, or a kill and a loss of power, leave no record in force. -DNO_MARK leaves out
 * the mark of a synchronisation that has begun.
 *
 * Last run (spin 6.5.2): -DFIXED -DFAIL -DSESSIONS=1 -DLOSSES=0 holds, all 11 865 055
 * states, and is violated with -DNO_MARK; -DFIXED -DSESSIONS=1 with a loss of power: no violation in the
 * first 10 million states, not all of them.
 *
 * Variants that must be found wrong (so that a clean run means something):
 *     -DBUG_ORDER      leaving marks clean before the body is on disk
 *     -DBUG_NOLOCK     joining does not ask for byte 0
 *     -DBUG_INPLACE    a commit overwrites the record in force
 *     -DBUG_SEALFIRST  sealing writes the record before the body is on disk
 *     -DBUG_COUNT      joining does not flag counts that a killed writer took along
 *     -DFAIL -DKILL_AFTER_ERROR -DNO_MARK   a writer that was told of a failed write is killed
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef SESSIONS
#define SESSIONS 2      /* of each writer */
#endif
#ifndef LOSSES
#define LOSSES 1        /* of power */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#define KEYS 2

#define LIVE 1
#define SEALED 2
#define POISONED 3
#define TOP 255         /* the sequence of a sealed record */
#define NOBODY 99

typedef record { byte seq, state, boot, n, writers; bit est, intact, syn };

record c[2];            /* in the page cache */
record d[2];            /* on disk at the last synchronisation of the header */
bit dirty[2];
byte body, disk;        /* bits of keys: in the cache, and surely on disk */

byte boot = 1;          /* of the machine */
byte shared0;           /* holders of byte 0, one bit a writer */
byte excl0 = NOBODY, byte1 = NOBODY, byte3 = NOBODY, sh3;
byte losses, kills;
bit powerless[WRITERS];

byte done, promised;    /* what is owed: adds that returned; that were synchronised */
byte news;              /* keys that were new to somebody and are not forgiven */
bit forgiven;           /* counts cannot be exact any more: the flag is due */

#ifdef FAIL
bit failed, seen;       /* a write failed; somebody was told */
byte tell;              /* writers that had the file open then and were not told, one bit each */
byte opened;            /* descriptors open, one bit a writer */
#endif

#define bitof(i) (1 << (i))
#define IN_FORCE(r) ((r[1].intact && (!r[0].intact || r[1].seq > r[0].seq)) -> 1 : 0)

#define copy_record(to, from) \
    to.seq = from.seq; to.state = from.state; to.boot = from.boot; to.n = from.n; \
    to.writers = from.writers; to.est = from.est; to.intact = from.intact; to.syn = from.syn

/* What is known when nobody is about to change anything. */
inline check_quiet() {
    if
    :: shared0 == 0 && excl0 == NOBODY && byte1 == NOBODY && byte3 == NOBODY ->
        chk = IN_FORCE(c);
        assert(c[chk].intact);
        if
        :: c[chk].state == LIVE && c[chk].boot == 0 ->
            assert((body & done) == done);
            assert(c[chk].est || (c[chk].n == news && !forgiven))
        :: c[chk].state == SEALED ->
            assert((body & done) == done);
            assert(c[chk].est || (c[chk].n == news && !forgiven))
        :: else
        fi
    :: else
    fi
}

/* ---- the power fails */

proctype Power() {
    byte i, f, chk;
    do
    :: losses < LOSSES ->
        atomic {
            losses++;
            i = 0;
            do
            :: i < 2 ->
                if
                :: !dirty[i]
                :: dirty[i] -> copy_record(d[i], c[i])           /* it was written */
                :: dirty[i] -> skip                              /* it was not */
                :: dirty[i] -> d[i].intact = 0                   /* half of it was */
                fi;
                copy_record(c[i], d[i]);
                dirty[i] = 0;
                i++
            :: else -> break
            od;
            i = 0;
            do
            :: i < KEYS ->
                if
                :: body & bitof(i) -> disk = disk | bitof(i)     /* written by chance */
                :: skip
                fi;
                i++
            :: else -> break
            od;
            body = disk;
            boot++;
            shared0 = 0; excl0 = NOBODY; byte1 = NOBODY; byte3 = NOBODY; sh3 = 0;
#ifdef FAIL
            opened = 0; tell = 0;
#endif
            f = IN_FORCE(c);
            assert(c[f].intact);
            if
            :: c[f].state == LIVE && c[f].boot != 0 ->           /* unclean */
                assert((body & promised) == promised);
                if :: (done & body) != done || c[f].n != news -> forgiven = 1 :: else fi;
                done = done & body
            :: c[f].state == POISONED -> done = 0; promised = 0
            :: else -> skip
            fi;
            check_quiet();
            i = 0;
            do
            :: i < WRITERS -> powerless[i] = 1; i++
            :: else -> break
            od;
            i = 0; f = 0; chk = 0
        }
    :: losses == LOSSES -> break
    od
}

#ifdef FAIL
/* The kernel cannot write the body, marks its pages clean, and may drop them. */
proctype Disk() {
    byte i;
    atomic {
        if
        :: (body & ~disk) != 0 ->
            failed = 1;
            tell = opened;
            i = 0;
            do
            :: i < KEYS ->
                if
                :: (body & bitof(i)) && !(disk & bitof(i)) -> body = body & ~bitof(i)
                :: skip
                fi;
                i++
            :: else -> break
            od;
            i = 0
        :: skip
        fi
    }
}
#endif

/* ---- a writer */

/* The result of a synchronisation, in `bad`. */
inline told() {
#ifdef FAIL
    bad = failed && (tell & bitof(me));
    if :: bad -> seen = 1; tell = tell & ~bitof(me); :: else fi
#else
    bad = 0
#endif
}

inline sync_header() {
    atomic { copy_record(d[0], c[0]); copy_record(d[1], c[1]); dirty[0] = 0; dirty[1] = 0; told() }
}

/* Bits that are there when it begins are on disk when it ends, and so are the records. */
inline sync_body() {
    snap = body;
    atomic {
        told();
        copy_record(d[0], c[0]); copy_record(d[1], c[1]); dirty[0] = 0; dirty[1] = 0;
#ifdef FAIL
        if :: !bad -> disk = disk | (snap & body) :: else fi
#else
        disk = disk | snap
#endif
    }
}

/* Whoever wrote the record in force may have been killed before he had synchronised it. */
#ifdef FIXED
#define FIRST_SYNC_RECORDS sync_header(); if :: bad -> MAYBE_DIE_B; poison(); goto dead :: else fi
#else
#define FIRST_SYNC_RECORDS skip
#endif

#define write_record(slot, q, s, b, count, w, e, y) \
    atomic { \
        at = slot; c[at].seq = q; c[at].state = s; c[at].boot = b; c[at].n = count; \
        c[at].writers = w; c[at].est = e; c[at].syn = y; c[at].intact = 1; dirty[at] = 1; at = 0 \
    }

inline poison() {
    f = IN_FORCE(c);
    write_record(1 - f, c[f].seq + 1, POISONED, c[f].boot, c[f].n, c[f].writers, c[f].est, c[f].syn);
    sync_header();
    write_record(f, c[1 - f].seq + 1, POISONED, c[1 - f].boot, c[1 - f].n, c[1 - f].writers,
                 c[1 - f].est, c[1 - f].syn);
    sync_header()
}

#ifdef BUG_INPLACE
#define SLOT f
#else
#define SLOT (1 - f)
#endif

inline others_hold() { others = (shared0 & ~bitof(me)) != 0 || (excl0 != NOBODY && excl0 != me) }

inline drop_locks() {
    atomic {
        shared0 = shared0 & ~bitof(me);
        if :: excl0 == me -> excl0 = NOBODY :: else fi;
        if :: byte1 == me -> byte1 = NOBODY :: else fi;
        if :: byte3 == me -> byte3 = NOBODY :: else fi;
        sh3 = sh3 & ~bitof(me);
#ifdef FAIL
        opened = opened & ~bitof(me); tell = tell & ~bitof(me);
#endif
        check_quiet(); chk = 0
    }
}

/* Death between two steps. What was counted and not committed goes with it. */
#define DIE   :: kills < KILLS -> kills++; goto dead
#ifdef FAIL
#ifdef KILL_AFTER_ERROR
#define DIE_B DIE
#else
#define DIE_B
#endif
#else
#define DIE_B DIE
#endif
#ifdef NO_MARK
#define MARKED(x) 0
#else
#define MARKED(x) x
#endif
/* told of the body, and killed before the poison */
#define MAYBE_DIE_T if DIE :: skip fi
inline take3() { atomic { byte3 == NOBODY && (sh3 & ~bitof(me)) == 0 -> byte3 = me } }
#define BEGIN_SYNC \
    if :: MARKED(1) && !c[f].syn -> FIRST_SYNC_RECORDS; \
          write_record(SLOT, c[f].seq + 1, LIVE, c[f].boot, c[f].n, c[f].writers, c[f].est, 1); \
          f = IN_FORCE(c) \
       :: else fi
#define MAYBE_DIE   if DIE :: skip fi
#define MAYBE_DIE_B if DIE_B :: skip fi

proctype Writer(byte me) {
    byte sessions, f, own, snap, wanted, key, chk, w, at;
    bit others, bad, e, doubt;
again:
    {
        do
        :: sessions < SESSIONS ->
            sessions++; own = 0; doubt = 0; bad = 0;

            /* open: a sealing that was cut off is completed */
            atomic {
                f = IN_FORCE(c);
#ifdef FAIL
                opened = opened | bitof(me);
                if :: failed && !seen -> tell = tell | bitof(me) :: else fi;
#endif
            }
            if
            :: c[f].state == SEALED ->
                if
                :: atomic { shared0 == 0 && excl0 == NOBODY -> excl0 = me };
                    atomic { byte1 == NOBODY -> byte1 = me };
                    f = IN_FORCE(c);
                    if
                    :: !c[1 - f].intact || c[1 - f].seq != TOP ->
                        assert((body & done) == done);
                        FIRST_SYNC_RECORDS;
                        atomic { copy_record(c[1 - f], c[f]); dirty[1 - f] = 1 };
                        MAYBE_DIE;
                        sync_header()
                    :: else
                    fi
                :: skip
                fi;
                goto dead
            :: c[f].state == POISONED -> goto dead
            :: else
            fi;

            /* join */
#ifndef BUG_NOLOCK
            if
            :: atomic { excl0 == NOBODY -> shared0 = shared0 | bitof(me) }
            :: excl0 != NOBODY -> goto dead
            fi;
#endif
            MAYBE_DIE;
            atomic { byte3 == NOBODY -> sh3 = sh3 | bitof(me) };
            atomic { byte1 == NOBODY -> byte1 = me };
            f = IN_FORCE(c);
            if
            :: c[f].state != LIVE -> goto dead
            :: else
            fi;
            others_hold();
            if
            :: c[f].boot != 0 && c[f].syn ->
                if :: goto dead :: atomic { done = done & body; forgiven = 1 } fi
            :: else
            fi;
            FIRST_SYNC_RECORDS;
            if
            :: c[f].boot != 0 && c[f].boot != boot && !others ->
                if :: goto dead :: skip fi              /* refused, or accepted */
            :: else
            fi;
            e = c[f].est || (c[f].boot != 0 && c[f].syn);
#ifndef BUG_COUNT
            if
            :: c[f].boot != 0 && (c[f].boot != boot || (!others && c[f].writers > 0)) -> e = 1
            :: else
            fi;
#endif
            if :: others -> w = c[f].writers + 1 :: else -> w = 1 fi;
            write_record(SLOT, c[f].seq + 1, LIVE, boot, c[f].n, w, e, 0);
            MAYBE_DIE;
            sync_header();
            if :: bad -> MAYBE_DIE_B; poison(); goto dead :: else fi;
            byte1 = NOBODY; sh3 = sh3 & ~bitof(me);

            /* add */
            do
            :: own < KEYS ->
                if :: key = 0 :: key = 1 fi;
                atomic {
                    assert(c[0].state != SEALED && c[1].state != SEALED);
                    if
                    :: !(body & bitof(key)) -> body = body | bitof(key); own++; news++
                    :: else
                    fi
                };
                done = done | bitof(key);
                MAYBE_DIE

            /* sync */
            :: take3();
                wanted = done & body;
                atomic { byte1 == NOBODY -> byte1 = me };
                f = IN_FORCE(c);
                if :: c[f].state != LIVE -> goto dead :: else fi;
                BEGIN_SYNC;
                byte1 = NOBODY;
                MAYBE_DIE;
                sync_body();
                MAYBE_DIE_T;
                atomic { byte1 == NOBODY -> byte1 = me };
                f = IN_FORCE(c);
                if
                :: bad && c[f].state == LIVE -> poison(); goto dead
                :: c[f].state != LIVE -> goto dead
                :: else
                fi;
                FIRST_SYNC_RECORDS;
                snap = own; own = 0;
                write_record(SLOT, c[f].seq + 1, LIVE, c[f].boot, c[f].n + snap, c[f].writers,
                             c[f].est, 0);
                MAYBE_DIE;
                sync_header();
                if :: bad -> MAYBE_DIE_B; poison(); goto dead :: else fi;
                byte1 = NOBODY; byte3 = NOBODY;
                promised = promised | wanted;
                break
            :: break
            od;

            /* seal, */
            if
            :: atomic { excl0 == NOBODY && shared0 == bitof(me) -> excl0 = me };
                take3();
                atomic { byte1 == NOBODY -> byte1 = me };
                f = IN_FORCE(c);
                if :: c[f].state != LIVE -> goto dead :: else fi;
                BEGIN_SYNC;
                MAYBE_DIE;
                e = c[f].est || c[f].writers > 1;
#ifndef BUG_SEALFIRST
                sync_body();
                if :: bad -> MAYBE_DIE_T; poison(); goto dead :: else fi;
#endif
                MAYBE_DIE;
                write_record(SLOT, TOP, SEALED, 0, c[f].n + own, 0, e, 0);
                MAYBE_DIE;
                sync_header();
                if
                :: bad ->                               /* the live one counts as in force */
                    MAYBE_DIE_B;
                    write_record(SLOT, c[f].seq + 1, POISONED, c[f].boot, c[f].n, 0, e, 0);
                    sync_header();
                    write_record(f, c[f].seq + 2, POISONED, c[f].boot, c[f].n, 0, e, 0);
                    sync_header(); goto dead
                :: else
                fi;
#ifdef BUG_SEALFIRST
                sync_body();
#endif
                MAYBE_DIE;
                atomic { copy_record(c[f], c[1 - f]); dirty[f] = 1 };
                MAYBE_DIE;
                sync_header();
                goto dead

            /* or leave */
            :: take3();
                atomic { byte1 == NOBODY -> byte1 = me };
                f = IN_FORCE(c);
                if :: c[f].state != LIVE -> goto dead :: else fi;
                others_hold();
                w = (c[f].writers > 0 -> c[f].writers - 1 : 0);
                if
                :: !others ->
                    BEGIN_SYNC;
                    MAYBE_DIE;
#ifndef BUG_ORDER
                    sync_body();
                    if :: bad -> MAYBE_DIE_T; poison(); goto dead :: else fi;
#endif
                    MAYBE_DIE;
                    write_record(SLOT, c[f].seq + 1, LIVE, 0, c[f].n + own, 0,
                                 c[f].est || w > 0, 0)
                :: else ->
                    FIRST_SYNC_RECORDS;
                    MAYBE_DIE;
                    write_record(SLOT, c[f].seq + 1, LIVE, c[f].boot, c[f].n + own, w, c[f].est, c[f].syn)
                fi;
                MAYBE_DIE;
                sync_header();
#ifdef BUG_ORDER
                if :: !others -> sync_body() :: else fi;
#endif
                if :: bad -> MAYBE_DIE_B; poison(); goto dead :: else fi;
                atomic { shared0 = shared0 & ~bitof(me) };
                goto dead
            fi;
dead:       drop_locks()
        :: else -> break
        od
    } unless { powerless[me] };
    if
    :: powerless[me] ->
        atomic { powerless[me] = 0; f = 0; own = 0; snap = 0; wanted = 0; key = 0; w = 0; at = 0;
                 others = 0; bad = 0; e = 0; doubt = 0 };
        goto again
    :: else
    fi
}

init {
    atomic {
        c[0].seq = 1; c[0].state = LIVE; c[0].boot = 0; c[0].intact = 1;
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
