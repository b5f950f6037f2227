/* SPDX-License-Identifier: MIT
 *
 * image.pml - a live image (doc/format/live.md) for the models of its protocols: two commit
 * records and the body, each in the page cache and on disk; locks; the power, which fails at any
 * moment, after which each record that was not synchronised is old, new or torn, and any subset of
 * the bits not synchronised is there; and, with -DFAIL, a write of the body to disk that fails, once:
 * pages are dropped, and the kernel tells each opening once (a new one only if nobody was told).
 */
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
byte pending[WRITERS];  /* bits in a processor's store buffer: nobody else sees them yet */

byte boot = 1;          /* of the machine */
byte shared0, sh3;      /* who holds bytes 0 and 3 shared, one bit a writer, */
byte excl0 = NOBODY, byte1 = NOBODY, byte3 = NOBODY; /* and exclusively */
byte losses, kills;
bit powerless[WRITERS];

byte done, promised;    /* what is owed: adds that returned; that were synchronised */
byte news;              /* keys that were new to somebody and are not forgiven */
bit forgiven;           /* counts cannot be exact any more: the flag is due */
bit untidy;             /* somebody did not leave in order */

#ifdef FAIL
bit failed, seen;       /* a write failed; somebody was told */
byte tell;              /* writers that had the file open then and were not told, one bit each */
byte opened;            /* descriptors open, one bit a writer */
#endif

#define bitof(i) (1 << (i))
#define IN_FORCE(r) ((r[1].intact && (!r[0].intact || r[1].seq > r[0].seq)) -> 1 : 0)
#define IS_LIVE(f) (c[f].state == LIVE && c[1 - (f)].state != POISONED)
#define take1() atomic { byte1 == NOBODY -> byte1 = me }
#define take3() atomic { byte3 == NOBODY && (sh3 & ~bitof(me)) == 0 -> byte3 = me }
#define drop1() atomic { if :: byte1 == me -> byte1 = NOBODY :: else fi }
#define drop3() atomic { if :: byte3 == me -> byte3 = NOBODY :: else fi; sh3 = sh3 & ~bitof(me) }

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
        :: (IS_LIVE(chk) && c[chk].boot == 0) || c[chk].state == SEALED ->
            assert((body & done) == done);
            assert(c[chk].est || (c[chk].n == news && !forgiven))
        :: IS_LIVE(chk) && c[chk].boot != 0 -> assert(untidy)
        :: else
        fi
    :: else
    fi
}

proctype Power() {
    byte i, f, chk;
    do
    :: losses < LOSSES ->
        atomic {
            losses++; untidy = 1;
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
            :: IS_LIVE(f) && c[f].boot != 0 ->                   /* unclean */
                assert((body & promised) == promised);
                if :: (done & body) != done || c[f].n != news -> forgiven = 1 :: else fi;
                done = done & body
            :: c[f].state == POISONED || c[1 - f].state == POISONED -> done = 0; promised = 0
            :: else -> skip
            fi;
            check_quiet();
            i = 0;
            do
            :: i < WRITERS -> powerless[i] = 1; pending[i] = 0; i++
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
            failed = 1; tell = opened; untidy = 1;
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

/* ---- what a writer does */

/* The result of a synchronisation, in `bad`. That of the header alone may also report it. */
inline told() {
#ifdef FAIL
    bad = failed && (tell & bitof(me));
    if :: bad -> seen = 1; tell = tell & ~bitof(me) :: else fi
#else
    bad = 0
#endif
}

inline sync_header() {
    atomic { copy_record(d[0], c[0]); copy_record(d[1], c[1]); dirty[0] = 0; dirty[1] = 0;
             if :: told() :: bad = 0 fi }
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

#define write_record(slot, q, s, b, count, w, e, y) \
    atomic { \
        at = slot; c[at].seq = q; c[at].state = s; c[at].boot = b; c[at].n = count; \
        c[at].writers = w; c[at].est = e; c[at].syn = y; c[at].intact = 1; dirty[at] = 1; at = 0 \
    }

inline others_hold() { others = (shared0 & ~bitof(me)) != 0 || (excl0 != NOBODY && excl0 != me) }

inline drop_locks() {
    atomic {
        shared0 = shared0 & ~bitof(me);
        if :: excl0 == me -> excl0 = NOBODY :: else fi;
        drop1(); drop3();
#ifdef FAIL
        opened = opened & ~bitof(me); tell = tell & ~bitof(me);
#endif
        body = body | pending[me]; pending[me] = 0;
        check_quiet(); chk = 0
    }
}

/* Death between two steps. What was counted and not committed goes with it. Who was told is not
 * killed before he has poisoned: live.md 8, 3; but the mark covers synchronisations of the body. */
#define DIE :: kills < KILLS -> kills++; untidy = 1; goto dead
#define MAYBE_DIE if DIE :: skip fi
#ifdef FAIL
#define MAYBE_DIE_TOLD skip
#else
#define MAYBE_DIE_TOLD MAYBE_DIE
#endif
