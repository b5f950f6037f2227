/* SPDX-License-Identifier: MIT
 * Scenarios in which a filter is built, folded or merged and published, and a call fails. */
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
    NEW_BY_NAME, /* the temporary file has a name */
    REPLACEMENT_BY_NAME,
    NEW_WITHOUT_PROC,
    NEW_WITHOUT_RENAMEAT2,
    REPLACEMENT_THROUGH_LINK,
    SCENARIOS
};
extern const struct scenario scenarios[SCENARIOS];

extern const char target[], link_to_target[];
extern bool unnamed_files; /* has_unnamed_files() */
extern bool has_links;     /* vfat lacks both symbolic and hard links */

/* Returns whether the target is as another process left it during the operation. NULL: no other
 * process acts. */
extern bool (*target_is_taken)(void);

/* Runs the tests of a program once for each way to make the file. */
int run_scenarios(const struct CMUnitTest *tests, size_t count);

bool target_holds(const void *bytes, size_t size);
bool target_is_old(const struct scenario *scenario);
bool target_is_new(void);

/* Runs the scenario with the faults and cleans up after it. Asserts that it returns the expected
 * error, that the target is the old or the new file accordingly, and that no other file remains. */
void assert_returns(const struct scenario *scenario, struct faults faults, int expected);

#endif
