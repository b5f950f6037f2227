/* SPDX-License-Identifier: MIT
 * bfadd - add keys to a live filter, or remove them */
#include "bfadd/add.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "filters/messages.h"
#include "filters/same_file.h"
#include "filters/target_file.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "remove", NULL, "remove each key once instead of adding it (layout counting)",
           OPTIONS_FLAG(struct add, remove)),
    OPTIONS_TITLE("Input:"),
    KEYS_ALL_OPTIONS(struct add, keys),
    NAMES_FROM_OPTION(struct add, inputs),
    OPTIONS_TITLE("Filter:"),
    OPTION(0, "exact", NULL,
           "if several processes add a new key at the same moment, count it once (all of them must"
           " use --exact)",
           OPTIONS_BITS(struct add, open_flags, BLOOMFILE_OPEN_ADD_EXACT)),
    OPTION(0, "sync", "N", "write to disk after every N keys (default: only at the end)",
           OPTIONS_COUNT(struct add, sync_every, "keys", 1, UINT64_MAX)),
    PARAMS_WATERMARK(struct add, metadata),
    OPTION(0, "rescue", "NEWFILE",
           "if the disk fails or FILE is replaced, save the filter to NEWFILE",
           OPTIONS_STRING(struct add, rescue, "the name of a file"), .value = OPTIONS_A_FILTER),
    PARAMS_ACCEPT_UNCLEAN(struct add, open_flags, "FILE"),
    OPTION(0, "overfull", NULL, PARAMS_OVERFULL,
           OPTIONS_BITS(struct add, open_flags, BLOOMFILE_OPEN_OVER_CAPACITY)),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct add, PARAMS_QUIET_KEYS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE [KEYFILE...]" },
    .operands = { { "FILE", OPTIONS_A_FILTER }, { "KEYFILE", OPTIONS_A_FILE } },
    .about =
        "Add the lines of each KEYFILE, or of standard input, to the Bloom filter FILE, made by"
        " 'bfcreate --live'. Several processes may add to FILE and query it at the same time.",
    .entries = entries,
    .notes = PARAMS_NUMBERS
    ".\n"
    "Exit status: 0 if all keys are on disk, 1 if --remove missed a key, 2 on error.",
    .examples = "  bfcreate --live -n 10M seen.bloom\n"
                "  bfadd seen.bloom urls.txt\n"
                "  tail -F access.log | cut -d' ' -f1 | bfadd --sync 10k clients.bloom\n",
};

static void parse(struct add *a, int argc, char **argv)
{
    const int first = options_parse(&options, a, argc, argv);
    if (first == argc || argv[first][0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (a->remove && (a->open_flags & BLOOMFILE_OPEN_ADD_EXACT) != 0)
        cli_usage("--exact and --remove are mutually exclusive");
    if (a->remove && (a->open_flags & BLOOMFILE_OPEN_OVER_CAPACITY) != 0)
        cli_usage("--overfull and --remove are mutually exclusive");
    keys_options_check(&a->keys);
    message_order = "the filter comes first: bfadd FILE KEYFILE...";
    a->path = argv[first];
    names_read(&a->inputs, argv + first + 1, argc - first - 1);
}

/* Checks the name early, while the user can still choose another. The library checks it again. */
static void check_rescue(const struct add *a)
{
    struct stat st;
    if (a->rescue == NULL)
        return;
    if (lstat(a->rescue, &st) == 0)
        cli_fail(EEXIST, "cannot rescue to %s", a->rescue);
    target_check(a->rescue, false);
}

/* Adds nothing if an input is missing, or is also the filter. Standard output must not be an input
 * either: nothing is written there, but the shell may have emptied it. */
static void check_inputs(const struct add *a)
{
    same_file_check_names(a->path, &a->inputs);
    if (!a->quiet)
        same_file_check_names("-", &a->inputs);
    keys_free(keys_new(&a->keys, a->inputs.list, a->inputs.count));
}

int main(int argc, char **argv)
{
    struct add a = { .keys = { .stoppable = true, .key_form.strict = true } };
    cli_start(argv[0]);
    parse(&a, argc, argv);
    check_rescue(&a);
    check_inputs(&a);
    cli_catch_bus_error_of_writer(a.path);
    interrupt_catch();
    const int status = add_all(&a);
    names_free(&a.inputs);
    return status;
}
