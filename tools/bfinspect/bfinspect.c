/* SPDX-License-Identifier: MIT
 *
 * bfinspect - show what a filter file is, what state it is in, and whether it keeps its promise
 */
#include "bfinspect/inspect.h"
#include "shared/cli.h"
#include "shared/output.h"
#include "shared/params.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_VERSION = 0x100,
    OPTION_VERIFY,
    OPTION_JSON,
    OPTION_QUICK,
    OPTION_KEYS,
    OPTION_MAP,
    OPTION_SVG,
    OPTION_PNG,
    OPTION_ACCEPT_UNCLEAN,
};

static const char help[] =
    "usage: bfinspect [options] FILE...\n"
    "Show what each filter FILE holds, and whether it keeps what its header promises.\n"
    "\n"
    "What to do:\n"
    "      --quick         read the header only: no fill, no real rate\n"
    "      --verify        check the whole body against its checksums\n"
    "  -j, --threads N     verify with N threads (default: one a processor, up to 16)\n"
    "      --keys KEYFILE  check that every key of a list is in the filter\n"
    "                      ('-': standard input)\n"
    "  -0, --null          with --keys: keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N       with --keys: keys are binary records of N bytes\n"
    "      --crlf          with --keys: a carriage return before the end of a line is\n"
    "                      no part of the key\n"
    "      --accept-unclean\n"
    "                      look into a live filter even if the machine, or a writer\n"
    "                      in a sync, died while it was written\n"
    "\n"
    "What to print:\n"
    "  -H, --header        also every field of the header, with its offset\n"
    "      --json          one JSON object a line for each FILE\n"
    "      --map           also a picture of how full the body is, for the terminal\n"
    "      --svg IMAGE     write that picture as an SVG image ('-': standard output)\n"
    "      --png IMAGE     write that picture as a PNG image\n"
    "  -f, --force         replace IMAGE if it exists\n"
    "  -q, --quiet         print nothing but messages about unusable files\n"
    "\n"
    "Other:\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "The exit status is 0 if every filter is healthy, 1 if one does not keep its\n"
    "promise (rate, capacity, a key missing) or is live, 2 if one is damaged or\n"
    "unreadable, or for other trouble.\n"
    "\n"
    "Examples:\n"
    "  bfinspect words.bloom\n"
    "  bfinspect --verify --keys words words.bloom\n"
    "  bfinspect --json *.bloom | jq -r 'select(.ok | not) | .file + \": \" + .verdict'\n";

/* ------------------------------------------------------------------------------- command line */

static void take_option(struct inspect_options *o, int option, char *value)
{
    switch (option) {
    case 'H':
        o->header = true;
        break;
    case OPTION_JSON:
        o->json = true;
        break;
    case 'f':
        o->force = true;
        break;
    case 'q':
        o->quiet = true;
        break;
    case OPTION_VERIFY:
        o->verify = true;
        break;
    case 'j':
        o->threads = params_threads(value);
        break;
    case OPTION_QUICK:
        o->quick = true;
        break;
    case OPTION_KEYS:
        o->keys = value;
        break;
    case OPTION_MAP:
        o->map = true;
        break;
    case OPTION_SVG:
        o->svg = value;
        break;
    case OPTION_PNG:
        o->png = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        o->accept_unclean = true;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* A list that can be read only once serves only one filter. */
static bool is_stream(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

static void check_options(const struct inspect_options *o, int files)
{
    bool image = o->svg != NULL || o->png != NULL;
    bool image_to_stdout = is_stdout(o->svg) || is_stdout(o->png);
    if (files == 0)
        cli_usage("the name of the filter file is missing");
    if (o->quick && (o->verify || o->map || image))
        cli_usage("--quick does not read the body, which %s needs",
                  o->verify ? "--verify" : "a picture");
    if (o->keys == NULL && (o->keys_form.form != KEYS_LINES || o->keys_form.crlf))
        cli_usage("-0, -x and --crlf go with --keys");
    if (o->keys != NULL && files > 1 && is_stream(o->keys))
        cli_usage("--keys needs a file that can be read once for each filter");
    if (image && files > 1)
        cli_usage("an image is made of one filter, not of %d", files);
    if (o->force && !image)
        cli_usage("--force goes with --svg and --png");
    if (o->json && (o->header || o->map))
        cli_usage("--json has all fields and no pictures; leave away %s",
                  o->header ? "--header" : "--map");
    if (o->quiet && (o->json || o->header || o->map || image_to_stdout))
        cli_usage("--quiet prints nothing; leave away what is to be printed");
    if (image_to_stdout &&
        (o->json || o->header || o->map || (is_stdout(o->svg) && is_stdout(o->png))))
        cli_usage("standard output is for the image alone");
    if (o->svg != NULL)
        picture_check_target(o->svg, o->force);
    if (o->png != NULL)
        picture_check_target(o->png, o->force);
}

/* Pages, JSON and images go to files of their own, which are not the list of keys. */
static void check_outputs(const struct inspect_options *o)
{
    const char *const outputs[] = { o->quiet ? NULL : "-", o->svg, o->png };
    enum {
        OUTPUTS = sizeof(outputs) / sizeof(outputs[0])
    };
    for (int i = 0; i < OUTPUTS; i++) {
        if (outputs[i] != NULL && o->keys != NULL)
            output_check_inputs(outputs[i], &o->keys, 1);
        for (int j = 0; j < i; j++) {
            bool both = outputs[i] != NULL && outputs[j] != NULL && !is_stdout(outputs[i]);
            if (both)
                output_check_outputs(outputs[i], outputs[j]);
        }
    }
}

static void parse(struct inspect_options *o, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "header", no_argument, NULL, 'H' },
        { "json", no_argument, NULL, OPTION_JSON },
        { "force", no_argument, NULL, 'f' },
        { "quiet", no_argument, NULL, 'q' },
        { "verify", no_argument, NULL, OPTION_VERIFY },
        { "threads", required_argument, NULL, 'j' },
        { "quick", no_argument, NULL, OPTION_QUICK },
        { "keys", required_argument, NULL, OPTION_KEYS },
        { "map", no_argument, NULL, OPTION_MAP },
        { "svg", required_argument, NULL, OPTION_SVG },
        { "png", required_argument, NULL, OPTION_PNG },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "Hj:fqh", options, NULL)) !=
           -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&o->keys_form, option, optarg))
            take_option(o, option, optarg);
    }
    check_options(o, argc - optind);
    if (o->threads == 0)
        o->threads = params_default_threads();
    o->utf8 = o->json || strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ------------------------------------------------------------------------------------ one file */

