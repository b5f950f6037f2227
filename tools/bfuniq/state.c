/* SPDX-License-Identifier: MIT
 * Names of the filter for messages, and the end of writing to it. */
#include "bfuniq/state.h"
#include "shared/cli.h"

#include <bloomfile_live.h>
#include <string.h>

const char *state_name(const struct seen *s)
{
    return s->path != NULL ? s->path : "the filter in memory";
}

/* What to do about a file that could not be written: a poisoned one is never used again. */
const char *state_remedy(const struct seen *s)
{
    bool poisoned = bloomfile_status(s->newest) == BLOOMFILE_EPOISONED;
    return poisoned ? ": remove it to begin anew, and what was seen is printed again" : "";
}

/* All that was added is on disk when this returns. A file that has lost its name is reported
 * elsewhere. */
void state_write_out(struct seen *s)
{
    int error = bloomfile_sync(s->newest);
    if (error == 0 || error == BLOOMFILE_EREPLACED) {
        s->finished = true;
        error = bloomfile_finish(s->newest);
    }
    if (error != 0 && error != BLOOMFILE_EREPLACED)
        cli_fail(0, "cannot write %s to disk: %s%s", state_name(s), bloomfile_strerror(error),
                 state_remedy(s));
}

void state_leave(struct seen *s)
{
    if (s->newest != NULL)
        state_write_out(s);
    bloomfile_close(s->newest);
    s->newest = NULL;
    s->finished = false;
}
