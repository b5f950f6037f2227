/* SPDX-License-Identifier: MIT
 * bfseal - give a live filter checksums, in place or as a copy */
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/lost_keys.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/report.h"
#include "filters/same_file.h"

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct request {
    const char *path, *dest; /* dest NULL: in place */
    unsigned open_flags;
    struct params_metadata metadata;
    struct report report;
    bool project, force, discard, quiet, verbose;
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "project", NULL,
           "make DEST a classic filter, a quarter the size of the counting filter FILE",
           OPTIONS_FLAG(struct request, project)),
    OPTIONS_TITLE("Filter:"),
    PARAMS_METADATA(struct request, metadata),
    PARAMS_ACCEPT_UNCLEAN(struct request, open_flags, "FILE"),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL, "replace DEST if it has no keys or is an earlier copy of FILE",
           OPTIONS_FLAG(struct request, force)),
    LOST_KEYS_OPTION(struct request, discard),
    REPORT_OPTION(struct request, report),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct request, PARAMS_QUIET_ERRORS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE [DEST]", "--project [options] FILE DEST" },
    .operands = { { "FILE", OPTIONS_A_FILTER }, { "DEST", OPTIONS_A_FILTER } },
    .about = "Seal the live Bloom filter FILE: add checksums, and accept no more keys. If DEST is"
             " given, write a sealed copy to DEST ('-': standard output) instead. FILE then stays"
             " live, and programs may go on adding to it.",
    .entries = entries,
    .notes = "Exit status: 0 on success, 2 on error.",
    .examples = "  bfseal seen.bloom\n"
                "  bfseal -f seen.bloom /srv/www/seen-today.bloom\n",
};

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    if (first == argc || argv[first][0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (argc - first > 2)
        cli_usage("too many file names: bfseal takes one FILE and one DEST");
    r->path = argv[first];
    r->dest = argv[first + 1];
    const struct bloomfile_metadata *given = &r->metadata.given;
    const char *of_copy = r->project             ? "--project"
                          : r->force             ? "--force"
                          : given->label != NULL ? "--label"
                          : given->tag != NULL   ? "--tag"
                                                 : NULL;
    if (r->dest == NULL && of_copy != NULL)
        cli_usage("%s needs DEST", of_copy);
    if (r->discard && !r->force)
        cli_usage("--discard needs --force");
    if (r->dest != NULL && r->dest[0] == '\0')
        cli_usage("the name of DEST is empty");
    if (report_wanted(&r->report) && r->dest != NULL && destination_is_stdout(r->dest))
        cli_usage("--report needs a file for DEST");
}

static void report(struct request *r, const char *path)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    const bool tells = !r->quiet || report_wanted(&r->report);
    opening_result(path, "is sealed", &info, tells ? &measure : NULL);
    r->report.file.written = path;
    if (report_wanted(&r->report))
        report_put(&r->report, report_of_filter(path, &info, &measure));
    if (!r->quiet) {
        struct message_rate rate = { measure.fpr, true };
        message_warnings(path, &info, rate);
        if (r->verbose || isatty(STDERR_FILENO))
            message_summary(path, &info, rate, 0);
    }
}

