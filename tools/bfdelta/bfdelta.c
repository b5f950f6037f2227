/* SPDX-License-Identifier: MIT
 * bfdelta - create, apply and describe small patches between filters */
#include "bfdelta/shape.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "filters/destination.h"
#include "filters/lost_keys.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/report.h"
#include "filters/same_file.h"
#include "filters/target_file.h"
#include "keys/input_type.h"

#include <bloomfile.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAKE = 0,
    APPLY = 1,
    INFO = 2
};

struct request {
    unsigned mode;
    const char *old, *new, *patch;
    uint32_t threads;
    struct report report;
    bool force, discard, quiet, verbose;
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "apply", NULL, "apply PATCH to OLD and write NEW",
           OPTIONS_BITS(struct request, mode, APPLY), .rival = 'm'),
    OPTION(0, "info", NULL, "check PATCH and describe it", OPTIONS_BITS(struct request, mode, INFO),
           .rival = 'm'),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL,
           "replace PATCH if it is a patch or empty, NEW if it is OLD or has no keys",
           OPTIONS_FLAG(struct request, force)),
    LOST_KEYS_OPTION(struct request, discard),
    REPORT_OPTION(struct request, report),
    OPTIONS_TITLE("Resources:"),
    PARAMS_THREADS(struct request, threads),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct request, PARAMS_QUIET_ERRORS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] OLD NEW PATCH", "--apply [options] OLD PATCH NEW",
                "--info [--report FILE] PATCH" },
    .operands = { { "OLD", OPTIONS_A_FILTER },
                  { "NEW", OPTIONS_A_FILTER },
                  { "PATCH", OPTIONS_A_PATCH } },
    .about =
        "Write a compact patch that turns the sealed filter OLD into the sealed filter NEW. Both"
        " must have the same layout, -m, -k and seed. Applying PATCH to OLD reproduces NEW"
        " byte for byte; --apply refuses any other base. '-' is standard output for the file "
        "written, and "
        "standard input for the PATCH of --apply and --info.",
    .entries = entries,
    .notes = "Exit status: 0 on success, 2 on error (nothing is written).",
    .examples = "  bfdelta monday.bloom tuesday.bloom tuesday.patch\n"
                "  bfdelta --apply -f urls.bloom tuesday.patch urls.bloom\n",
};

/* ------------------------------------------------------------------------------- command line */

static void check_name(const char *name, const char *what)
{
    if (name == NULL || name[0] == '\0')
        cli_usage("the name of %s is %s", what, name == NULL ? "missing" : "empty");
}

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    const int most = r->mode == INFO ? 1 : 3;
    if (argc - first > most)
        cli_usage("too many file names: '%s'", argv[first + most]);
    if (r->mode == INFO) {
        check_name(r->patch = argv[first], "PATCH");
        return;
    }
    if (report_wanted(&r->report))
        cli_usage("--report needs --info");
    if (r->discard && (!r->force || r->mode != APPLY))
        cli_usage("--discard needs --apply and --force");
    const char **const places[2][3] = {
        [MAKE] = { &r->old, &r->new, &r->patch }, [APPLY] = { &r->old, &r->patch, &r->new }
    };
    for (int i = 0; i < argc - first; i++)
        *places[r->mode][i] = argv[first + i];
    check_name(r->old, "OLD");
    check_name(*places[r->mode][1], r->mode == APPLY ? "PATCH" : "NEW");
    check_name(*places[r->mode][2], r->mode == APPLY ? "NEW" : "PATCH");
}

/* ------------------------------------------------------------------------------------- shared */

static void progress(const struct request *r, struct cli_progress *p, const char *doing)
{
    *p = (struct cli_progress){ .doing = doing, .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(p);
}

static bool is_patch(const char *path)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    const struct bloomfile_source from = bloomfile_from_path(path);
    return bloomfile_get_patch_info(&from, &info) == 0;
}

