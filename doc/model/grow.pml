/* SPDX-License-Identifier: MIT
 *
 * grow.pml - the series of live layers (doc/format/live.md 9.1 to 9.3) as a model for spin.
 *
 * Modelled: names, in the directory and on disk; of each layer one key, bit 2 of `flags` (in no
 * record, in a torn one, in the one in force), whether it is clean, byte 1 and bytes 64 to 127, in
 * the page cache and on disk. Writers open, join, add, add exactly, add late, make layers,
 * synchronise, leave; a reader looks the key up, knowing the layers of any earlier time. Writers are
 * killed between any two steps. With -DLOSSES=1 the power fails once, and whatever was not
 * synchronised is there or is not; with -DHANDS=1 a file is removed, or a stranger's put into a
 * free slot; with -DFAILS=1 a commit of bit 2 fails, and poisons; with -DREMOVALS=1 a process removes
 * the series (S15). -DG=2 makes two generations; else the series grows.
 * What live.md says of one file (the order in commits, joining, being told) is live.pml's: a step
 * here. Left out: periods, threads but for one that adds late, a layer that was exchanged for an
 * older copy, copies and sealing.
 *
 * Claimed (the asserts): nobody who was told of an add gets a "no" afterwards, nor after a loss of
 * power who was told of its synchronisation, until a forgetting series has replaced its layer; an
 * add is told of only while its layer is there; a layer that is missing is noticed; one exact adder
 * finds the key new; no file is replaced but a generation's by the one G later; kills and losses of
 * power alone never have a series refused; nobody is told of an add to a removed series. Nobody waits
 * for ever (spin's invalid end states).
 *
 * Its steps are named as in the code ("grow 1"): each is a comment here and there. scripts/campaign model
 * has the switches; each -DBUG_ leaves something out, and must be found. One is not, with
 * -DBUG_SUCCEEDED: that succeed() looks at bit 2 again under byte 1 is not needed, as it looks at the slot.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef LOSSES
#define LOSSES 0        /* of power */
#endif
#ifndef HANDS
#define HANDS 0         /* one removes a file, while nobody has the series open, or adds one */
#endif
#ifndef FAILS
#define FAILS 0         /* commits of `succeed` whose synchronisation tells */
#endif
#ifndef REMOVALS
#define REMOVALS 0      /* of a growing series */
#endif
#ifdef G
#define FORGETS 1
#define SLOTS G
#define MOST 4
#else
#define FORGETS 0
#define G 99
#define SLOTS LAYERS
#define MOST 3
#endif
#ifndef LAYERS
#define LAYERS MOST
#endif
#define FOREIGN (LAYERS + 3)
#define FILES (LAYERS + 4)
#define READER (WRITERS + 1)
#define REMOVER (WRITERS + 2)
#define LAST (READER + REMOVALS)
#define slot(l) ((l) % SLOTS)

/* mark: bit 2 of `flags`, 1 if in a torn record only, 2 in the one in force. d...: on disk. */
typedef file { byte layer, mark, dmark, users, byte1, locks; bit key, dkey, whole, dwhole, clean, poison, removing };
file f[FILES];
byte name[SLOTS], dname[SLOTS]; /* the directory: which file, or 0 */
byte files;             /* that were made */
byte kills, losses, hands, fails;
bit removed;            /* a name, by the remover */
bit gone[WRITERS + 3];
byte reading[WRITERS + 3];      /* names: 1, or 2 if one has changed meanwhile */

/* 1 + the newest layer with the key, as an adder, a synchroniser, an exact adder was told */
byte owed, promised, sole;
byte named, begun;      /* the newest layer that has had a name; that may have adds */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define NEWEST own[hi - 1]
#define MARKED(a) (f[a].mark > 0)
#define FORGOTTEN(l) (FORGETS && named >= (l) + G)
/* A removal may have taken the layer since it was opened. */
#define HERE(l) (!removed || name[l] == own[l])
#define ALL_HERE (HERE(0) && HERE(1) && (LAYERS < 3 || HERE(2)))

