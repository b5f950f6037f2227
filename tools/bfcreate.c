/* SPDX-License-Identifier: MIT
 *
 * bfcreate - make a filter file from keys
 */
#include "cli.h"
#include "keys.h"
#include "params.h"
#include "say.h"
#include "target.h"

#include <bloomfile.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCH = 1024
};
enum {
    OPTION_HELP = 0x100,
    OPTION_VERSION,
    OPTION_LABEL,
    OPTION_TAG,
    OPTION_LIVE
};

#define DEFAULT_FPR 0.01

struct request {
    const char *path;
    char *const *inputs;
    int inputs_count;
    struct bloomfile_params params;
    struct keys_options keys;
    bool live, force, quiet, verbose;
};

static const char help[] =
    "usage: bfcreate [options] FILE [KEYFILE...]\n"
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
    "\n"
    "Recorded in the file:\n"
    "      --label TEXT    text for people, at most 112 bytes of UTF-8\n"
    "      --tag HEX       an identity for programs, at most 16 bytes\n"
    "\n"
    "Other:\n"
    "      --live          make an empty filter to which bfadd adds keys; needs -n or -m\n"
    "  -f, --force         replace FILE if it exists\n"
    "  -q, --quiet         errors only: no progress, summary or warnings\n"
    "  -v, --verbose       print the summary even if standard error is no terminal\n"
    "      --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "N is a number such as 5000, 80k, 10M, 2Gi or 1e9. FILE appears complete or not\n"
    "at all.\n"
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

static void take_option(struct request *r, int option, const char *value)
{
    struct bloomfile_params *params = &r->params;
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
    case OPTION_LIVE:
        r->live = true;
        break;
    case 'f':
        r->force = true;
        break;
    case 'q':
        r->quiet = true;
        break;
    case 'v':
        r->verbose = true;
        break;
    case OPTION_HELP:
        fputs(help, stdout);
        cli_close_stdout();
        exit(0);
    case OPTION_VERSION:
        cli_version();
    }
}

static void check_live(const struct request *r)
{
    const struct keys_options none = { 0 };
    if (r->inputs_count > 0 || memcmp(&r->keys, &none, sizeof(none)) != 0)
        cli_usage("--live makes an empty filter: add keys with bfadd");
    if (r->params.capacity == 0 && r->params.bits == 0)
        cli_usage("--live needs -n/--capacity or -m/--bits");
}

static void parse(struct request *r, int argc, char **argv)
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
        { "live", no_argument, NULL, OPTION_LIVE },
        { "force", no_argument, NULL, 'f' },
        { "quiet", no_argument, NULL, 'q' },
        { "verbose", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "p:n:m:k:l:s:fqv", options,
                                 NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&r->keys, option, optarg))
            take_option(r, option, optarg);
    }
    if (optind == argc || argv[optind][0] == '\0')
        cli_usage("the name of the filter file is missing");
    r->path = argv[optind];
    r->inputs = argv + optind + 1;
    r->inputs_count = argc - optind - 1;
    if (strcmp(r->path, "-") == 0)
        cli_usage("a filter cannot be written to standard output");
    if (r->live)
        check_live(r);
    if (r->params.layout == 0)
        r->params.layout = BLOOMFILE_BLOCKED;
    if (r->params.layout == BLOOMFILE_BLOCKED)
        r->params.bits = (r->params.bits + 511) / 512 * 512;
}

/* -------------------------------------------------------------- what is known before any key is */

static void check_not_an_input(const struct request *r)
{
    bool same = r->inputs_count == 0 && target_is_same_file(r->path, "-");
    for (int i = 0; i < r->inputs_count; i++)
        same = same || target_is_same_file(r->path, r->inputs[i]);
    if (same)
        cli_fail(0, "cannot create %s: it is a file to read keys from", r->path);
}

static void check_size(const struct request *r)
{
    const struct bloomfile_params *p = &r->params;
    uint64_t keys = p->capacity > 0 ? p->capacity : 1;
    double fpr = p->fpr > 0 ? p->fpr : DEFAULT_FPR;
    if (p->bits == 0 && bloomfile_bits_for(p->layout, keys, fpr, p->hashes) == 0)
        say_cannot_create(r->path, BLOOMFILE_EUNREACHABLE);
}

/* -------------------------------------------------------------------------------------- making */

