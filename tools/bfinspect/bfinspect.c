/* SPDX-License-Identifier: MIT
 * bfinspect - describe a filter file, and check that it is intact and keeps its target rate */
#include "bfinspect/inspect.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/params.h"
#include "filters/same_file.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "quick", NULL, "read only the header; do not compute the actual rate",
           OPTIONS_FLAG(struct inspect_options, quick)),
    OPTION(0, "verify", NULL, "check the whole file against its checksums",
           OPTIONS_FLAG(struct inspect_options, verify)),
    OPTION(0, "keys", "KEYFILE", "check that every key of KEYFILE is in FILE ('-': standard input)",
           OPTIONS_STRING(struct inspect_options, keys, NULL), .value = OPTIONS_A_FILE),
    OPTIONS_TITLE("Input:"),
    NAMES_FROM_OPTION(struct inspect_options, files),
    KEYS_ALL_OPTIONS(struct inspect_options, keys_form),
    OPTIONS_TITLE("Filter:"),
    PARAMS_ACCEPT_UNCLEAN(struct inspect_options, open_flags, "FILE"),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL, "replace IMAGE if it exists",
           OPTIONS_FLAG(struct inspect_options, force)),
    OPTION('H', "fields", NULL, "also print every header field with its offset",
           OPTIONS_FLAG(struct inspect_options, fields)),
    REPORT_OPTION(struct inspect_options, report),
    OPTION(0, "map", NULL, "draw on the terminal how full each part of the filter is",
           OPTIONS_FLAG(struct inspect_options, map)),
    OPTION(0, "svg", "IMAGE", "write the picture of --map as SVG ('-': standard output)",
           OPTIONS_STRING(struct inspect_options, svg, "the name of a file"),
           .value = OPTIONS_A_FILE),
    OPTION('q', "quiet", NULL, "print only errors, and warnings about KEYFILE",
           OPTIONS_FLAG(struct inspect_options, quiet)),
    OPTIONS_TITLE("Resources:"),
    PARAMS_THREADS(struct inspect_options, threads),
    OPTIONS_TITLE("Other:"),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE..." },
    .operands = { { "FILE", OPTIONS_A_FILTER } },
    .about = "Describe each Bloom filter FILE, and check that it is intact and keeps its target"
             " false-positive rate. Input options apply to --keys.",
    .entries = entries,
    .notes =
        "A FILE is not healthy if it exceeds its target rate or capacity, is empty, lacks a key"
        " of --keys, or is live and a writer was killed or --verify was given.\n"
        "Exit status: 0 if every FILE is healthy, 1 if one is not, 2 on damage or error.",
    .examples = "  bfinspect words.bloom\n"
                "  bfinspect --verify --keys words words.bloom\n"
                "  bfinspect --report - *.bloom | jq -r 'select(.ok | not) | .verdict'\n",
};

