/* SPDX-License-Identifier: MIT
 * The delimiting of keys in inputs: lines, unless an option says otherwise. */
#ifndef TOOLS_KEYS_KEYS_OPTIONS_H
#define TOOLS_KEYS_KEYS_OPTIONS_H

#include "cli/options.h"
#include "keys/fields.h"
#include "keys/json.h"

struct keys_options {
    bool null;          /* keys end at '\0', not at '\n'; the last may lack either */
    size_t record_size; /* keys are of that many bytes each; 0: text */
    bool crlf;          /* lines: a '\r' before the end is no part of the key */
    bool lower;         /* letters A to Z of a key become a to z, in the piece too */
    bool packed;        /* gzip and zstd data are unpacked */
    bool keep_going;    /* trouble with an input is a message, and the next one is read */
    bool as_is;         /* every input is taken for keys, and keys for those of the filter */
    bool stoppable;     /* once there is an interrupt_signal (interrupt.h), nothing more is read */
    size_t piece_size;  /* of a keys_piece, from 1; 0: a MiB */
    size_t piece_least; /* bytes to wait for, but at the end of an input; 0: what comes will do */
    struct fields fields; /* the keys in what is cut out */
    bool numbered;        /* the numbers of lines are asked for */
    bool no_csv;          /* the tool has no such option */
    char *const *given;   /* whole keys from the command line, which come first */
    int given_count;
};

/* The options that tools share, for a struct keys_options in their request. */
#define KEYS_OPTIONS(request, field)                                                               \
    OPTION('0', "null", NULL, "keys end with NUL instead of newline",                              \
           OPTIONS_FLAG(request, field.null), .rival = 'k'),                                       \
        OPTION('x', "record-size", "N", "keys are binary records of N bytes",                      \
               OPTIONS_COUNT(request, field.record_size, "bytes", 1, PTRDIFF_MAX), .rival = 'k'),  \
        OPTION(0, "crlf", NULL, "lines end with CR LF; the CR is not part of the key",             \
               OPTIONS_FLAG(request, field.crlf), .rival = 'k'),                                   \
        OPTION('Z', "decompress", NULL, "decompress gzip and zstd input",                          \
               OPTIONS_FLAG(request, field.packed)),                                               \
        OPTION(0, "as-is", NULL, "treat every input as keys; never warn or refuse",                \
               OPTIONS_FLAG(request, field.as_is))

/* Those of tools whose keys may be fields; keys_options_check() then. */
#define KEYS_FIELDS_OPTIONS(request, field)                                                        \
    OPTION(0, "field", "N", "use field N of each line as the key; 3,1 joins two fields",           \
           OPTIONS_CALL(request, field.fields, fields_take_numbers), .value = OPTIONS_A_TEXT),     \
        OPTION(0, "delimiter", "C", "field delimiter, one byte (default: tab)",                    \
               OPTIONS_CALL(request, field.fields, fields_take_delimiter),                         \
               .value = OPTIONS_A_TEXT),                                                           \
        OPTION(0, "missing", "WHAT",                                                               \
               "if a line lacks the field: 'error' (default), 'skip' the line, or use an 'empty' " \
               "field",                                                                            \
               OPTIONS_WORD(request, field.fields.missing, fields_missing))

#define KEYS_HEADER_OPTION(request, field)                                                         \
    OPTION(0, "header", NULL, "the first line of each input is a header, not a key",               \
           OPTIONS_FLAG(request, field.fields.header))

#define KEYS_CSV_OPTION(request, field)                                                            \
    OPTION(0, "csv", NULL, "input is CSV (RFC 4180): comma-separated, fields may be quoted",       \
           OPTIONS_FLAG(request, field.fields.csv))

#define KEYS_JSON_OPTION(request, field, name)                                                     \
    OPTION(0, name, "PATH", "input is JSON lines; the value at PATH (text, a.b, /a/0) is the key", \
           OPTIONS_CALL(request, field.fields, json_take_path), .value = OPTIONS_A_TEXT)

/* `json` is the name of that option: in bfinspect, --json is the output. */
#define KEYS_ALL_OPTIONS(request, field, json)                                                     \
    KEYS_OPTIONS(request, field), KEYS_FIELDS_OPTIONS(request, field),                             \
        KEYS_HEADER_OPTION(request, field), KEYS_CSV_OPTION(request, field),                       \
        KEYS_JSON_OPTION(request, field, json)

/* Ends the program by cli_usage() if they do not go together. */
static inline void keys_options_check(struct keys_options *options)
{
    fields_check(&options->fields, options->null ? '\0' : '\n', options->record_size > 0);
    options->crlf = options->crlf || options->fields.csv;
}

static inline bool keys_are_lines(const struct keys_options *options)
{
    return !options->null && options->record_size == 0;
}

/* What text ends with. */
static inline char keys_end(const struct keys_options *options)
{
    return options->null ? '\0' : '\n';
}

#endif
