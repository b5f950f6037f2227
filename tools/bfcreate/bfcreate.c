/* SPDX-License-Identifier: MIT
 *
 * bfcreate - make a filter file from keys
 */
#include "bfcreate/create.h"
#include "shared/cli.h"
#include "shared/params.h"
#include "shared/sink.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_VERSION = 0x100,
    OPTION_LABEL,
    OPTION_TAG,
    OPTION_LIVE,
    OPTION_MEMORY,
    OPTION_MIN_KEYS,
    OPTION_ALLOW_EMPTY,
    OPTION_OVERFULL
};

static const char help[] =
    "usage: bfcreate [options] FILE [KEYFILE...]\n"
    "       bfcreate [options] - [KEYFILE...] >FILE\n"
    "       bfcreate --live -n N [options] FILE\n"
    "Make the Bloom filter FILE from the lines of each KEYFILE, or of standard input.\n"
    "\n"
    "Keys:\n"
    "  -0, --null          keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N       keys are binary records of N bytes\n"
    "      --crlf          a carriage return before a newline is no part of the key\n"
    "\n"
    "Size and quality:\n"
    "  -p, --fpr RATE      false-positive rate (default 0.01)\n"
    "  -n, --capacity N    size for N different keys (default: as many as there are)\n"
    "  -m, --bits N        bits, or counters (default: as few as RATE needs)\n"
    "  -k, --hashes N      positions per key, 1 to 64 (default: the best)\n"
    "  -l, --layout NAME   blocked (default, fastest), classic (smallest) or counting\n"
    "  -s, --seed N        seed of the hash (default 0), or 'random' for hostile keys\n"
    "      --overfull      end with 0 though it has more than twice RATE\n"
    "\n"
    "Keys that were cut off:\n"
    "      --min-keys N    make nothing of fewer than N different keys\n"
    "      --allow-empty   with --force: no keys at all replace FILE too\n"
    "\n"
    "Recorded in the file:\n"
    "      --label TEXT    text for people, at most 112 bytes of UTF-8\n"
    "      --tag HEX       an identity for programs, at most 16 bytes\n"
    "\n"
    "Other:\n"
    "  -j, --threads N     work with N threads (default: one a processor, up to 16)\n"
    "      --memory SIZE   take no more, and temporary files beside FILE beyond it\n"
    "                      (default: a quarter of the machine's)\n"
    "      --live          make an empty filter to which bfadd adds; needs -n or -m\n"
    "  -f, --force         replace FILE if it exists\n"
    "  -q, --quiet         no progress and no summary; only errors, and warnings that\n"
    "                      keys may be lost or never match\n"
    "  -v, --verbose       print the summary even if standard error is no terminal\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "N and SIZE are numbers such as 5000, 80k, 10M, 2Gi or 1e9. FILE appears complete\n"
    "or not at all; - is standard output. The exit status is 0 if it was made, 2 for\n"
    "trouble, and if it was made but is overfull.\n"
    "\n"
    "Examples:\n"
    "  bfcreate words.bloom /usr/share/dict/words\n"
    "  find / -xdev -print0 | bfcreate -0 -p 0.001 --label 'all paths' paths.bloom\n"
    "  bfcreate --live -n 10M seen.bloom && bfadd seen.bloom urls.txt\n";

/* ------------------------------------------------------------------------------- command line */

static enum bloomfile_layout layout(const char *name)
{
    if (strcmp(name, "blocked") == 0)
        return BLOOMFILE_BLOCKED;
    if (strcmp(name, "classic") == 0)
        return BLOOMFILE_CLASSIC;
    if (strcmp(name, "counting") == 0)
        return BLOOMFILE_COUNTING;
    cli_usage("-l/--layout takes blocked, classic or counting, not '%s'", name);
}

static uint64_t memory(const char *text)
{
    uint64_t size;
    if (!cli_parse_count(text, &size) || size < CREATE_LEAST_MEMORY)
        cli_bad_count("--memory", "a number of bytes from 16Mi", text);
    return size;
}

