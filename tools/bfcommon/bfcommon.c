/* SPDX-License-Identifier: MIT
 * bfcommon - print the lines that files have in common, or that only the first file has */
#include "bfcommon/join.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "filters/params.h"
#include "filters/same_file.h"
#include "os/file.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LEAST_MEMORY   (UINT64_C(16) << 20)
#define DEFAULT_MEMORY (UINT64_C(1) << 30)

enum {
    MAP_FROM = 1 << 17,
    ROOM = 1 << 18
};
enum {
    LEAST_LINE = 1 << 10 /* a line is sorted with its key, which is at most this much longer */
};
enum {
    OTHER_DESCRIPTORS = 16, /* standard streams and descriptors for sorting */
    LEAST_DESCRIPTORS = OTHER_DESCRIPTORS + 2
};
enum {
    SOME = 0,
    NONE = 1
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION('d', "difference", NULL, "print the lines that only the first FILE has",
           OPTIONS_FLAG(struct job, difference)),
    OPTIONS_TITLE("Input:"),
    KEYS_OPTIONS(struct job, form),
    KEYS_FIELDS_OPTIONS(struct job, form),
    OPTION('1', "field1", "N", "use this field of the first FILE, instead of --field",
           OPTIONS_CALL(struct job, first, fields_take), .value = OPTIONS_A_TEXT),
    OPTION('2', "field2", "N", "use this field of all other FILEs",
           OPTIONS_CALL(struct job, others, fields_take), .value = OPTIONS_A_TEXT),
    KEYS_HEADER_OPTION(struct job, form),
    KEYS_CSV_OPTION(struct job, form),
    KEYS_JSON_OPTION(struct job, form),
    NAMES_FROM_OPTION(struct job, names),
    OPTIONS_TITLE("Output:"),
    OPTION('c', "count", NULL, "print only the number of lines",
           OPTIONS_FLAG(struct job, count_only)),
    OPTION(0, "stats", NULL, "report on standard error how much each pass read and kept",
           OPTIONS_FLAG(struct job, stats)),
    REPORT_OPTION(struct job, report),
    OPTIONS_TITLE("Resources:"),
    OPTION(0, "memory", "SIZE",
           "memory limit; beyond it, use temporary files (default 1Gi, at least 16Mi)",
           OPTIONS_COUNT(struct job, memory, "bytes", LEAST_MEMORY, UINT64_MAX / 2)),
    OPTION(0, "temp", "DIR", "folder for temporary files (default $TMPDIR or /tmp)",
           OPTIONS_STRING(struct job, folder, "the name of a folder"), .value = OPTIONS_A_FOLDER),
    OPTIONS_TITLE("Other:"),
    OPTION('q', "quiet", NULL, PARAMS_QUIET_KEYS, OPTIONS_FLAG(struct job, quiet)),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE FILE..." },
    .operands = { { "FILE", OPTIONS_A_FILE } },
    .about =
        "Print the lines that all FILEs have in common, each once, sorted bytewise. The result is"
        " exact. FILEs may be unsorted, larger than memory, or pipes; '-' is standard input.",
    .entries = entries,
    .notes = PARAMS_NUMBERS ".\n"
                            "Exit status: 0 if a line was found, 1 if not, 2 on error.",
    .examples = "  bfcommon monday.urls tuesday.urls             urls seen on both days\n"
                "  bfcommon -d today.urls *.old                  urls of today that are new\n"
                "  bfcommon --memory 4Gi --stats a.urls b.urls c.urls\n"
                "  bfcommon -cZ a.txt b.gz                       number of lines in both\n",
};

/* --------------------------------------------------------------------------------- command line */

static void check_operands(char *const *paths, int count)
{
    int standard = 0;
    if (count < 2)
        cli_usage("at least two files are needed");
    for (int i = 0; i < count; i++)
        standard += strcmp(paths[i], "-") == 0;
    if (standard > 1)
        cli_usage("standard input can be only one of the files");
}

