/* SPDX-License-Identifier: MIT
 *
 * poison.pml - being told, and poison() of doc/format/live.md 6 (L17, L19). In lib/live/records.c.
 */

/* Byte 1 is held. The process that was told fails in any case. */
inline poison() {
    /* poison 1: over the record that is not in force, */
    f = IN_FORCE(c);
    write_record(1 - f, c[f].seq + 1, POISONED, c[f].boot, c[f].n, c[f].writers, c[f].est, c[f].syn);
    /* poison 2: and to disk; */
    sync_header();
    /* poison 3: also over the record that was in force, */
    write_record(f, c[1 - f].seq + 1, POISONED, c[1 - f].boot, c[1 - f].n, c[1 - f].writers,
                 c[1 - f].est, c[1 - f].syn);
    /* poison 4: and to disk */
    sync_header()
}

/* L11: who finds the record in force not live commits nothing. */
#define CHECK_LIVE f = IN_FORCE(c); if :: !IS_LIVE(f) -> untidy = 1; goto dead :: else fi

#define POISON_IF_TOLD if :: bad -> poison(); goto dead :: else fi
