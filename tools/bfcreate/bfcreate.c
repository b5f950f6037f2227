/* SPDX-License-Identifier: MIT
 * bfcreate - create a filter file from keys */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/key_kind.h"
#include "filters/messages.h"
#include "filters/params.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_seed(void *seed, char *value)
{
    *(uint64_t *)seed = params_seed(value);
}

/* Parses "3/8": the third of eight slices. */
static void take_slice(void *given, char *value)
{
    struct bloomfile_params *params = given;
    uint64_t slice, slices;
    char *slash = strchr(value, '/');
    if (slash != NULL)
        *slash = '\0';
    if (slash == NULL || !cli_parse_u64(value, &slice) || !cli_parse_u64(slash + 1, &slices) ||
        slice < 1 || slice > slices || slices > CREATE_MOST_SLICES)
        cli_usage("--slice takes I/N, the I-th of N slices, such as 3/8, with N at most %u",
                  CREATE_MOST_SLICES);
    params->slice = (uint32_t)slice - 1;
    params->slices = (uint32_t)slices;
}

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "live", NULL,
           "create an empty filter that bfadd can add keys to; needs -n or -m, unless"
           " --grow or --every N is given",
           OPTIONS_FLAG(struct create, live)),
    OPTION(
        0, "grow", NULL,
        "with --live: add FILE.1, FILE.2, ... as keys are added; -n is the number of keys that FILE"
        " itself has room for (default 1M)",
        OPTIONS_FLAG(struct create, grow)),
    OPTION(0, "generations", "G",
           "with --live: forget old keys; keep the newest G generations; needs --every",
           OPTIONS_COUNT(struct create, params.series, NULL, 2, CREATE_MOST_GENERATIONS)),
    OPTION(0, "every", "EVERY", PERIOD_HELP, OPTIONS_STRING(struct create, every, NULL),
           .value = OPTIONS_A_TEXT),
    OPTION(0, "slice", "I/N", "build slice I of N, to be joined by 'bfmerge --slices'; needs -n",
           OPTIONS_CALL(struct create, params, take_slice), .value = OPTIONS_A_TEXT),
    OPTIONS_TITLE("Input:"),
    KEYS_ALL_OPTIONS(struct create, keys),
    NAMES_FROM_OPTION(struct create, inputs),
    OPTION(0, "min-keys", "N", "fail if the input has fewer than N distinct keys",
           OPTIONS_COUNT(struct create, min_keys, NULL, 0, BLOOMFILE_MAX_BITS)),
    OPTIONS_TITLE("Filter:"),
    OPTION('n', "capacity", "N", "size for N distinct keys (default: the number of keys read)",
           OPTIONS_COUNT(struct create, params.capacity, NULL, 1, BLOOMFILE_MAX_BITS)),
    OPTION('p', "fpr", "RATE", "target false-positive rate (default 1%)",
           OPTIONS_RATE(struct create, params.fpr, 0)),
    OPTION('m', "bits", "N",
           "number of bits, or of counters with -l counting (default: computed from -n and -p)",
           OPTIONS_COUNT(struct create, params.bits, NULL, 1, BLOOMFILE_MAX_BITS)),
    OPTION('k', "hashes", "N", "number of hashes per key, 1 to 64 (default: optimal)",
           OPTIONS_COUNT(struct create, params.hashes, NULL, 1, BLOOMFILE_MAX_HASHES)),
    OPTION('l', "layout", "LAYOUT",
           "blocked (default, fastest), classic (slightly smaller), counting (can remove keys) or"
           " ribbon (smallest, cannot be changed or merged)",
           OPTIONS_WORD(struct create, params.layout, bloomfile_layout_name)),
    PARAMS_SEED(struct create, params.seed, take_seed),
    PARAMS_LABEL(struct create, params.label),
    PARAMS_TAG(struct create, params.tag, params_take_tag),
    OPTION(0, "overfull", NULL, PARAMS_OVERFULL, OPTIONS_FLAG(struct create, overfull)),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL, "replace FILE if it is a filter or empty",
           OPTIONS_FLAG(struct create, force)),
    OPTION(0, "allow-empty", NULL,
           "with --force: replace FILE even if the input has no keys, or with --live",
           OPTIONS_FLAG(struct create, allow_empty)),
    OPTION(
        0, "embedded", NULL,
        "write an image with a header of 512 bytes, not 4096, for small filters and for use inside"
        " another file",
        OPTIONS_FLAG(struct create, embedded)),
    OPTION(
        0, "dry-run", NULL,
        "print the size and the expected rate of the filter, and without -l those of each layout;"
        " read and write nothing; needs -n or -m",
        OPTIONS_FLAG(struct create, dry_run)),
    REPORT_OPTION(struct create, report),
    OPTIONS_TITLE("Resources:"),
    PARAMS_THREADS(struct create, threads),
    OPTION(0, "memory", "SIZE",
           "memory limit; beyond it, use temporary files next to FILE (default: a quarter of RAM)",
           OPTIONS_COUNT(struct create, memory, "bytes", CREATE_LEAST_MEMORY, UINT64_MAX)),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct create, PARAMS_QUIET_KEYS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE [KEYFILE...]", "[options] - [KEYFILE...] >FILE",
                "--live -n N [options] FILE",
                "--live {--grow | --generations G --every EVERY} [options] FILE",
                "--dry-run {-n N | -m N} [options] [FILE]" },
    .operands = { { "FILE", OPTIONS_A_FILTER }, { "KEYFILE", OPTIONS_A_FILE } },
    .about =
        "Build one Bloom filter from the lines of all KEYFILEs, or of standard input, and write it"
        " to FILE; '-' is standard output. bfquery looks up keys in it. A lookup never misses a key"
        " that was added; a small fraction of other keys also match (false positives).",
    .entries = entries,
    .notes = PARAMS_NUMBERS "; " PARAMS_RATES ".\n"
                            "Exit status: 0 on success, 2 on error.",
    .examples = "  bfcreate words.bloom /usr/share/dict/words\n"
                "  find / -xdev -print0 | bfcreate -0 -p 0.1% --label 'all paths' paths.bloom\n"
                "  bfcreate --slice 3/8 -n 1G part3.bloom keys-*     # join: bfmerge --slices\n"
                "  bfcreate --dry-run -n 10M -p 0.1%          # how large will it be?\n"
                "  bfcreate --live -n 10M seen.bloom && bfadd seen.bloom urls.txt\n"
                "  bfcreate --live --grow urls.bloom && bfadd urls.bloom urls.txt\n"
                "  bfcreate --live --generations 8 --every 1d -n 5M week.bloom\n",
};