/* A commit that does not change bit 2, by who holds byte 1. Both records are on disk then. */
#ifdef BUG_KEEP
#define COMMIT(a) f[a].mark = (f[a].mark == 2 -> 2 : 0); f[a].dmark = f[a].mark
#else
#define COMMIT(a) f[a].mark = (f[a].mark -> 2 : 0); f[a].dmark = f[a].mark
#endif
#define SYNC(a) f[a].dkey = f[a].key; COMMIT(a)

/* ---- what happens to processes, disk and directory */

inline drop(who) {
    x = 1;
    do
    :: x < FILES ->
        f[x].users = f[x].users & ~(1 << who);
        if :: f[x].byte1 == who -> f[x].byte1 = 0 :: else fi;
        if :: f[x].locks == who -> f[x].locks = 0 :: else fi;
        if :: who == REMOVER -> f[x].removing = 0 :: else fi;
        x++
    :: else -> x = 0; break
    od;
    reading[who] = 0
}

inline changed() {
    x = 1;
    do
    :: x <= LAST -> reading[x] = (reading[x] -> 2 : 0); x++
    :: else -> x = 0; break
    od
}

inline drop_all() {
    i = 1;
    do :: i <= LAST -> drop(i); gone[i] = 1; i++ :: else -> i = 0; break od
}

proctype Fate() {
    byte i, x;
    do
    :: atomic { kills < KILLS ->
            kills++; i = 1;
            do :: i < (REMOVALS -> REMOVER : WRITERS) -> i++ :: break od;
            drop(i); gone[i] = 1; i = 0 }
    :: atomic { losses < LOSSES ->
            losses++;
            do
            :: i < SLOTS ->
                if :: dname[i] = name[i] :: name[i] != dname[i] -> name[i] = dname[i] fi;
                i++
            :: else -> i = 1; break
            od;
            do
            :: i < FILES ->
                if :: f[i].dkey = f[i].key :: f[i].key != f[i].dkey -> f[i].key = f[i].dkey fi;
                if
                :: f[i].dmark = f[i].mark
                :: f[i].mark && !f[i].dmark -> f[i].dmark = 1
                :: f[i].mark != f[i].dmark
                fi;
                f[i].mark = f[i].dmark; f[i].whole = f[i].dwhole; f[i].clean = 1; i++
            :: else -> break
            od;
            drop_all(); owed = promised; sole = 0 }
    :: atomic { hands < HANDS ->
            hands++;
            do :: i < SLOTS - 1 -> i++ :: break od;
            if
            :: name[i] -> name[i] = 0; dname[i] = 0; drop_all()
            :: else -> name[i] = FOREIGN; dname[i] = FOREIGN; i = 0; changed()
            fi }
    :: atomic { kills == KILLS && losses == LOSSES && hands == HANDS -> break }
    od
}

/* ---- opening: S1 to S3 */

#define OF_ANY(what) (f[own[0]].what || f[own[1]].what || f[own[2]].what || f[own[3]].what)

inline forget_all() {
    s = 0;
    do :: s < LAYERS -> own[s] = 0; s++ :: else -> break od;
    lo = 0; hi = 0; s = 0; x = 0
}

inline read_slot() {
    x = name[s];
    if
    :: x && f[x].whole && !f[x].poison ->
        own[f[x].layer] = x; hi = MAX(hi, f[x].layer + 1); x = 0; s++
    :: !x && FORGETS -> s++
    :: else -> s = SLOTS                                /* the end, or one that is refused */
    fi
}

/* Names that do not change may be read at once. */
#if FORGETS
#define STEP atomic
#define STEPS
#else
#define STEP
#define STEPS atomic
#endif

inline open_series() {
    do
    :: STEPS {
            STEP { forget_all(); reading[me] = 1; read_slot() };
            do
            :: STEP { s < SLOTS -> read_slot() }
            :: STEP { s == SLOTS -> break }
            od;
            STEP {
                lo = (FORGETS && hi > G -> hi - G : 0);
                s = lo;
#ifdef BUG_GAP
                s = hi;
#endif
                do :: s < hi && own[s] -> s++ :: else -> break od;
                if
                :: !x && hi && s == hi && !MARKED(NEWEST) && (FORGETS || hi < 3 || MARKED(own[hi - 3])) ->
                    s = 0; reading[me] = 0; break
                :: else -> if :: reading[me] == 1 -> assert(hands || fails || removed); goto dead :: else fi
                fi } }
    od
}

