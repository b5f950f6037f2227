/* SPDX-License-Identifier: MIT
 * Functions that open filters: for keys, or for work that does not need the hash function. */
#include "filters/opening.h"

#include "cli/cli.h"
#include "filters/messages.h"
#include <bloomfile_open.h>

int opening_from(bloomfile_filter **f, struct bloomfile_source from, unsigned flags,
                 enum opening_use use, struct bloomfile_open_report *report)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    if (use == OPENING_KEYS) {
        how.expect = BLOOMFILE_EXPECT_HASH;
        how.hash_id = BLOOMFILE_HASH_XXH3;
    }
    how.report = report;
    return bloomfile_open_with(f, &from, &how);
}

int opening_any(bloomfile_filter **f, const char *path, unsigned flags)
{
    return opening_from(f, bloomfile_from_path(path), flags, OPENING_ANY, NULL);
}

bloomfile_filter *opening_must(const char *path, unsigned flags, enum opening_use use)
{
    bloomfile_filter *f;
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    if (opening_from(&f, bloomfile_from_path(path), flags, use, &report) != 0)
        message_cannot_open(path, &report);
    return f;
}

bool opening_accepted_unclean(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    if ((flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) == 0)
        return false;
    const int error = opening_any(&f, path, 0);
    bloomfile_close(f);
    return error != 0; /* any error: a file that is called unclean loses no keys */
}

void opening_result(const char *path, const char *done, struct bloomfile_info *info,
                    struct bloomfile_measurement *measure)
{
    bloomfile_filter *f;
    int error = opening_any(&f, path, 0);
    if (error != 0)
        cli_fail(error, "%s %s, but cannot be opened", path, done);
    bloomfile_get_info(f, info);
    if (measure != NULL)
        error = bloomfile_measure(f, measure);
    if (error != 0)
        cli_fail(error, "%s %s, but cannot be read", path, done);
    bloomfile_close(f);
}
