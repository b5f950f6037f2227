/* SPDX-License-Identifier: MIT
 * The request of bfadd, and the function that executes it. */
#ifndef BLOOMFILE_TOOLS_ADD_H
#define BLOOMFILE_TOOLS_ADD_H

#include "cli/names.h"
#include "filters/params.h"
#include "keys/keys.h"

struct add {
    const char *path, *rescue;
    struct params_metadata metadata; /* only its watermark is used */
    struct names inputs;
    struct keys_options keys;
    unsigned open_flags;
    uint64_t sync_every; /* number of keys; 0: only at the end */
    bool remove, quiet, verbose;
};

/* Adds all keys of the inputs to the filter, or removes them, and prints a summary. Returns the
 * exit status. A fatal error or an interrupt_signal ends the program. */
int add_all(const struct add *a);

#endif