/* Names in the wrong order are a likely mistake. */
static void check_no_patch(const struct request *r, const char *attempt, const char *path)
{
    if (is_patch(path))
        cli_fail(0, "cannot %s %s: it is a patch (the order is %s)", attempt, path,
                 r->mode == APPLY ? "OLD PATCH NEW" : "OLD NEW PATCH");
}

static bloomfile_filter *open_filter(const struct request *r, const char *path)
{
    bloomfile_filter *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    if (opening_from(&f, bloomfile_from_path(path), 0, OPENING_ANY, &report) != 0) {
        check_no_patch(r, "open", path);
        message_cannot_open(path, &report);
    }
    bloomfile_get_info(f, &info);
    if (info.state != BLOOMFILE_STATE_SEALED)
        cli_fail(0,
                 "cannot compare %s: it is live, and a patch needs sealed filters (seal a copy: "
                 "bfseal %s COPY)",
                 path, path);
    if (bloomfile_traits_of(info.layout)->solved)
        cli_fail(0, "cannot compare %s: the layout %s has no patches (copy NEW instead)", path,
                 bloomfile_layout_name(info.layout));
    return f;
}

/* Ends the program if this filter is the cause of the error. */
static void check_damage(const char *path, const bloomfile_filter *f)
{
    const int error = bloomfile_check(f);
    if (error != 0)
        cli_fail(error, "cannot read %s", path);
}

static uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool tells(const struct request *r)
{
    return !r->quiet && (r->verbose || isatty(STDERR_FILENO));
}

/* ------------------------------------------------------------------------------------- making */

static void report_patch(const struct request *r, const bloomfile_filter *new)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char size[32], whole[32], share[32];
    bloomfile_get_info(new, &info);
    const uint64_t bytes = file_size(r->patch);
    if (tells(r))
        cli_note(0, "%s: %s, %s of %s (%s)", r->patch, cli_bytes(size, sizeof(size), bytes),
                 cli_percent(share, sizeof(share), (double)bytes / (double)info.image_size), r->new,
                 cli_bytes(whole, sizeof(whole), info.image_size));
}

static void make(const struct request *r)
{
    struct cli_progress p;
    bloomfile_filter *old = open_filter(r, r->old), *new = open_filter(r, r->new);
    const char *inputs[] = { r->old, r->new };
    for (int i = 0; i < 2; i++)
        if (same_file_is(r->patch, inputs[i]))
            cli_fail(0, "cannot create %s: it is one of the filters to compare", r->patch);
    message_order = "PATCH comes last: bfdelta OLD NEW PATCH";
    destination_check_kind(r->patch, r->force, DESTINATION_PATCH);
    progress(r, &p, "comparing ...");
    if (!destination_is_stdout(r->patch))
        target_hold(r->patch);
    destination_check_kind_again(r->patch, DESTINATION_PATCH);
    struct bloomfile_destination to = destination_of(r->patch, r->force);
    int error = bloomfile_delta(&to, old, new, r->threads);
    if (shape_is_to_blame(error))
        shape_fail(error, r->old, old, r->new, new);
    if (error != 0) {
        check_damage(r->old, old);
        check_damage(r->new, new);
        if (error == BLOOMFILE_ECHANGED)
            cli_fail(error, "cannot compare %s and %s", r->old, r->new);
        destination_fail_kind(r->patch, error, DESTINATION_PATCH);
    }
    cli_progress_end(&p);
    if (!destination_is_stdout(r->patch))
        report_patch(r, new);
    bloomfile_close(old);
    bloomfile_close(new);
}

/* ----------------------------------------------------------------------------------- patches */

static const char *patch_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static struct bloomfile_source open_patch(const char *path)
{
    struct stat st;
    const bool standard = strcmp(path, "-") == 0;
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        cli_fail(errno, "cannot open %s", path);
    if (S_ISDIR(st.st_mode))
        cli_fail(EISDIR, "cannot read %s", patch_name(path));
    if (isatty(fd))
        cli_usage("cannot read a patch from a terminal");
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) /* a closed descriptor */
        cli_fail(EBADF, "cannot read %s", patch_name(path));
    struct bloomfile_source from = bloomfile_from_fd(fd);
    from.offset = BLOOMFILE_FROM_HERE;
    return from;
}

