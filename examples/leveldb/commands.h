/* SPDX-License-Identifier: MIT
 *
 * What levelfilter can do with a database. Each returns the exit status.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "database.h"
#include "policy.h"

struct request {
    const struct database *database;
    const struct policy_counts *counts; /* NULL if the policy has none */
    char **arguments;                   /* behind the database; ends with NULL */
};

int command_load(const struct request *r);
int command_dump(const struct request *r);
int command_get(const struct request *r);
int command_delete(const struct request *r);
int command_check(const struct request *r);
int command_compact(const struct request *r);

#endif
