/* SPDX-License-Identifier: MIT
 * --report: the results of a run as JSON, written after the run succeeded. */
#ifndef TOOLS_FILTERS_REPORT_H
#define TOOLS_FILTERS_REPORT_H

#include "cli/json.h"
#include "cli/names.h"
#include "filters/side_file.h"

#include <bloomfile_inspect.h>

/* Initialize to zero. If the path is NULL, the functions below do nothing. */
struct report {
    struct side_file file; /* the path "-" is standard output */
};

#define REPORT_OPTION(request, field)                                                              \
    OPTION(0, "report", "FILE", "write the results as JSON to FILE ('-': standard output)",        \
           OPTIONS_STRING(request, field.file.path, "the name of a file"),                         \
           .value = OPTIONS_A_FILE)

static inline bool report_wanted(const struct report *r)
{
    return r->file.path != NULL;
}

bool report_is_stdout(const struct report *r);

/* Call this before the inputs are read. Ends the program if the file cannot be written, or is any
 * of
 *   inputs  files to read, and lists of their names; empty: standard input; may be NULL
 *   output  the tool's other output; may be NULL
 * `holds` describes the tool's standard output; NULL: standard output is free for the report. */
void report_open(struct report *r, const struct names *inputs, const char *output,
                 const char *holds);

/* Writes an object and frees it. */
void report_put(struct report *r, json *object);

/* Call this after the last object. The caller closes standard output. */
void report_close(struct report *r);

/* Returns an object that describes a filter; `measure` is NULL if its bits were not counted. */
json *report_of_filter(const char *path, const struct bloomfile_info *info,
                       const struct bloomfile_measurement *measure);

/* Adds the member "measure"; NULL adds null. */
void report_put_measure(json *object, const struct bloomfile_measurement *measure);

#endif