static void take_option(struct create *c, int option, const char *value)
{
    struct bloomfile_params *params = &c->params;
    switch (option) {
    case 'p':
        params->fpr = params_rate(value);
        break;
    case 'n':
        params->capacity = params_count("-n/--capacity", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case 'm':
        params->bits = params_count("-m/--bits", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case 'k':
        params->hashes = (uint32_t)params_count("-k/--hashes", value, 1, BLOOMFILE_MAX_HASHES);
        break;
    case 'l':
        params->layout = layout(value);
        break;
    case 's':
        params->seed = params_seed(value);
        break;
    case OPTION_LABEL:
        params->label = value;
        break;
    case OPTION_TAG:
        if (!cli_parse_hex(value, params->tag, sizeof(params->tag)))
            cli_usage("--tag takes 2 to 32 hexadecimal digits, two for each byte, not '%s'", value);
        break;
    case 'j':
        c->threads = params_threads(value);
        break;
    case OPTION_MEMORY:
        c->memory = memory(value);
        break;
    case OPTION_MIN_KEYS:
        c->min_keys = params_count("--min-keys", value, 0, BLOOMFILE_MAX_BITS);
        break;
    case OPTION_ALLOW_EMPTY:
        c->allow_empty = true;
        break;
    case OPTION_OVERFULL:
        c->overfull = true;
        break;
    case OPTION_LIVE:
        c->live = true;
        break;
    case 'f':
        c->force = true;
        break;
    case 'q':
        c->quiet = true;
        c->verbose = false;
        break;
    case 'v':
        c->verbose = true;
        c->quiet = false;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static void check_live(const struct create *c)
{
    if (c->inputs_count > 0)
        cli_usage("--live makes an empty filter: add keys with bfadd");
    if (c->min_keys > 0 || c->allow_empty || c->overfull)
        cli_usage(
            "--live reads no keys: --min-keys, --allow-empty and --overfull are for filters of"
            " keys");
    if (c->params.capacity == 0 && c->params.bits == 0)
        cli_usage("--live needs -n/--capacity or -m/--bits");
    if (sink_is_stdout(c->path))
        cli_usage("a live filter cannot be written to standard output");
}

static void parse(struct create *c, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "fpr", required_argument, NULL, 'p' },
        { "capacity", required_argument, NULL, 'n' },
        { "bits", required_argument, NULL, 'm' },
        { "hashes", required_argument, NULL, 'k' },
        { "layout", required_argument, NULL, 'l' },
        { "seed", required_argument, NULL, 's' },
        { "label", required_argument, NULL, OPTION_LABEL },
        { "tag", required_argument, NULL, OPTION_TAG },
        { "threads", required_argument, NULL, 'j' },
        { "memory", required_argument, NULL, OPTION_MEMORY },
        { "min-keys", required_argument, NULL, OPTION_MIN_KEYS },
        { "allow-empty", no_argument, NULL, OPTION_ALLOW_EMPTY },
        { "overfull", no_argument, NULL, OPTION_OVERFULL },
        { "live", no_argument, NULL, OPTION_LIVE },
        { "force", no_argument, NULL, 'f' },
        { "quiet", no_argument, NULL, 'q' },
        { "verbose", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "p:n:m:k:l:s:j:fqvh", options,
                                 NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&c->keys, option, optarg))
            take_option(c, option, optarg);
    }
    if (optind == argc || argv[optind][0] == '\0')
        cli_usage("the name of the filter file is missing");
    c->path = argv[optind];
    c->inputs = argv + optind + 1;
    c->inputs_count = argc - optind - 1;
    if (c->live)
        check_live(c);
    if (c->params.layout == 0)
        c->params.layout = BLOOMFILE_BLOCKED;
    if (c->params.layout == BLOOMFILE_BLOCKED)
        c->params.bits = (c->params.bits + 511) / 512 * 512;
}

bool create_is_summed_up(const struct create *c)
{
    return !c->quiet && (c->verbose || isatty(STDERR_FILENO));
}

int main(int argc, char **argv)
{
    struct create c = { .params = BLOOMFILE_PARAMS_INIT };
    cli_start(argv[0]);
    parse(&c, argc, argv);
    if (c.live)
        create_live(&c);
    return c.live ? 0 : create_sealed(&c);
}