static bool is_filter(const char *path)
{
    bloomfile_filter *f;
    if (opening_any(&f, path, 0) != 0)
        return false;
    bloomfile_close(f);
    return true;
}

/* Ends the program if the patch is the cause of the error. */
static void check_patch(const char *path, int error)
{
    const char *name = patch_name(path), *words = bloomfile_strerror(error);
    struct input_type_text is;
    if (error == BLOOMFILE_EPATCH && input_type_describe_file(path, &is) && !is.is_patch)
        cli_fail(0, "cannot use the patch %s: %s (%s)", name, is.what, is.remedy);
    if (error == BLOOMFILE_EPATCH && is_filter(path))
        cli_usage("%s is a filter, not a patch", name);
    if (error == BLOOMFILE_EVERSION || error == BLOOMFILE_EFEATURE || error == BLOOMFILE_ELAYOUT)
        cli_fail(0, "cannot use the patch %s: %s (update bloomfile)", name, words);
    if (error == BLOOMFILE_EPATCH || error == BLOOMFILE_ETRUNCATED || error == BLOOMFILE_ETRAILING)
        cli_fail(0, "cannot use the patch %s: %s (copy it again, or make a new patch)", name,
                 words);
}

/* --------------------------------------------------------------------------------- describing */

static json *of_filter(uint32_t header, uint32_t body)
{
    json *object = json_new();
    json_put_crc(object, "header", header);
    json_put_crc(object, "body_crc", body);
    return object;
}

static json *of_patch(const struct bloomfile_patch_info *info)
{
    json *object = json_new();
    json_put_count(object, "version", info->version);
    json_put_text(object, "layout", bloomfile_layout_name(info->layout));
    json_put_count(object, "layer_count", info->layers);
    json_put_count(object, "patch_size", info->patch_size);
    json_put_count(object, "body_size", info->body_size);
    json_put_count(object, "parts", info->parts);
    json_put_count(object, "changed_pages", info->changed_pages);
    json_put(object, "base", of_filter(info->base_header, info->base_body));
    json_put(object, "result", of_filter(info->result_header, info->result_body));
    return object;
}

static void print_text(FILE *out, const struct bloomfile_patch_info *info)
{
    fprintf(out,
            "patch:   version %" PRIu32 ", %" PRIu64 " bytes, %" PRIu64 " part%s of %" PRIu64
            " pages\n",
            info->version, info->patch_size, info->parts, cli_s(info->parts), info->changed_pages);
    fprintf(out, "filters: %s, %" PRIu64 " bytes of body", bloomfile_layout_name(info->layout),
            info->body_size);
    if (info->layers > 0)
        fprintf(out, ", a series of %" PRIu32 " layer%s", info->layers, cli_s(info->layers));
    fputc('\n', out);
    fprintf(out, "base:    body_crc %08" PRIx32 ", header %08" PRIx32 "\n", info->base_body,
            info->base_header);
    fprintf(out, "result:  body_crc %08" PRIx32 ", header %08" PRIx32 "\n", info->result_body,
            info->result_header);
}

static void describe(struct request *r)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    struct cli_page page;
    if (same_file_is("-", r->patch))
        cli_fail(0, "cannot write to standard output: it is the patch");
    const bool as_json = report_is_stdout(&r->report);
    report_open(&r->report, NULL, NULL, as_json ? NULL : "the text");
    if (report_wanted(&r->report) && same_file_is(r->report.file.path, r->patch))
        cli_fail(0, "cannot write the report to %s: it is the patch", r->report.file.path);
    const struct bloomfile_source patch = open_patch(r->patch);
    int error = bloomfile_get_patch_info(&patch, &info);
    check_patch(r->patch, error);
    if (error != 0)
        cli_fail(error, "cannot read %s", patch_name(r->patch));
    cli_page_start(&page);
    if (!as_json)
        print_text(page.out, &info);
    cli_page_print(&page);
    if (report_wanted(&r->report))
        report_put(&r->report, of_patch(&info));
    report_close(&r->report);
}

