/* SPDX-License-Identifier: MIT
 *
 * commit.pml - write() and commit() of doc/format/live.md 6 (L10, L11). In lib/live/records.c.
 *
 * Who calls it holds byte 1; f is the record in force.
 */

/* commit 4: told, it poisons */
#ifdef WITHOUT_COMMIT_4
#define POISON_IF_TOLD_HERE if :: bad -> untidy = 1; goto dead :: else fi
#else
#define POISON_IF_TOLD_HERE POISON_IF_TOLD
#endif

/* commit 1: the record in force is on disk before the other one is overwritten: whoever wrote it may
 * have been killed before it was */
#ifdef WITHOUT_COMMIT_1
#define MAKE_DURABLE skip
#else
#define MAKE_DURABLE sync_header(); POISON_IF_TOLD_HERE
#endif

/* commit 2: over the record that is not in force, so that one is whole at any time */
#ifdef WITHOUT_COMMIT_2
#define OTHER f
#else
#define OTHER (1 - f)
#endif

#define write(s, b, count, w, e, y) \
    MAKE_DURABLE; \
    write_record(OTHER, c[f].seq + 1, s, b, count, w, e, y)

/* commit 3: the new one is on disk */
#ifdef WITHOUT_COMMIT_3
#define SYNC_COMMITTED bad = 0
#else
#define SYNC_COMMITTED sync_header()
#endif

#define commit(b, count, w, e) commit_marked(b, count, w, e, 0)

#define commit_marked(b, count, w, e, y) \
    write(LIVE, b, count, w, e, y); \
    MAYBE_DIE; \
    SYNC_COMMITTED; \
    POISON_IF_TOLD_HERE
