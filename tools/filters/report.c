/* SPDX-License-Identifier: MIT
 * --report: JSON objects, one per line. */
#include "filters/report.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/same_file.h"

#include <stdlib.h>
#include <string.h>

bool report_is_stdout(const struct report *r)
{
    return report_wanted(r) && strcmp(r->file.path, "-") == 0;
}

void report_open(struct report *r, const struct names *inputs, const char *output,
                 const char *holds)
{
    if (!report_wanted(r))
        return;
    if (report_is_stdout(r) && holds != NULL)
        cli_usage("--report takes the name of a file: standard output has %s", holds);
    if (inputs != NULL)
        same_file_check_names(r->file.path, inputs);
    if (output != NULL)
        same_file_check_outputs(r->file.path, output);
    if (holds != NULL)
        same_file_check_outputs(r->file.path, "-");
    r->file.what = "the report";
    if (!report_is_stdout(r))
        side_file_open(&r->file);
}

void report_put(struct report *r, json *object)
{
    size_t size;
    char *line = json_line(object, &size);
    if (report_is_stdout(r)) {
        cli_write(line, size);
        const int error = cli_flush_stdout();
        if (error != 0)
            cli_fail(error, "cannot write to standard output");
    } else {
        side_file_begin(&r->file);
        side_file_write(&r->file, line, size);
    }
    free(line);
}

void report_close(struct report *r)
{
    if (!report_is_stdout(r))
        side_file_close(&r->file);
}

void report_put_measure(json *object, const struct bloomfile_measurement *measure)
{
    if (measure == NULL) {
        json_put_null(object, "measure");
        return;
    }
    json *value = json_new();
    json_put_count(value, "ones", measure->ones);
    json_put_double(value, "fill", measure->fill);
    json_put_double(value, "fpr", measure->fpr);
    json_put_double(value, "keys_estimate", measure->keys_estimate);
    json_put(object, "measure", value);
}

/* The names of the members are those of bfinspect's JSON. */
json *report_of_filter(const char *path, const struct bloomfile_info *info,
                       const struct bloomfile_measurement *measure)
{
    json *object = json_new();
    json_put_name(object, "file", path);
    json_put_count(object, "size", info->rest_size > 0 ? info->rest_size : info->image_size);
    json_put_text(object, "layout", bloomfile_layout_name(info->layout));
    json_put_count(object, "m", info->bits);
    json_put_count(object, "k", info->hashes);
    json_put_count(object, "capacity", info->capacity);
    json_put_double(object, "fpr", info->fpr);
    json_put_count(object, "n", info->keys);
    json_put_bool(object, "n_estimated", info->keys_estimated != 0);
    if (info->layers > 0)
        json_put_null(object, "expected_fpr");
    else
        json_put_double(object, "expected_fpr", message_expected(info, info->keys));
    report_put_measure(object, measure);
    return object;
}
