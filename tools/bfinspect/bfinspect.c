/* SPDX-License-Identifier: MIT
 *
 * bfinspect - show what a filter file is, what state it is in, and whether it keeps its promise
 */
#include "bfinspect/inspect.h"
#include "shared/cli.h"
#include "shared/output.h"
#include "shared/params.h"
#include "shared/say.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("What to do:"),
    OPTION(0, "quick", NULL, "read the header only: no fill, no real rate",
           OPTIONS_FLAG(struct inspect_options, quick)),
    OPTION(0, "verify", NULL, "check the whole body against its checksums",
           OPTIONS_FLAG(struct inspect_options, verify)),
    PARAMS_THREADS(struct inspect_options, threads, ""),
    PARAMS_ACCEPT_UNCLEAN(struct inspect_options, open_flags, "a live FILE"),
    OPTIONS_TITLE("Keys that must be in it:"),
    OPTION(0, "keys", "KEYFILE", "check every key of a list ('-': standard input)",
           OPTIONS_STRING(struct inspect_options, keys, NULL), .value = OPTIONS_A_FILE),
    KEYS_OPTIONS(struct inspect_options, keys_form),
    KEYS_FIELDS_OPTIONS(struct inspect_options, keys_form),
    KEYS_HEADER_OPTION(struct inspect_options, keys_form),
    KEYS_CSV_OPTION(struct inspect_options, keys_form),
    OPTIONS_TITLE("What to print:"),
    OPTION('H', "fields", NULL, "also every field of the header, with its offset",
           OPTIONS_FLAG(struct inspect_options, fields)),
    OPTION(0, "json", NULL, "one JSON object a line for each FILE",
           OPTIONS_FLAG(struct inspect_options, json)),
    OPTION(0, "map", NULL, "also a picture of how full the body is, for the terminal",
           OPTIONS_FLAG(struct inspect_options, map)),
    OPTION(0, "svg", "IMAGE", "that picture as an SVG image ('-': standard output)",
           OPTIONS_STRING(struct inspect_options, svg, "the name of a file"),
           .value = OPTIONS_A_FILE),
    OPTION(0, "png", "IMAGE", "that picture as a PNG image",
           OPTIONS_STRING(struct inspect_options, png, "the name of a file"),
           .value = OPTIONS_A_FILE),
    OPTION('f', "force", NULL, "replace IMAGE if it exists",
           OPTIONS_FLAG(struct inspect_options, force)),
    OPTION('q', "quiet", NULL, "print nothing but messages about unusable files",
           OPTIONS_FLAG(struct inspect_options, quiet)),
    OPTIONS_TITLE("Other:"),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE..." },
    .operands = { { "FILE", OPTIONS_A_FILTER } },
    .about = "Show what each filter FILE holds, and whether it keeps what its header promises.",
    .entries = entries,
    .notes =
        "The exit status is 0 if every filter is healthy, 1 if one does not keep its promise"
        " (rate, capacity, a key missing), lost a writer, or is live with --verify, 2 if one is"
        " damaged or unreadable, or for other trouble.",
    .examples =
        "  bfinspect words.bloom\n"
        "  bfinspect --verify --keys words words.bloom\n"
        "  bfinspect --json *.bloom | jq -r 'select(.ok | not) | .file + \": \" + .verdict'\n",
};

/* ------------------------------------------------------------------------------- command line */

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

/* Whether it says how to read keys. */
static bool are_given(const struct keys_options *k)
{
    return !keys_are_lines(k) || k->crlf || k->fields.count > 0 || k->fields.header || k->packed ||
           k->as_is;
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
    if (o->keys == NULL && are_given(&o->keys_form))
        cli_usage("-0, -x, --crlf, --field, --header, -Z and --as-is go with --keys");
    if (o->keys != NULL && files > 1 && is_stream(o->keys))
        cli_usage("--keys needs a file that can be read once for each filter");
    if (image && files > 1)
        cli_usage("an image is made of one filter, not of %d", files);
    if (o->force && !image)
        cli_usage("--force goes with --svg and --png");
    if (o->json && (o->fields || o->map))
        cli_usage("--json has all fields and no pictures; leave out %s",
                  o->fields ? "--fields" : "--map");
    if (o->quiet && (o->json || o->fields || o->map || image_to_stdout))
        cli_usage("--quiet prints nothing; leave out what would be printed");
    if (image_to_stdout &&
        (o->json || o->fields || o->map || (is_stdout(o->svg) && is_stdout(o->png))))
        cli_usage("standard output is for the image alone");
    if (o->svg != NULL)
        picture_check_target(o->svg, o->force);
    if (o->png != NULL)
        picture_check_target(o->png, o->force);
}

/* Pages, JSON and images go to files of their own, which are neither filters nor the list of keys.
 */
static void check_outputs(const struct inspect_options *o, char *const *files, int count)
{
    const char *const outputs[] = { o->quiet ? NULL : "-", o->svg, o->png };
    enum {
        OUTPUTS = sizeof(outputs) / sizeof(outputs[0])
    };
    for (int i = 0; i < count; i++) {
        if (output_is_filter("-", files[i]))
            cli_fail(0, "cannot write to standard output: it is the filter to inspect");
    }
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

/* Returns the index of the first file. */
static int parse(struct inspect_options *o, int argc, char **argv)
{
    const int first = options_parse(&options, o, argc, argv);
    keys_options_check(&o->keys_form);
    check_options(o, argc - first);
    if (o->threads == 0)
        o->threads = params_default_threads();
    o->utf8 = o->json || strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    return first;
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
    if (r->layer_count > 0 && !r->interrupted) {
        cli_warn(0,
                 "%s: no image written: it is a series of layers, and an image is of one filter"
                 " (--map draws each)",
                 r->path);
        return CLI_TROUBLE;
    }
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

static bool prints_page(const struct inspect_report *r, const struct inspect_options *o)
{
    return !o->json && !o->quiet && !is_stdout(o->svg) && !is_stdout(o->png) &&
           r->depth != INSPECT_NOTHING;
}

static void warn_of(const struct inspect_report *r)
{
    const char *between = r->advice[0] != '\0' ? "; " : "";
    cli_warn(0, "%s: %s%s%s", r->path, r->verdict, between, r->advice);
}

/* A page says what is wrong with its file; on a terminal the message would repeat that. */
static bool is_told_by_page(const struct inspect_report *r, const struct inspect_options *o)
{
    return prints_page(r, o) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

static int inspect(const char *path, const struct inspect_options *o, bool *printed)
{
    struct inspect_report r = { .path = path };
    if (access(path, F_OK) != 0)
        say_check_name(path);
    inspect_read(&r, o);
    inspect_verdict(&r, o->verify);
    if (r.status == INSPECT_UNUSABLE && !is_told_by_page(&r, o))
        warn_of(&r);
    struct cli_page page;
    cli_page_start(&page);
    if (o->json) {
        inspect_json(page.out, &r);
    } else if (prints_page(&r, o)) {
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
    struct inspect_options wish = { 0 };
    int worst = 0;
    bool printed = false;
    cli_start(argv[0]);
    const int first = parse(&wish, argc, argv);
    check_outputs(&wish, argv + first, argc - first);
    for (int i = first; i < argc; i++) {
        int status = inspect(argv[i], &wish, &printed);
        if (status > worst)
            worst = status;
    }
    cli_close_stdout();
    return worst;
}