static uint64_t read_keys(const struct request *r, bloomfile_builder *builder)
{
    struct keys *input = keys_new(&r->keys, r->inputs, r->inputs_count);
    struct cli_progress progress = { .total = keys_total(input), .shown_ns = r->quiet ? -1 : 0 };
    struct bloomfile_key keys[BATCH];
    bloomfile_digest digests[BATCH];
    uint64_t count = 0;
    size_t n;
    while ((n = keys_next(input, keys, BATCH)) > 0) {
        for (size_t i = 0; i < n; i++)
            digests[i] = bloomfile_hash(r->params.seed, keys[i].data, keys[i].size);
        int error = bloomfile_builder_add_digests(builder, digests, n);
        if (error != 0)
            cli_fail(error, "cannot hold more than %" PRIu64 " keys", count);
        count += n;
        progress.doing = keys_path(input);
        progress.bytes = keys_bytes(input);
        progress.keys = count;
        cli_progress_step(&progress);
    }
    cli_progress_end(&progress);
    keys_free(input);
    return count;
}

static void publish(const struct request *r, bloomfile_builder *builder)
{
    struct cli_progress progress = { .doing = "building the filter ...",
                                     .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(&progress);
    int error = bloomfile_builder_finish(builder, r->path, r->force ? BLOOMFILE_REPLACE : 0);
    if (error != 0)
        say_cannot_create(r->path, error);
    cli_progress_end(&progress);
}

/* Opens the new file as any reader would, and tells about it. */
static void report(const struct request *r, uint64_t read)
{
    bloomfile *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int error = bloomfile_open(&f, r->path, 0);
    if (error != 0)
        cli_fail(error, "%s is written, but cannot be opened", r->path);
    bloomfile_get_info(f, &info);
    bloomfile_close(f);
    if (r->quiet)
        return;

    struct say_rate expected = { .rate = bloomfile_fpr_for(info.layout, info.bits, info.hashes,
                                                           info.keys) };
    say_warnings(r->path, &info, expected);
    if (r->verbose || isatty(STDERR_FILENO))
        say_summary(r->path, &info, expected, read - info.keys);
}

static void create(const struct request *r)
{
    bloomfile_builder *builder;
    check_not_an_input(r);
    int error = bloomfile_builder_new(&builder, &r->params);
    if (error != 0)
        say_cannot_create(r->path, error);
    check_size(r);
    uint64_t read = read_keys(r, builder);
    publish(r, builder);
    bloomfile_builder_free(builder);
    report(r, read);
}

/* ---------------------------------------------------------------------------------------- live */

static void summarize_live(const struct request *r, const struct bloomfile_info *info)
{
    char size[32];
    cli_warn(0, "%s: live, room for %" PRIu64 " key%s at a false-positive rate of %.3g, %s",
             r->path, info->capacity, info->capacity == 1 ? "" : "s", say_promised(info),
             cli_bytes(size, sizeof(size), info->image_size));
}

static double rate_of(const struct bloomfile_params *p, uint64_t keys)
{
    uint32_t hashes = p->hashes > 0 ? p->hashes : bloomfile_hashes_for(p->layout, p->bits, keys);
    return bloomfile_fpr_for(p->layout, p->bits, hashes, keys);
}

/* The most keys, at least 1, with which so many bits keep the rate. */
static uint64_t room_for(const struct bloomfile_params *p)
{
    double fpr = p->fpr > 0 ? p->fpr : DEFAULT_FPR;
    uint64_t fits = 1, too_many = p->bits + 1;
    while (too_many - fits > 1) {
        uint64_t middle = fits + (too_many - fits) / 2;
        if (rate_of(p, middle) <= fpr)
            fits = middle;
        else
            too_many = middle;
    }
    return fits;
}

static void create_live(const struct request *r)
{
    bloomfile *f;
    struct bloomfile_params params = r->params;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct cli_progress progress = { .doing = "allocating the filter ...",
                                     .shown_ns = r->quiet ? -1 : 0 };
    if (params.capacity == 0)
        params.capacity = room_for(&params);
    cli_progress_step(&progress);
    int error = bloomfile_create(&f, r->path, &params, r->force ? BLOOMFILE_REPLACE : 0);
    if (error != 0)
        say_cannot_create(r->path, error);
    cli_progress_end(&progress);
    bloomfile_get_info(f, &info);
    bloomfile_close(f);
    if (!r->quiet && (r->verbose || isatty(STDERR_FILENO)))
        summarize_live(r, &info);
}

int main(int argc, char **argv)
{
    struct request r = { .params = BLOOMFILE_PARAMS_INIT };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    target_check(r.path, r.force);
    if (r.live)
        create_live(&r);
    else
        create(&r);
    return 0;
}