/* ---- a reader */

proctype Reader() {
    byte own[4], lo, hi, s, x, due, me = READER;
enter:
    {
        open_series();
opened:
        do
        :: atomic { (due || owed) ->                    /* a lookup: S6 */
                if :: !due -> due = owed :: else fi;
                if :: OF_ANY(key) -> due = 0; goto opened :: else fi };
#if FAILS
            if :: atomic { OF_ANY(poison) -> goto dead } :: else fi;    /* R8 */
#endif
            atomic {
#ifndef BUG_LOOK                                        /* grow 8: after the bits */
                if :: MARKED(NEWEST) -> goto enter :: else fi;
#endif
                assert(FORGOTTEN(due - 1) || !HERE(hi - 1)); due = 0 }  /* the answer is no */
        od;
dead:   skip
    } unless { gone[READER] };
    atomic { forget_all(); due = 0; gone[READER] = 0; goto enter }
}

/* ---- a writer */

#define LEAVE(a) \
    f[a].users = f[a].users & ~(1 << me); \
    if :: !f[a].users -> SYNC(a); f[a].clean = 1 :: else -> COMMIT(a) fi

/* Whom a writer has not joined, and will, it waits for. */
#define JOINED(a) ((f[a].users & (1 << me)) != 0)
#define SETTLED(a) (f[a].clean || JOINED(a))
#define MAY_JOIN(a) (!f[a].byte1 && !f[a].removing)
#define FREE(a) (SETTLED(a) && !(a == NEWEST && !JOINED(a)) || MAY_JOIN(a))

#define ADD 1
#define EXACT 2
#define AGAIN 3         /* also to the newest (S10) */

