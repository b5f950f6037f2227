/* SPDX-License-Identifier: MIT
 *
 * bfadd - add keys to a live filter, or take them back
 */
#include "bfadd/add.h"
#include "shared/cli.h"
#include "shared/output.h"
#include "shared/stop.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <getopt.h>
#include <sys/stat.h>

enum {
    OPTION_VERSION = 0x100,
    OPTION_REMOVE,
    OPTION_EXACT,
    OPTION_SYNC,
    OPTION_RESCUE,
    OPTION_ACCEPT_UNCLEAN,
    OPTION_OVERFULL
};
static const char help[] =
    "usage: bfadd [options] FILE [KEYFILE...]\n"
    "Add the lines of each KEYFILE, or of standard input, to FILE, a live filter made\n"
    "by 'bfcreate --live'. Any number of programs may add to one file at once.\n"
    "\n"
    "Keys:\n"
    "  -0, --null          keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N       keys are binary records of N bytes\n"
    "      --crlf          a carriage return before a newline is no part of the key\n"
    "\n"
    "What to do:\n"
    "      --remove        take one add of each key back (layout counting)\n"
    "      --exact         of programs that add the same new key at once, only one\n"
    "                      counts it as new, if all of them use --exact\n"
    "      --sync EVERY    write to disk after every EVERY keys, not only at the end\n"
    "      --rescue NEWFILE\n"
    "                      if the disk fails, or FILE is replaced, save what is in\n"
    "                      memory as this new file\n"
    "\n"
    "Other:\n"
    "      --accept-unclean\n"
    "                      even if the machine, or a writer in a sync, died while\n"
    "                      FILE was written\n"
    "      --overfull      FILE may have more than twice the false-positive rate that\n"
    "                      it promises\n"
    "  -q, --quiet         no counts and no progress; only errors, and warnings that\n"
    "                      keys may be lost or never match\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "The exit status is 0 if all keys are on disk, 1 if --remove met a key that was\n"
    "not there, 2 for trouble.\n"
    "\n"
    "Examples:\n"
    "  bfcreate --live -n 10M seen.bloom\n"
    "  bfadd seen.bloom urls.txt\n"
    "  tail -F access.log | cut -d' ' -f1 | bfadd --sync 10k clients.bloom\n";

/* ------------------------------------------------------------------------------- command line */

static void take_option(struct add *a, int option, const char *value)
{
    switch (option) {
    case OPTION_REMOVE:
        a->remove = true;
        break;
    case OPTION_EXACT:
        a->exact = true;
        a->open_flags |= BLOOMFILE_ADD_EXACT;
        break;
    case OPTION_SYNC:
        if (!cli_parse_count(value, &a->sync_every) || a->sync_every == 0)
            cli_bad_count("--sync", "a number of keys from 1", value);
        break;
    case OPTION_RESCUE:
        a->rescue = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        a->open_flags |= BLOOMFILE_ACCEPT_UNCLEAN;
        break;
    case OPTION_OVERFULL:
        a->overfull = true;
        break;
    case 'q':
        a->quiet = true;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static void parse(struct add *a, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "remove", no_argument, NULL, OPTION_REMOVE },
        { "exact", no_argument, NULL, OPTION_EXACT },
        { "sync", required_argument, NULL, OPTION_SYNC },
        { "rescue", required_argument, NULL, OPTION_RESCUE },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "overfull", no_argument, NULL, OPTION_OVERFULL },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "qh", options, NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&a->keys, option, optarg))
            take_option(a, option, optarg);
    }
    if (optind == argc || argv[optind][0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (a->remove && a->exact)
        cli_usage("--exact is about adding, which --remove does not do");
    a->path = argv[optind];
    a->inputs = argv + optind + 1;
    a->inputs_count = argc - optind - 1;
}

/* Complains while there is time to choose another name; the library checks again. */
static void check_rescue(const struct add *a)
{
    struct stat st;
    if (a->rescue != NULL && lstat(a->rescue, &st) == 0)
        cli_fail(EEXIST, "cannot rescue to %s", a->rescue);
}

/* Nothing is added if an input is missing, or is where the counts or the keys go. */
static void check_inputs(const struct add *a)
{
    output_check_inputs(a->path, a->inputs, a->inputs_count);
    if (!a->quiet)
        output_check_inputs("-", a->inputs, a->inputs_count);
    keys_free(keys_new(&a->keys, a->inputs, a->inputs_count));
}

int main(int argc, char **argv)
{
    struct add a = { .keys.stoppable = true };
    cli_start(argv[0]);
    parse(&a, argc, argv);
    check_rescue(&a);
    check_inputs(&a);
    cli_catch_bus_error(a.path);
    stop_catch();
    return add_all(&a);
}
