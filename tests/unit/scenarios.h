/* SPDX-License-Identifier: MIT
 * A filter is built, folded or merged and published in different circumstances, and something goes
 * wrong. */
#ifndef BLOOMFILE_TESTS_SCENARIOS_H
#define BLOOMFILE_TESTS_SCENARIOS_H

#include "support.h"

#include "faults.h"

struct scenario {
    const char *what;
    bool replace, through_link;
    struct faults lacking;
};

enum {
    NEW,
    REPLACEMENT,
    NEW_BY_NAME, /* the temporary has a name */
    REPLACEMENT_BY_NAME,
    NEW_WITHOUT_PROC,
    NEW_WITHOUT_RENAMEAT2,
    REPLACEMENT_THROUGH_LINK,
    SCENARIOS
};
extern const struct scenario scenarios[SCENARIOS];

extern const char target[], link_to_target[];
extern bool unnamed_files; /* has_unnamed_files() */
extern bool has_links;     /* vfat has none of either kind */

/* Whether the target is what another process has made of it in the meantime; NULL: none has. */
extern bool (*target_is_taken)(void);

/* Runs the tests of a program once for each way to make the file. */
int run_scenarios(const struct CMUnitTest *tests, size_t count);

bool target_holds(const void *bytes, size_t size);
bool target_is_old(const struct scenario *scenario);
bool target_is_new(void);

/* Runs the scenario with the faults and cleans up after it. Asserts that the error told is the
 * expected one, that the target is the old or the new file accordingly, and that nothing is left.
 */
void assert_told(const struct scenario *scenario, struct faults faults, int expected);

#endif