proctype Writer(byte me) {
    byte own[4], lo, hi, s, x, task, j, since;
enter:
    {
        open_series();
        atomic {                                        /* S11 */
            (FREE(own[0]) && FREE(own[1]) && FREE(own[2]) && FREE(own[3])) || OF_ANY(poison) ->
            if :: OF_ANY(poison) -> goto dead :: else fi;
#ifndef BUG_HERE
            if :: !ALL_HERE -> goto enter :: else fi;
#endif
            s = lo;
            do
            :: s < hi - 1 -> if :: !SETTLED(own[s]) -> LEAVE(own[s]) :: else fi; s++
            :: else -> s = 0; break
            od;
#ifndef BUG_JOIN
            if
            :: !JOINED(NEWEST) ->
                COMMIT(NEWEST); f[NEWEST].clean = 0; f[NEWEST].users = f[NEWEST].users | (1 << me)
            :: else
            fi;
#endif
#ifndef BUG_FIRST
            if
            :: hi - lo > 1 && !MARKED(own[hi - 2]) -> j = hi - 2; goto succeed
            :: else
            fi;
#endif
            if
            :: task == AGAIN -> goto set
            :: task && task != AGAIN -> goto look
            :: else
            fi
        };

idle:   if
        :: task = ADD
#ifndef NO_EXACT
        :: task = EXACT
#endif
        :: atomic { hi < LAYERS -> j = hi - 1; goto succeed }
        :: atomic { !OF_ANY(byte1) && !OF_ANY(removing) ->      /* S12 */
                if :: OF_ANY(poison) -> goto dead :: else fi;
                if :: MARKED(NEWEST) -> goto enter :: else fi;
                s = lo;
#ifdef BUG_SYNC
                s = hi - 1;
#endif
                do
                :: s < hi -> if :: !f[own[s]].clean -> SYNC(own[s]) :: else fi; s++
                :: else -> s = 0; break
                od;
                promised = owed; goto idle }
        :: atomic { !OF_ANY(byte1) ->                   /* leaves */
                if :: OF_ANY(poison) -> goto dead :: else fi;
                s = lo;
                do
                :: s < hi -> if :: JOINED(own[s]) -> LEAVE(own[s]) :: else fi; s++
                :: else -> break
                od;
                goto dead }
        fi;

        /* S8, S9 */
#if FORGETS
        since = begun;
#endif
look:   atomic {
            s = (task == EXACT -> hi - 1 : hi);
            do :: s > lo && !f[own[s - 1]].key -> s-- :: else -> break od;
            if
            :: s > lo ->
                x = s; s = 0;
#ifndef BUG_FOUND
                if :: FORGETS && MARKED(NEWEST) -> x = 0; goto enter :: else fi;
#endif
                assert(!FORGETS || x - 1 + G > since); goto told
            :: else -> s = 0
            fi };
#ifdef BUG_LAST
        if :: atomic { MARKED(NEWEST) -> goto enter } :: else fi;
#endif
        if
        :: task == ADD
        :: atomic { task == EXACT && f[NEWEST].locks == 0 -> f[NEWEST].locks = me }
        fi;
set:
#ifndef BUG_LAST                                        /* grow 9: once more, under the lock */
        if :: atomic { MARKED(NEWEST) -> if :: f[NEWEST].locks == me -> f[NEWEST].locks = 0 :: else fi;
                goto enter }
        :: else
        fi;
#endif
#ifdef BUG_LEAVE
        if :: atomic { task == ADD && !OF_ANY(byte1) -> LEAVE(NEWEST) } :: task != ADD fi;
#endif
        atomic {
            if
            :: task == EXACT && !f[NEWEST].key ->
                assert(!sole || FORGOTTEN(sole - 1)); sole = (FORGETS -> hi : 1)
            :: else
            fi;
            f[NEWEST].key = 1; x = hi;
            if :: f[NEWEST].locks == me -> f[NEWEST].locks = 0 :: else fi;
            if :: !FORGETS -> goto told :: else fi };
        atomic {
#ifndef BUG_AGAIN                                       /* grow 10: a late add */
            if :: MARKED(NEWEST) -> x = 0; task = AGAIN; goto enter :: else fi;
#endif
            assert(!FORGOTTEN(hi - 1)) };
told:   atomic {
            assert(HERE(0) && HERE(hi - 1));
            owed = (FORGETS -> MAX(owed, x) : 1); x = 0; task = 0; since = 0; goto idle };

succeed:
        atomic {
#ifndef BUG_LOCK                                        /* grow 2: one process at a time */
            f[own[j]].byte1 == 0 && (JOINED(own[j]) || !f[own[j]].removing) ->
            f[own[j]].byte1 = me;
#endif
            if :: f[own[j]].poison || !HERE(j) || !HERE(0) -> goto dead :: else fi;
#ifndef BUG_SUCCEEDED
            if :: MARKED(own[j]) -> f[own[j]].byte1 = 0; j = 0; goto enter :: else fi;
#endif
#ifndef BUG_CLEAN
            f[own[j]].clean = 0; f[own[j]].users = f[own[j]].users | (1 << me);
#endif
#ifndef BUG_BEFORE                                      /* grow 1: bit 2 of the one before must be on disk */
            if :: !FORGETS && j -> f[own[j - 1]].dmark = f[own[j - 1]].mark :: else fi;
#endif
            x = name[slot(j + 1)];
            if
#ifndef BUG_REMAKE                                      /* grow 3: it may be there already */
            :: x && f[x].layer == j + 1 -> x = 0; goto synchronise
#endif
#ifndef BUG_OVER
            :: x && f[x].layer != j + 1 && f[x].layer + G != j + 1 -> goto dead
#endif
            :: else
            fi };
#ifdef BUG_MARK_FIRST
        atomic { f[own[j]].mark = 2; f[own[j]].dmark = 2; begun = MAX(begun, j + 1) };
#endif
        atomic {                                        /* link, or rename */
#ifndef BUG_REPLACE
            if :: !x && name[slot(j + 1)] -> goto dead :: else fi;
#endif
            x = name[slot(j + 1)];
            assert(!x || f[x].layer + G == j + 1);
            files++; assert(files < FOREIGN);
            f[files].layer = j + 1; f[files].clean = 1; f[files].whole = 1;
#ifndef BUG_NAME                                        /* grow 4: on disk before it has its name */
            f[files].dwhole = 1;
#endif
            name[slot(j + 1)] = files; named = MAX(named, j + 1); changed() };
synchronise:
        atomic {                                        /* grow 5: synchronise the directory */
#ifndef BUG_DIRECTORY
            do :: s < SLOTS -> dname[s] = name[s]; s++ :: else -> break od;
#endif
            s = 0
        };
        atomic {
#ifndef BUG_LOCKS                                       /* grow 6: no exact adder is at work */
            f[own[j]].locks == 0 ->
            f[own[j]].locks = me;
#endif
            f[own[j]].dmark = f[own[j]].mark;
            f[own[j]].mark = MAX(f[own[j]].mark, 1);
            begun = MAX(begun, j + 1) };
        f[own[j]].mark = 2;                             /* grow 7: the successor bit */
        atomic {
#if FAILS
            if
            :: fails < FAILS ->
                fails++; f[own[j]].poison = 1;
#ifdef BUG_KEEP
                f[own[j]].mark = 0;
#endif
                f[own[j]].dmark = f[own[j]].mark; goto dead
            :: skip
            fi;
#endif
            COMMIT(own[j]); if :: f[own[j]].locks == me -> f[own[j]].locks = 0 :: else fi;
            f[own[j]].byte1 = 0; j = 0; goto enter };
dead:   skip
    } unless { gone[me] };
    atomic { drop(me); forget_all(); task = 0; j = 0; since = 0; gone[me] = 0; goto enter }
}