/* Applies -1 and -2, which have the meaning they have in join(1). */
static void choose_fields(struct job *job)
{
    const bool any = job->first.count > 0 || job->others.count > 0;
    if (any && job->form.fields.json != NULL)
        cli_usage("a JSON path and -1 or -2 are mutually exclusive");
    job->first_form = job->form;
    if (job->first.count > 0)
        fields_choose(&job->first_form.fields, &job->first);
    if (job->others.count > 0)
        fields_choose(&job->form.fields, &job->others);
    if (job->first_form.fields.count != job->form.fields.count)
        cli_usage("the first file and the others need the same number of fields (-1 and -2)");
    keys_options_check(&job->first_form);
    keys_options_check(&job->form);
    job->form.fields.header = job->form.fields.header || job->first_form.fields.header;
    job->first_form.fields.header = job->form.fields.header;
}

static void parse(struct job *job, int argc, char **argv)
{
    const int first = options_parse(&options, job, argc, argv);
    if (job->memory > SIZE_MAX / 4)
        job->memory = SIZE_MAX / 4; /* limit of 32-bit systems */
    choose_fields(job);
    job->form.key_form.text = job->first_form.key_form.text = true; /* sort keys as text */
    names_read(&job->names, argv + first, argc - first);
    check_operands(job->names.list, job->names.count);
    same_file_check_names("-", &job->names);
    cli_check_stdout();
    report_open(&job->report, &job->names, NULL,
                job->count_only && report_is_stdout(&job->report) ? NULL : "the lines");
    if (job->form.record_size >= memory_of_key(job->memory))
        cli_fail(0, "records of %zu bytes need more --memory", job->form.record_size);
}

/* ----------------------------------------------------------------------------------------- work */

static int by_size(const void *a, const void *b)
{
    uint64_t x = input_size(a), y = input_size(b);
    return (x > y) - (x < y);
}

/* Raises the soft limit of descriptors to the hard limit. Returns it. */
static size_t most_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return LEAST_DESCRIPTORS;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = before;
    return limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

static void check_pipes(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (input_is_same_pipe(&job->inputs[i], &job->inputs[j]))
                cli_usage("%s and %s are the same pipe", job->inputs[j].where.name,
                          job->inputs[i].where.name);
        }
    }
}

/* An input needs two descriptors: its own, and one for its kept lines. If there are not enough
 * for all inputs, inputs are open only while they are read, and `at_once` limits how many are
 * compared at a time. */
static void open_input(struct job *job, size_t i, const char *path, size_t descriptors)
{
    struct input *in = &job->inputs[i];
    const size_t limit = memory_of_key(job->memory);
    const size_t line = limit / (job->form.fields.csv ? 4 : 2) - LEAST_LINE; /* for escapes */
    input_open(in, path, i == 0 ? &job->first_form : &job->form,
               keys_are_made(&job->form) ? line : limit);
    if (job->header != NULL)
        in->where.header = &job->header[job->form.fields.count > 0 ? i : 0];
    if (job->count > descriptors / 2 - OTHER_DESCRIPTORS / 2 && input_can_take_turns(in))
        input_take_turns(in);
    else if (job->at_once > 2)
        job->at_once--;
}

/* Opens the inputs. The first input's filter is the largest, so the smallest file comes first if
 * order does not matter. It matters if keys are made: then lines of the first file are printed. */
static void open_inputs(struct job *job, char *const *paths, int count)
{
    const size_t all = most_descriptors();
    const size_t descriptors = all > LEAST_DESCRIPTORS ? all : LEAST_DESCRIPTORS;
    job->count = (size_t)count;
    job->at_once = descriptors - OTHER_DESCRIPTORS;
    job->inputs = calloc(job->count, sizeof(*job->inputs));
    if (job->inputs == NULL)
        cli_fail(ENOMEM, "cannot start");
    for (size_t i = 0; i < job->count; i++)
        open_input(job, i, paths[i], descriptors);
    check_pipes(job);
    if (!job->difference && !keys_are_made(&job->form))
        qsort(job->inputs, job->count, sizeof(*job->inputs), by_size);
}

static void check_unchanged(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        input_check_unchanged(&job->inputs[i]);
}

/* Compares as many inputs at a time as the descriptors allow. Their common lines then become
 * the first of the remaining inputs. `kept` has room for each input. Returns how many lines
 * the last round printed, or put into the spool. The first input stays open if its lines are
 * still needed. */