/* ------------------------------------------------------------------------------- command line */

static void check_solved(const struct create *c)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(c->params.layout);
    const char *option = c->grow                 ? "--grow"
                         : c->params.series != 0 ? "--generations"
                         : c->live               ? "--live"
                                                 : NULL;
    if (traits->solved && option != NULL)
        cli_usage("%s is for filters that change, and the layout %s cannot change (use -l blocked "
                  "or -l classic)",
                  option, traits->name);
    if (traits->solved && c->params.hashes != 0)
        cli_usage("the layout %s has no hashes: leave out -k/--hashes and use -p", traits->name);
}

static void check_slice(const struct create *c)
{
    if (c->params.slices == 0)
        return;
    if (c->live)
        cli_usage("--slice is for filters of keys, not for live ones");
    if (c->params.layout != BLOOMFILE_LAYOUT_BLOCKED)
        cli_usage("--slice is for the layout blocked: the layout %s has no slices",
                  bloomfile_layout_name(c->params.layout));
    if (c->params.capacity == 0)
        cli_usage("--slice needs -n/--capacity, the number of keys of all slices together");
}

static void check_live(const struct create *c)
{
    if (c->inputs.count > 0)
        cli_usage("--live makes an empty filter: add keys with bfadd");
    if (c->keys.fields.count > 0 || c->keys.fields.header)
        cli_usage("--live reads no keys: --field and --header are for filters of keys");
    if (c->min_keys > 0)
        cli_usage("--live reads no keys: --min-keys is for filters of keys");
    if (c->params.capacity == 0 && c->params.bits == 0)
        cli_usage("--live needs -n/--capacity or -m/--bits, or --grow if you do not know the "
                  "number of keys");
    if (destination_is_stdout(c->path))
        cli_usage("a live filter cannot be written to standard output");
}

/* Returns whether -l was omitted. */
static bool parse(struct create *c, int argc, char **argv)
{
    const int first = options_parse(&options, c, argc, argv);
    const bool named = first < argc && argv[first][0] != '\0';
    if (!named && !c->dry_run)
        cli_usage("the name of the filter file is missing");
    keys_options_check(&c->keys);
    if (!c->live)
        message_order = "the filter comes first: bfcreate FILE KEYFILE...";
    c->path = named ? argv[first] : "the filter";
    if (!c->dry_run)
        names_read(&c->inputs, argv + first + named, argc - first - named);
    const bool any_layout = c->params.layout == 0;
    if (any_layout)
        c->params.layout = BLOOMFILE_LAYOUT_BLOCKED;
    key_kind_record(&c->params, &c->keys);
    check_solved(c);
    create_check_series(c);
    check_slice(c);
    if (c->live)
        check_live(c);
    if (c->embedded && (c->live || c->params.slices > 0))
        cli_usage("--embedded is for whole filters of keys, not for %s",
                  c->live ? "live filters" : "slices");
    if (c->dry_run && report_wanted(&c->report))
        cli_usage("--dry-run and --report are mutually exclusive");
    if (c->dry_run && c->params.capacity == 0 && c->params.bits == 0)
        cli_usage("--dry-run reads no keys: it needs -n/--capacity or -m/--bits");
    c->cells = c->params.bits;
    c->params.bits = create_whole_units(c, c->params.layout);
    c->summary = !c->quiet && (c->verbose || isatty(STDERR_FILENO));
    return any_layout;
}

int main(int argc, char **argv)
{
    struct create c = { .params = BLOOMFILE_PARAMS_INIT, .keys.key_form.strict = true };
    cli_start(argv[0]);
    const bool any_layout = parse(&c, argc, argv);
    if (!c.dry_run)
        report_open(&c.report, &c.inputs, c.path,
                    destination_is_stdout(c.path) ? "the filter" : NULL);
    if (report_wanted(&c.report) && c.params.series != 0)
        side_file_check_name(&c.report.file, c.path);
    if (c.dry_run)
        create_dry_run(&c, any_layout);
    else if (c.live)
        create_live(&c);
    else
        create_sealed(&c);
    report_close(&c.report);
    cli_close_stdout();
    names_free(&c.inputs);
    return 0;
}
