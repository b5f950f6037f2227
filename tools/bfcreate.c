/* SPDX-License-Identifier: MIT
 *
 * bfcreate - make a filter file from keys
 */
#include "cli.h"
#include "keys.h"

#include <bloomfile.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BATCH = 1024
};
enum {
    OPTION_HELP = 0x100,
    OPTION_VERSION,
    OPTION_LABEL,
    OPTION_TAG
};

struct request {
    const char *path;
    char *const *inputs;
    int inputs_count;
    struct bloomfile_params params;
    struct keys_options keys;
    bool force, quiet, verbose;
};

static const char help[] =
    "usage: bfcreate [options] FILE [KEYFILE...]\n"
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
    "  find / -xdev -print0 | bfcreate -0 -p 0.001 --label 'all paths' paths.bloom\n";

/* ------------------------------------------------------------------------------- command line */

static uint64_t number(const char *option, const char *text, uint64_t max)
{
    uint64_t value;
    if (!cli_parse_count(text, &value) || value < 1 || value > max)
        cli_usage("%s takes a number from 1 to %" PRIu64 ", not '%s'", option, max, text);
    return value;
}

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

static uint64_t seed(const char *text)
{
    uint64_t value;
    if (strcmp(text, "random") == 0) {
        ssize_t n;
        do
            n = getrandom(&value, sizeof(value), 0);
        while (n < 0 && errno == EINTR);
        if (n != sizeof(value))
            cli_fail(n < 0 ? errno : EIO, "cannot get a random seed");
        return value;
    }
    if (!cli_parse_u64(text, &value))
        cli_usage("-s/--seed takes 'random' or a number below 2^64 such as 7 or 0x1f, not '%s'",
                  text);
    return value;
}