static void progress(const struct request *r, struct cli_progress *p)
{
    *p = (struct cli_progress){ .doing = "sealing ...", .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(p);
}

/* ------------------------------------------------------------------------------------ in place */

static void seal_in_place(struct request *r)
{
    bloomfile_filter *f;
    struct cli_progress p;
    struct bloomfile_open_report why = BLOOMFILE_OPEN_REPORT_INIT;
    int error = opening_from(&f, bloomfile_from_path(r->path), BLOOMFILE_OPEN_WRITE | r->open_flags,
                             OPENING_ANY, &why);
    const uint8_t *watermark = r->metadata.given.watermark;
    if (error == BLOOMFILE_ESEALED && watermark != NULL)
        cli_fail(0,
                 "cannot store a watermark in %s: it is already sealed (write a copy: name DEST)",
                 r->path);
    if (error == BLOOMFILE_ESEALED) {
        if (!r->quiet)
            cli_note(0, "%s: already sealed", r->path);
        if (report_wanted(&r->report))
            report(r, r->path);
        return;
    }
    if (error != 0)
        message_cannot_open(r->path, &why);
    progress(r, &p);
    error = bloomfile_seal(f, watermark);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    bool is_poisoned = bloomfile_check(f) == BLOOMFILE_EPOISONED;
    bloomfile_close(f);
    if (error == EBUSY)
        cli_fail(0,
                 "cannot seal %s: other programs have it open for writing (to make a sealed copy, "
                 "name DEST)",
                 r->path);
    if (error == BLOOMFILE_EISSERIES)
        cli_fail(0,
                 "cannot seal %s in place: it is a series of layers in several files (seal it to "
                 "one file: bfseal %s "
                 "DEST)",
                 r->path, r->path);
    if (error == BLOOMFILE_EREPLACED)
        cli_fail(
            0,
            "%s was replaced or removed during sealing; the file at that path is not the sealed"
            " filter",
            r->path);
    if (error != 0 && info.state == BLOOMFILE_STATE_SEALED && !is_poisoned)
        cli_fail(0,
                 "%s is sealed, but the last write of its header failed: %s (copy it to another "
                 "disk, and check the copy with bfinspect --verify)",
                 r->path, bloomfile_strerror(error));
    if (error != 0 && is_poisoned)
        cli_fail(0, "cannot seal %s: %s (rebuild it from all its keys)", r->path,
                 bloomfile_strerror(error));
    if (error != 0)
        message_fail(error, "cannot seal", r->path);
    cli_progress_end(&p);
    report(r, r->path);
}

/* -------------------------------------------------------------------------------------- a copy */

/* Whether the source caused the error, not the writing of the copy. */
static bool is_of_source(const bloomfile_filter *f, int error)
{
    return error == BLOOMFILE_EPAGE || error == BLOOMFILE_EBODY || error == BLOOMFILE_EPOISONED ||
           error == BLOOMFILE_ECHANGED || error == bloomfile_check(f);
}

static int copy(const struct request *r, bloomfile_filter *f)
{
    const struct lost_keys lost = { r->dest, r->path, f, r->force, r->discard };
    destination_hold(r->dest, f);
    destination_check_again(r->dest);
    lost_keys_check(&lost);
    struct bloomfile_destination to = destination_of(r->dest, r->force);
    const struct bloomfile_metadata *given = &r->metadata.given;
    return r->project ? bloomfile_project(&to, f, given) : bloomfile_copy_sealed(&to, f, given);
}

static void seal_copy(struct request *r)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct cli_progress p;
    bloomfile_filter *f = opening_must(r->path, r->open_flags, OPENING_ANY);
    const bool same = same_file_is(r->dest, r->path);
    if (destination_is_stdout(r->dest) && same_file_is_filter(r->dest, r->path))
        cli_fail(0, "cannot write to standard output: it is the filter to seal");
    if (same)
        cli_fail(0, "cannot create %s: it is the filter to seal (%s)", r->dest,
                 bloomfile_layers(f) > 0 ? "name another file" : "leave DEST out");
    message_order = "DEST comes last: bfseal FILE DEST";
    destination_check(r->dest, true);
    bloomfile_get_info(f, &info);
    if (r->project && bloomfile_traits_of(info.layout)->projection == 0)
        cli_fail(BLOOMFILE_ENOTCOUNTING, "cannot project %s", r->path);
    progress(r, &p);
    const int error = copy(r, f);
    if (error != 0 && is_of_source(f, error))
        message_fail(error, "cannot copy", r->path);
    if (error != 0)
        destination_fail(r->dest, error);
    cli_progress_end(&p);
    bloomfile_close(f);
    if (!destination_is_stdout(r->dest))
        report(r, r->dest);
}

int main(int argc, char **argv)
{
    struct request r = { .metadata = PARAMS_METADATA_INIT };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    report_open(&r.report, NULL, r.dest, NULL);
    cli_catch_bus_error(r.path);
    if (r.dest == NULL)
        seal_in_place(&r);
    else
        seal_copy(&r);
    report_close(&r.report);
    cli_close_stdout();
    return 0;
}