static void save_image(const struct inspect_report *r, const struct inspect_options *o,
                       const char *path, char *bytes, size_t size)
{
    if (bytes == NULL)
        text_no_memory();
    picture_save(path, bytes, size, o->force, &r->stat);
    free(bytes);
}

static void save_svg(const struct inspect_report *r, const struct inspect_options *o)
{
    char caption[512];
    size_t size;
    const char *slash = strrchr(r->path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : r->path;
    char *title = text_safe(base, strlen(base), true);
    inspect_caption(caption, sizeof(caption), r);
    char *bytes = picture_svg(&r->image, title, caption, &size);
    save_image(r, o, o->svg, bytes, size);
    free(title);
}

static int save_images(const struct inspect_report *r, const struct inspect_options *o)
{
    size_t size;
    if (o->svg == NULL && o->png == NULL)
        return 0;
    if (r->image.fill == NULL || r->interrupted) {
        cli_warn(0, "%s: no image written: the body cannot be read", r->path);
        return CLI_TROUBLE;
    }
    if (o->svg != NULL)
        save_svg(r, o);
    if (o->png != NULL) {
        char *bytes = picture_png(&r->image, &size);
        save_image(r, o, o->png, bytes, size);
    }
    return 0;
}

static void warn_of(const struct inspect_report *r)
{
    const char *between = r->advice[0] != '\0' ? "; " : "";
    cli_warn(0, "%s: %s%s%s", r->path, r->verdict, between, r->advice);
}

static int inspect(const char *path, const struct inspect_options *o, bool *printed)
{
    struct inspect_report r = { .path = path };
    if (output_is("-", path))
        cli_fail(0, "cannot write to standard output: it is the filter to inspect");
    inspect_read(&r, o);
    inspect_verdict(&r);
    if (r.status == INSPECT_UNUSABLE)
        warn_of(&r);
    struct cli_page page;
    cli_page_start(&page);
    if (o->json) {
        inspect_json(page.out, &r);
    } else if (!o->quiet && !is_stdout(o->svg) && !is_stdout(o->png) &&
               r.depth != INSPECT_NOTHING) {
        if (*printed)
            fputc('\n', page.out);
        inspect_page(page.out, &r, o);
        *printed = true;
    }
    cli_page_print(&page);
    int image = save_images(&r, o);
    int status = r.status > image ? r.status : image;
    inspect_free(&r);
    return status;
}

int main(int argc, char **argv)
{
    struct inspect_options options = { 0 };
    int worst = 0;
    bool printed = false;
    cli_start(argv[0]);
    parse(&options, argc, argv);
    check_outputs(&options);
    for (int i = optind; i < argc; i++) {
        int status = inspect(argv[i], &options, &printed);
        if (status > worst)
            worst = status;
    }
    cli_close_stdout();
    return worst;
}
