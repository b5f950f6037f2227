/* SPDX-License-Identifier: MIT
 * Options for splitting inputs into keys; the default is at line ends. */
#ifndef TOOLS_KEYS_KEYS_OPTIONS_H
#define TOOLS_KEYS_KEYS_OPTIONS_H

#include "cli/options.h"
#include "keys/fields.h"
#include "keys/form.h"
#include "keys/json.h"

struct keys_options {
    bool null;            /* keys end with '\0', not '\n'; the last key may lack it */
    size_t record_size;   /* bytes of each key; 0: keys are text */
    bool crlf;            /* lines: a '\r' before the end is not part of the key */
    bool packed;          /* decompress gzip and zstd input */
    bool keep_going;      /* after an error of an input, warn and read the next input */
    const char *missing;  /* replaces the text of ENOENT when an input is opened; or NULL */
    bool as_is;           /* do not check that an input holds keys, or that keys fit the filter */
    bool stoppable;       /* stop reading after an interrupt_signal (interrupt.h) */
    size_t piece_size;    /* of a keys_piece; 0: 1 MiB */
    size_t piece_least;   /* bytes to wait for, except at the end of an input; 0: do not wait */
    struct fields fields; /* the fields of a record that are its key */
    struct key_form key_form;
    bool numbered;      /* the tool needs line numbers */
    char *const *given; /* whole keys from the command line, read before the inputs */
    int given_count;
};

/* Options that tools share. Their request has a struct keys_options. */
#define KEYS_FORM_OPTIONS(request, form)                                                           \
    OPTION('i', "lower", NULL, "ignore the case of keys (ASCII)",                                  \
           OPTIONS_FLAG(request, form.lower), .rival = 'i'),                                       \
        OPTION(0, "hex", NULL, "keys are hexadecimal, of either case; use their bytes",            \
               OPTIONS_FLAG(request, form.hex), .rival = 'i'),                                     \
        OPTION(0, "integers", NULL, "keys are decimal integers, or with -x 8 binary integers",     \
               OPTIONS_FLAG(request, form.integers), .rival = 'i'),                                \
        OPTION(0, "domains", NULL,                                                                 \
               "keys are domain names; bfquery also looks up the parents of each",                 \
               OPTIONS_FLAG(request, form.domains), .rival = 'i'),                                 \
        OPTION(0, "key-size", "N",                                                                 \
               "refuse keys that do not have N bytes; with --hex, N decoded bytes",                \
               OPTIONS_COUNT(request, form.key_size, "bytes", 1, BLOOMFILE_MAX_KEY_SIZE))

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
               OPTIONS_FLAG(request, field.as_is)),                                                \
        KEYS_FORM_OPTIONS(request, field.key_form)

/* Options of tools whose keys may be fields. Such tools call keys_options_check(). */
#define KEYS_FIELDS_OPTIONS(request, field)                                                        \
    OPTION(0, "field", "N",                                                                        \
           "use field N of each line as the key, or the column of that name in the header; 3,1 "   \
           "or id,name joins two fields",                                                          \
           OPTIONS_CALL(request, field.fields, fields_take), .value = OPTIONS_A_TEXT),             \
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

#define KEYS_JSON_OPTION(request, field)                                                           \
    OPTION(0, "json", "PATH",                                                                      \
           "input is JSON lines; the value at PATH (text, a.b, /a/0) is the key",                  \
           OPTIONS_CALL(request, field.fields, json_take_path), .value = OPTIONS_A_TEXT)

#define KEYS_ALL_OPTIONS(request, field)                                                           \
    KEYS_OPTIONS(request, field), KEYS_FIELDS_OPTIONS(request, field),                             \
        KEYS_HEADER_OPTION(request, field), KEYS_CSV_OPTION(request, field),                       \
        KEYS_JSON_OPTION(request, field)

/* Ends the program through cli_usage() if options are mutually exclusive. */
static inline void keys_options_check(struct keys_options *options)
{
    fields_check(&options->fields, options->null ? '\0' : '\n', options->record_size > 0);
    key_form_check(&options->key_form, &options->fields, options->record_size);
}

/* Returns these options for a file that lists whole keys. An error in that file ends the
 * program. */
static inline struct keys_options keys_options_of_list(const struct keys_options *options)
{
    struct keys_options list = *options;
    list.keep_going = false;
    list.fields = (struct fields){ 0 };
    list.given_count = 0;
    return list;
}

/* Returns the form of the keys; NULL if they are not converted. Binary integers are not
 * converted. */
static inline const struct key_form *keys_options_form(const struct keys_options *options)
{
    const struct key_form *f = &options->key_form;
    return key_form_is_set(f) && !(f->integers && options->record_size > 0) ? f : NULL;
}

/* Whether a '\r' before the end of a record is not part of it. */
static inline bool keys_strip_cr(const struct keys_options *options)
{
    return options->crlf || options->fields.csv;
}

/* Whether keys differ from their records. */
static inline bool keys_are_made(const struct keys_options *options)
{
    return options->fields.count > 0 || keys_options_form(options) != NULL;
}

static inline bool keys_are_lines(const struct keys_options *options)
{
    return !options->null && options->record_size == 0;
}

/* The byte that ends a text key. */
static inline char keys_end(const struct keys_options *options)
{
    return options->null ? '\0' : '\n';
}

#endif
