/* SPDX-License-Identifier: MIT
 * The filters of bfuniq: the newest, which is added to, and older generations. */
#ifndef BLOOMFILE_TOOLS_UNIQ_STATE_H
#define BLOOMFILE_TOOLS_UNIQ_STATE_H

#include "bfuniq/filter.h"
#include "shared/crowd.h"

struct seen_older {
    uint64_t number;
    bloomfile *f;
};

struct seen {
    struct filter_plan plan;
    const char *path; /* of the file or, before a number, of the generations; NULL: memory */
    bool overfull;    /* it may have a rate of more than twice the promised one */
    bool quiet;       /* no warnings */

    bloomfile *newest;
    bool finished;       /* `newest` was, and what failed has been told */
    struct fill fill;    /* of the newest generation */
    struct crowd crowd;  /* without generations */
    uint64_t warn_above; /* keys */

    uint64_t number;          /* of the newest generation, from 1 */
    struct seen_older *older; /* plan.generations - 1 of them at most */
    unsigned older_count;
};

const char *state_name(const struct seen *s);   /* for messages */
const char *state_remedy(const struct seen *s); /* what to do if it cannot be written */

/* Ends writing to the newest filter, once: all is on disk when this returns. */
void state_write_out(struct seen *s);

/* Ends adding to the newest filter, and closes it: all is on disk when this returns. */
void state_leave(struct seen *s);

#endif
