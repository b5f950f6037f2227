/* SPDX-License-Identifier: MIT
 *
 * --report: the results of a run for programs, as JSON. It is written when the run has succeeded.
 */
#ifndef TOOLS_FILTERS_REPORT_H
#define TOOLS_FILTERS_REPORT_H

#include "cli/json.h"
#include "filters/side_file.h"

#include <bloomfile_inspect.h>

/* Begins as all zero. Without a path, nothing below does anything. */
struct report {
    struct side_file file; /* its path "-" is standard output */
};

#define REPORT_OPTION(request, field)                                                              \
    OPTION(0, "report", "FILE", "write the results as JSON to FILE ('-': standard output)",        \
           OPTIONS_STRING(request, field.file.path, "the name of a file"),                         \
           .value = OPTIONS_A_FILE)

static inline bool report_wanted(const struct report *r)
{
    return r->file.path != NULL;
}

/* Before the inputs are read: checks that the file can be written, that it is not an input, and not
 * the tool's output (NULL: none). `holds` is what standard output has; NULL: nothing. */
void report_open(struct report *r, char *const *inputs, int count, const char *output,
                 const char *holds);

/* Writes an object, and frees it. */
void report_put(struct report *r, json *object);

/* After the last object; standard output is closed by the caller. */
void report_close(struct report *r);

/* An object that describes a filter; `measure` is NULL if its bits were not counted. */
json *report_of_filter(const char *path, const struct bloomfile_info *info,
                       const struct bloomfile_measurement *measure);

/* The member "measure"; NULL: null. */
void report_put_measure(json *object, const struct bloomfile_measurement *measure);

#endif
