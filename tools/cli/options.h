/* SPDX-License-Identifier: MIT
 * A tool's command line as one table: its options, the fields that receive their values, and the
 * text of --help. Each tool defines its own request struct, and the table names its fields. */
#ifndef TOOLS_CLI_OPTIONS_H
#define TOOLS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPTIONS_MOST = 56,
    OPTIONS_USAGES = 5,
    OPTIONS_OPERANDS = 4
};

enum options_kind {
    OPTIONS_IS_FLAG,
    OPTIONS_IS_BITS,
    OPTIONS_IS_COUNT,
    OPTIONS_IS_RATE,
    OPTIONS_IS_STRING,
    OPTIONS_IS_WORD,
    OPTIONS_IS_CALL,
    OPTIONS_IS_HELP,
    OPTIONS_IS_VERSION,
};

/* The kind of object that a value or an operand names, for the shells' completions
 * (tools/completions). */
enum options_value {
    OPTIONS_UNSAID, /* for numbers, rates and words, whose targets imply it */
    OPTIONS_A_TEXT, /* text that a shell cannot complete */
    OPTIONS_A_FILE,
    OPTIONS_A_FILTER,
    OPTIONS_A_PATCH,
    OPTIONS_A_FOLDER,
};

/* The effect of an option on the request. Use the macros below. */
struct options_target {
    enum options_kind kind;
    size_t at, size;
    size_t undone;      /* FLAG: offset of the bool that becomes false */
    unsigned bits;      /* BITS */
    uint64_t min, max;  /* COUNT */
    double most;        /* RATE: the limit: 1 allows exactly 1, a smaller value does not */
    const char *wanted; /* COUNT: "bytes"; STRING: "the name of a file", which may not be empty */
    const char *(*word)(uint32_t value); /* WORD */
    void (*call)(void *field, char *value);
};

struct options_entry {
    char letter;                /* 0: no short form */
    const char *name, *metavar; /* metavar NULL: the option does not take a value */
    const char *help;           /* if name is NULL: the title of the options that follow */
    struct options_target to;
    char rival; /* options with the same rival, unless 0, are mutually exclusive */
    enum options_value value;
    const char *special; /* another word that is a valid value, or NULL */
};

struct options_operand {
    const char *name; /* as in the usage lines */
    enum options_value value;
};

struct options {
    const char *usages[OPTIONS_USAGES]; /* "[options] FILE": the usage after the tool's name */
    struct options_operand operands[OPTIONS_OPERANDS]; /* all operands in the usage lines */
    const char *about;                   /* about and notes are wrapped; '\n' begins a new line */
    const struct options_entry *entries; /* OPTIONS_MOST entries; OPTIONS_END comes last */
    const char *notes;
    const char *examples; /* printed unchanged */
};

/* Parses the options of a command line and moves the operands to its end. Returns the index of the
 * first operand. --help and --version end the program; a mistake ends it through cli_usage(). If an
 * option is repeated, its last value counts. A repeated string is refused instead, because the
 * first value, such as a file's name, would be lost. */
int options_parse(const struct options *o, void *request, int argc, char **argv);

/* Prints the text of --help to stdout and exits with 0. */
_Noreturn void options_help(const struct options *o);

/* ---- entries */

#define OPTIONS_TITLE(text)                                                                        \
    {                                                                                              \
        .help = (text)                                                                             \
    }

#define OPTION(option_letter, option_name, option_metavar, text, ...)                              \
    {                                                                                              \
        .letter = (option_letter), .name = (option_name), .metavar = (option_metavar),             \
        .help = (text), .to = __VA_ARGS__                                                          \
    }

#define OPTIONS_END                                                                                \
    OPTION('h', "help", NULL, "print this help and exit", { .kind = OPTIONS_IS_HELP }),            \
        OPTION(0, "version", NULL, "print the version and exit", { .kind = OPTIONS_IS_VERSION })

/* ---- targets: `field` is a member of the struct `request` */

#define OPTIONS_PLACE(request, field, type)                                                        \
    .at = _Generic(((request *)0)->field, type                                                     \
                   : offsetof(request, field)),                                                    \
    .size = sizeof(((request *)0)->field)

/* Sets a bool. */
#define OPTIONS_FLAG(request, field) OPTIONS_INSTEAD(request, field, field)

/* Sets a bool and clears another. */
#define OPTIONS_INSTEAD(request, field, other)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_FLAG, OPTIONS_PLACE(request, field, bool),                              \
        .undone = offsetof(request, other)                                                         \
    }

/* Sets bits of an unsigned. */
#define OPTIONS_BITS(request, field, more)                                                         \
    {                                                                                              \
        .kind = OPTIONS_IS_BITS, OPTIONS_PLACE(request, field, unsigned), .bits = (more)           \
    }

/* An unsigned integer of 32 or 64 bits, from `least` to `greatest`. `unit`, such as "bytes",
 * appears in messages; NULL: a plain number. */
#define OPTIONS_COUNT(request, field, unit, least, greatest)                                       \
    {                                                                                              \
        .kind = OPTIONS_IS_COUNT, .at = offsetof(request, field),                                  \
        .size = sizeof(((request *)0)->field), .wanted = (unit), .min = (least), .max = (greatest) \
    }

/* A double above 0 and below 1. If `greatest` is 1, exactly "1" is allowed too. */
#define OPTIONS_RATE(request, field, greatest)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_RATE, OPTIONS_PLACE(request, field, double), .most = (greatest)         \
    }

/* A char * or const char *. `what` describes the value if it may not be empty; otherwise NULL. The
 * entry continues with `.value = OPTIONS_A_FILE` or the like. */
#define OPTIONS_STRING(request, field, what)                                                       \
    {                                                                                              \
        .kind = OPTIONS_IS_STRING, .at = offsetof(request, field), .wanted = (what)                \
    }

/* A uint32_t: the number of a word. function(1), function(2), ... return the words; "" is not
 * accepted, and NULL ends the list. */
#define OPTIONS_WORD(request, field, function)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_WORD, OPTIONS_PLACE(request, field, uint32_t), .word = (function)       \
    }

/* Calls a function with the address of the field and the value. `.value` as for a string. */
#define OPTIONS_CALL(request, field, function)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_CALL, .at = offsetof(request, field), .call = (function)                \
    }

#endif