static uint64_t find_common_by_turns(const struct job *job, struct spool **kept, struct spool *into)
{
    struct job part = *job;
    struct input first = job->inputs[0];
    for (size_t done = 1;; done += part.count - 1) {
        const size_t left = job->count - done + 1;
        part.count = left < job->at_once ? left : job->at_once;
        part.inputs = &job->inputs[done - 1];
        part.inputs[0] = first;
        const bool some = passes_common(&part, kept), last = part.count == left;
        if (last || !some) {
            check_unchanged(job);
            return some ? join_common(&part, kept, into) : 0;
        }
        struct spool *common = spool_new(job->folder, &job->form);
        join_common(&part, kept, common);
        first = input_of_spool(common, ROOM);
        for (size_t i = keys_are_made(&job->form) && done == 1 ? 1 : 0; i < part.count; i++) {
            input_check_unchanged(&part.inputs[i]);
            input_close(&part.inputs[i]);
            part.inputs[i] = (struct input){ .where = { .fd = -1 } };
        }
    }
}

static uint64_t find_common(const struct job *job, struct spool *into)
{
    struct spool **kept = calloc(job->count, sizeof(struct spool *));
    if (kept == NULL)
        cli_fail(ENOMEM, "cannot start");
    const uint64_t lines = find_common_by_turns(job, kept, into);
    for (size_t i = 0; i < job->count; i++)
        input_check_header(&job->inputs[i]);
    free(kept);
    return lines;
}

static uint64_t find_difference(const struct job *job, struct spool *into)
{
    struct parts parts = passes_difference(job);
    check_unchanged(job);
    return join_difference(job, &parts, into);
}

static uint64_t find(const struct job *job)
{
    struct spool *keys = keys_are_made(&job->form) ? spool_new(job->folder, &job->form) : NULL;
    uint64_t lines = job->difference ? find_difference(job, keys) : find_common(job, keys);
    if (keys != NULL && lines > 0)
        lines = whole_lines(job, &job->inputs[0], keys);
    else
        spool_free(keys);
    if (lines == 0)
        join_print_header(job);
    return lines;
}

static struct header_line *headers_new(size_t count)
{
    struct header_line *headers = calloc(count, sizeof(*headers));
    if (headers == NULL)
        cli_fail(ENOMEM, "cannot start");
    return headers;
}

/* Warns if headers name the key differently. That is not an error: the columns may still agree. */
static void compare_headers(const struct job *job)
{
    if (job->first.count > 0 || job->others.count > 0 || job->form.fields.named)
        return;
    for (size_t i = 1; i < job->count; i++) {
        if (!header_line_has_same_key(&job->header[0], &job->header[i], &job->form.fields,
                                      keys_strip_cr(&job->form)))
            cli_warn("%s: its header and that of %s name the field differently",
                     job->inputs[i].where.name, job->inputs[0].where.name);
    }
}

static void headers_free(const struct job *job)
{
    for (size_t i = 0; job->header != NULL && i < job->count; i++)
        free(job->header[i].bytes);
    free(job->header);
}

int main(int argc, char **argv)
{
    struct job job = { .memory = DEFAULT_MEMORY, .folder = spool_folder(NULL) };
    cli_start(argv[0]);
    parse(&job, argc, argv);
    if (job.form.fields.header)
        job.header = headers_new((size_t)job.names.count);
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, MAP_FROM); /* so that freed memory returns to the system */
#endif
    job.quiet = job.quiet || (!job.count_only && isatty(STDOUT_FILENO));
    open_inputs(&job, job.names.list, job.names.count);

    uint64_t lines = find(&job);
    if (job.header != NULL && job.form.fields.count > 0 && !job.quiet)
        compare_headers(&job);
    if (job.count_only)
        cli_print("%" PRIu64 "\n", lines);
    if (job.stats)
        cli_note(0, "%" PRIu64 " line%s found", lines, cli_s(lines));
    if (report_wanted(&job.report)) {
        json *object = json_new();
        json_put_count(object, "files", job.count);
        json_put_count(object, "found", lines);
        report_put(&job.report, object);
    }
    report_close(&job.report);
    cli_close_stdout();
    for (size_t i = 0; i < job.count; i++)
        input_close(&job.inputs[i]);
    free(job.inputs);
    headers_free(&job);
    names_free(&job.names);
    return lines > 0 ? SOME : NONE;
}