/* ---- a process that removes the series: S15 */

proctype Remover() {
    byte own[4], lo, hi, s, x;
enter:
    {
        do                                              /* S15, 1: find the files */
        :: atomic { s < SLOTS ->
                x = name[s];
                if :: x == FOREIGN -> goto over :: x && x != FOREIGN -> hi = s + 1 :: else fi;
                own[s] = x; s++ }
        :: atomic { s == SLOTS -> s = 0; break }
        od;
        do
        :: atomic { s < hi ->
#ifndef BUG_HELD                                        /* lock writers out of each file */
                if :: f[own[s]].users -> goto over :: else fi;
                f[own[s]].removing = (own[s] > 0);
#endif
                s++ }
        :: atomic { s == hi -> s = 0; break }
        od;
#ifndef BUG_NAMES                                        /* S15, 2: look at the names again */
        do
        :: atomic { s < SLOTS -> if :: name[s] != own[s] -> goto over :: else fi; s++ }
        :: atomic { s == SLOTS -> break }
        od;
#endif
        atomic {                                        /* S15, 3 */
            if :: hi > 1 -> f[own[hi - 2]].dmark = f[own[hi - 2]].mark :: else fi;
            s = hi };
        do                                              /* S15, 4: the newest first */
        :: atomic { s > 1 -> s--; name[s] = 0; removed = 1; changed() }
        :: atomic { s < 2 -> s = 1; break }
        od;
        atomic { do :: s < SLOTS -> dname[s] = name[s]; s++ :: else -> s = 0; break od };
        atomic { name[0] = 0; removed = 1; changed() };
over:   skip
    } unless { gone[REMOVER] };
    atomic { drop(REMOVER); forget_all(); gone[REMOVER] = 0; goto enter }
}

init {
    atomic {
        files = 1; f[1].whole = 1; f[1].dwhole = 1; f[1].clean = 1; f[0].clean = 1; f[FOREIGN].layer = 200;
        name[0] = 1; dname[0] = 1;
        run Fate();
#ifndef NO_READER
        run Reader();
#endif
#if REMOVALS
        run Remover();
#endif
        byte i = 1;
        do :: i <= WRITERS -> run Writer(i); i++ :: else -> break od
    }
}