static void take_option(struct request *r, int option, const char *value)
{
    struct bloomfile_params *params = &r->params;
    switch (option) {
    case 'p':
        if (!cli_parse_rate(value, &params->fpr))
            cli_usage("-p/--fpr takes a rate between 0 and 1 such as 0.01 or 1e-3, not '%s'",
                      value);
        break;
    case 'n':
        params->capacity = number("-n/--capacity", value, BLOOMFILE_MAX_BITS);
        break;
    case 'm':
        params->bits = number("-m/--bits", value, BLOOMFILE_MAX_BITS);
        break;
    case 'k':
        params->hashes = (uint32_t)number("-k/--hashes", value, BLOOMFILE_MAX_HASHES);
        break;
    case 'l':
        params->layout = layout(value);
        break;
    case 's':
        params->seed = seed(value);
        break;
    case OPTION_LABEL:
        params->label = value;
        break;
    case OPTION_TAG:
        if (!cli_parse_hex(value, params->tag, sizeof(params->tag)))
            cli_usage("--tag takes 2 to 32 hexadecimal digits, two for each byte, not '%s'", value);
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
    if (r->params.layout == 0)
        r->params.layout = BLOOMFILE_BLOCKED;
    if (r->params.layout == BLOOMFILE_BLOCKED)
        r->params.bits = (r->params.bits + 511) / 512 * 512;
}

/* -------------------------------------------------------------- what is known before any key is */

static _Noreturn void cannot_create(const struct request *r, int error)
{
    if (error == EEXIST)
        cli_fail(0, "cannot create %s: %s (--force replaces it)", r->path,
                 bloomfile_strerror(error));
    cli_fail(error, "cannot create %s", r->path);
}

static void check_folder(const struct request *r, const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        cannot_create(r, ENOMEM);
    const char *folder = dirname(copy);
    if (faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot create %s in the folder %s", r->path, folder);
    free(copy);
}

static bool is_same_file(const char *input, const struct stat *target)
{
    struct stat st;
    int failed = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(input, &st);
    return failed == 0 && st.st_dev == target->st_dev && st.st_ino == target->st_ino;
}

static void check_not_an_input(const struct request *r, const struct stat *target)
{
    bool same = r->inputs_count == 0 && is_same_file("-", target);
    for (int i = 0; i < r->inputs_count; i++)
        same = same || is_same_file(r->inputs[i], target);
    if (same)
        cli_fail(0, "cannot create %s: it is a file to read keys from", r->path);
}

/* The library checks again, without a race, when it publishes the file. This spares the reading. */
static void check_target(const struct request *r)
{
    struct stat st;
    size_t length = strlen(r->path);
    if (stat(r->path, &st) != 0) {
        if (errno != ENOENT)
            cannot_create(r, errno);
        if (r->path[length - 1] == '/')
            cannot_create(r, EISDIR);
        if (lstat(r->path, &st) == 0)
            cli_fail(0, "cannot create %s: it is a symbolic link to nothing", r->path);
        check_folder(r, r->path);
        return;
    }
    if (!S_ISREG(st.st_mode))
        cannot_create(r, S_ISDIR(st.st_mode) ? EISDIR : BLOOMFILE_ENOTREGULAR);
    if (!r->force)
        cannot_create(r, EEXIST);
    check_not_an_input(r, &st);
    char *resolved = realpath(r->path, NULL);
    if (resolved == NULL)
        cannot_create(r, errno);
    check_folder(r, resolved);
    free(resolved);
}

static void check_size(const struct request *r)
{
    const struct bloomfile_params *p = &r->params;
    uint64_t keys = p->capacity > 0 ? p->capacity : 1;
    double fpr = p->fpr > 0 ? p->fpr : 0.01;
    if (p->bits == 0 && bloomfile_bits_for(p->layout, keys, fpr, p->hashes) == 0)
        cannot_create(r, BLOOMFILE_EUNREACHABLE);
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
        cannot_create(r, error);
    cli_progress_end(&progress);
}

static void warn(const struct request *r, const struct bloomfile_info *info, double promised,
                 double expected)
{
    if (info->keys == 0)
        cli_warn(0, "%s: there were no keys, so it answers no to everything", r->path);
    if (expected <= promised)
        return;
    if (info->keys > info->capacity)
        cli_warn(0,
                 "%s: %" PRIu64 " keys, more than the capacity of %" PRIu64
                 ": the false-positive rate is about %.3g, not %.3g",
                 r->path, info->keys, info->capacity, expected, promised);
    else
        cli_warn(0, "%s: too few bits for the rate: it is about %.3g, not %.3g", r->path, expected,
                 promised);
}

static void summarize(const struct request *r, const struct bloomfile_info *info, uint64_t read,
                      double expected)
{
    char size[32], each[64] = "", repeated[64] = "", promised[64] = "";
    if (info->keys > 0)
        snprintf(each, sizeof(each), ", %.2f %s each", (double)info->bits / (double)info->keys,
                 info->layout == BLOOMFILE_COUNTING ? "counters" : "bits");
    if (read > info->keys)
        snprintf(repeated, sizeof(repeated), " (%" PRIu64 " repeated)", read - info->keys);
    if (info->fpr > 0)
        snprintf(promised, sizeof(promised), " (%.3g promised)", info->fpr);
    cli_warn(0, "%s: %" PRIu64 " key%s%s%s, false-positive rate %.3g%s, %s", r->path, info->keys,
             info->keys == 1 ? "" : "s", repeated, each, expected, promised,
             cli_bytes(size, sizeof(size), info->image_size));
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

    double expected = bloomfile_fpr_for(info.layout, info.bits, info.hashes, info.keys);
    double promised = info.fpr;
    if (promised == 0)
        promised = bloomfile_fpr_for(info.layout, info.bits, info.hashes, info.capacity);
    warn(r, &info, promised, expected);
    if (r->verbose || isatty(STDERR_FILENO))
        summarize(r, &info, read, expected);
}

int main(int argc, char **argv)
{
    struct request r = { .params = BLOOMFILE_PARAMS_INIT };
    bloomfile_builder *builder;
    cli_start(argv[0]);
    parse(&r, argc, argv);
    check_target(&r);
    int error = bloomfile_builder_new(&builder, &r.params);
    if (error != 0)
        cannot_create(&r, error);
    check_size(&r);

    uint64_t read = read_keys(&r, builder);
    publish(&r, builder);
    bloomfile_builder_free(builder);
    report(&r, read);
    return 0;
}