/* --------------------------------------------------------------------------------- command line */

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Whether a list of keys can be read only once, which is not enough for several filters. */
static bool is_stream(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

/* Whether an option about reading keys was given. */
static bool are_given(const struct keys_options *k)
{
    return !keys_are_lines(k) || k->crlf || k->fields.count > 0 || k->fields.header || k->packed ||
           k->as_is || key_form_is_set(&k->key_form);
}

static void check_options(const struct inspect_options *o, int files)
{
    const bool image = o->svg != NULL;
    const bool image_to_stdout = is_stdout(o->svg);
    if (files == 0)
        cli_usage("the name of the filter file is missing");
    if (o->quick && (o->verify || o->map || image))
        cli_usage("--quick does not read the body, which %s needs",
                  o->verify ? "--verify" : "a picture");
    if (o->keys == NULL && are_given(&o->keys_form))
        cli_usage("options for the input need --keys");
    if (o->keys != NULL && files > 1 && is_stream(o->keys))
        cli_usage("--keys needs a file that can be read once for each filter");
    if (image && files > 1)
        cli_usage("--svg draws one filter, not %d", files);
    if (o->force && !image)
        cli_usage("--force needs --svg");
    const bool as_json = is_stdout(o->report.file.path);
    if (as_json && (o->fields || o->map))
        cli_usage("--report - prints all fields and no pictures; leave out %s",
                  o->fields ? "--fields" : "--map");
    if (o->quiet && (as_json || o->fields || o->map || image_to_stdout))
        cli_usage("--quiet prints nothing; leave out the options that print");
    if (image_to_stdout && (as_json || o->fields || o->map))
        cli_usage("standard output can hold only the image");
    if (o->svg != NULL)
        picture_check_target(o->svg, o->force);
}

/* Ends the program if the output is a filter, a list of filters or the list of keys. */
static void check_output(const struct inspect_options *o, const char *output)
{
    for (int i = 0; i < o->files.count; i++) {
        if (same_file_is_filter(output, o->files.list[i]))
            cli_fail(0, "cannot write to %s: it is the filter to inspect",
                     is_stdout(output) ? "standard output" : output);
    }
    if (o->files.files_count > 0)
        same_file_check_inputs(output, o->files.files, o->files.files_count);
    if (o->keys != NULL)
        same_file_check_inputs(output, &o->keys, 1);
}

/* Also checks that text, JSON and the image go to different files. */
static void check_outputs(struct inspect_options *o)
{
    const char *const outputs[] = { o->quiet ? NULL : "-", o->svg, o->report.file.path };
    for (int i = 0; i < 3; i++)
        if (outputs[i] != NULL)
            check_output(o, outputs[i]);
    if (outputs[0] != NULL && outputs[1] != NULL && !is_stdout(outputs[1]))
        same_file_check_outputs(outputs[1], outputs[0]);
    report_open(&o->report, NULL, outputs[1],
                o->quiet || report_is_stdout(&o->report) ? NULL : "the text");
}

static void parse(struct inspect_options *o, int argc, char **argv)
{
    const int first = options_parse(&options, o, argc, argv);
    keys_options_check(&o->keys_form);
    names_read(&o->files, argv + first, argc - first);
    check_options(o, o->files.count);
    if (o->threads == 0)
        o->threads = params_default_threads();
    o->utf8 = is_stdout(o->report.file.path) || strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ------------------------------------------------------------------------------------- one file */

static void save_svg(const struct inspect_report *r, const struct inspect_options *o)
{
    char caption[512];
    size_t size;
    const char *slash = strrchr(r->path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : r->path;
    char *title = text_safe(base, strlen(base), true);
    inspect_caption(caption, sizeof(caption), r);
    char *bytes = picture_svg(&r->image, title, caption, &size);
    free(title);
    if (bytes == NULL)
        text_no_memory();
    picture_save(o->svg, bytes, size, o->force, &r->stat);
    free(bytes);
}

static int save_image(const struct inspect_report *r, const struct inspect_options *o)
{
    if (o->svg == NULL)
        return 0;
    if (r->layer_count > 0 && !r->interrupted) {
        cli_note(0,
                 "%s: no image written: it is a series of layers, and an image shows one filter "
                 "(draw each layer with --map)",
                 r->path);
        return CLI_ERROR;
    }
    if (r->image.fill == NULL || r->interrupted) {
        cli_note(0, "%s: no image written: the body cannot be read", r->path);
        return CLI_ERROR;
    }
    save_svg(r, o);
    return 0;
}

static bool prints_page(const struct inspect_report *r, const struct inspect_options *o)
{
    return !is_stdout(o->report.file.path) && !o->quiet && !is_stdout(o->svg) &&
           r->depth != INSPECT_NOTHING;
}

static void warn_of(const struct inspect_report *r)
{
    const char *between = r->advice[0] != '\0' ? "; " : "";
    cli_note(0, "%s: %s%s%s", r->path, r->verdict, between, r->advice);
}

/* Whether the page goes to the same terminal, pipe or file as messages, which would only repeat
 * it. */
static bool is_told_by_page(const struct inspect_report *r, const struct inspect_options *o)
{
    struct stat out, err;
    return prints_page(r, o) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

static int inspect(const char *path, struct inspect_options *o, bool *printed)
{
    struct inspect_report r = { .path = path };
    if (access(path, F_OK) != 0)
        message_check_name(path);
    inspect_read(&r, o);
    inspect_verdict(&r, o->verify);
    if (r.status == INSPECT_UNUSABLE && !is_told_by_page(&r, o))
        warn_of(&r);
    struct cli_page page;
    cli_page_start(&page);
    if (prints_page(&r, o)) {
        if (*printed)
            fputc('\n', page.out);
        inspect_page(page.out, &r, o);
        *printed = true;
    }
    cli_page_print(&page);
    if (report_wanted(&o->report))
        report_put(&o->report, inspect_json(&r));
    int image = save_image(&r, o);
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
    parse(&wish, argc, argv);
    check_outputs(&wish);
    for (int i = 0; i < wish.files.count; i++) {
        int status = inspect(wish.files.list[i], &wish, &printed);
        if (status > worst)
            worst = status;
    }
    report_close(&wish.report);
    cli_close_stdout();
    names_free(&wish.files);
    return worst;
}