/* ----------------------------------------------------------------------------------- applying */

/* Explains a wrong base. Probably the patch was already applied. A patch from a pipe cannot be read
 * again to find out. */
static _Noreturn void fail_for_base(const struct request *r, const bloomfile_filter *old)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    struct bloomfile_info is = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(old, &is);
    const struct bloomfile_source patch = bloomfile_from_path(r->patch);
    if (strcmp(r->patch, "-") == 0 || bloomfile_get_patch_info(&patch, &info) != 0)
        cli_fail(0, "cannot apply %s to %s: %s (if it was not applied already, copy NEW instead)",
                 patch_name(r->patch), r->old, bloomfile_strerror(BLOOMFILE_EDIFFERENTBASE));
    if (info.result_body == is.body_crc && info.base_body != is.body_crc)
        cli_fail(0, "cannot apply %s to %s: the patch was already applied", r->patch, r->old);
    if (info.base_body == is.body_crc)
        cli_fail(0,
                 "cannot apply %s to %s: it is for a filter with another %s (if it was not applied "
                 "already, copy NEW instead)",
                 r->patch, r->old, is.layers > 0 ? "layer after the first" : "header");
    cli_fail(0,
             "cannot apply %s to %s: it is for a filter of header %08" PRIx32
             " and body_crc %08" PRIx32 ", and this filter has body_crc %08" PRIx32
             " (copy NEW instead)",
             r->patch, r->old, info.base_header, info.base_body, is.body_crc);
}

static void report_result(const struct request *r)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    opening_result(r->new, "was created", &info, tells(r) ? &measure : NULL);
    if (tells(r))
        message_summary(r->new, &info, (struct message_rate){ measure.fpr, true }, 0);
}

static void apply(const struct request *r)
{
    struct cli_progress p;
    if (!destination_is_stdout(r->new) && !same_file_is(r->new, r->patch))
        check_no_patch(r, "create", r->new);
    bloomfile_filter *old = open_filter(r, r->old);
    const struct bloomfile_source patch = open_patch(r->patch);
    if (destination_is_stdout(r->new) && same_file_is(r->new, r->old))
        cli_fail(0, "cannot write to standard output: it is the filter to change");
    if (same_file_is(r->new, r->patch))
        cli_fail(0, "cannot create %s: it is the patch", destination_name(r->new));
    message_order = "NEW comes last: bfdelta --apply OLD PATCH NEW";
    destination_check(r->new, true);
    const struct lost_keys lost = { r->new, r->old, NULL, r->force, r->discard };
    destination_hold(r->new, old);
    lost_keys_check(&lost);
    progress(r, &p, "applying ...");
    destination_check_again(r->new);
    struct bloomfile_destination to = destination_of(r->new, r->force);
    int error = bloomfile_patch(&to, old, &patch, r->threads);
    if (error == BLOOMFILE_EDIFFERENTBASE)
        fail_for_base(r, old);
    if (error != 0)
        check_damage(r->old, old);
    check_patch(r->patch, error);
    if (error != 0)
        destination_fail(r->new, error);
    cli_progress_end(&p);
    if (!destination_is_stdout(r->new))
        report_result(r);
    bloomfile_close(old);
}

int main(int argc, char **argv)
{
    struct request r = { .threads = params_default_threads() };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    if (r.mode != INFO)
        cli_catch_bus_error(r.mode == MAKE ? "OLD or NEW" : r.old);
    if (r.mode == INFO)
        describe(&r);
    else if (r.mode == MAKE)
        make(&r);
    else
        apply(&r);
    cli_close_stdout();
    return 0;
}
