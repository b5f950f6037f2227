/* SPDX-License-Identifier: MIT
 *
 * A tool's command line as one table: its options, the places of their values, and the text of
 * --help. The request is a struct of the tool's own, which the table writes into.
 */
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

/* What a value or an operand names: by this the shells complete it (tools/completions). */
enum options_value {
    OPTIONS_UNSAID, /* enough for numbers, rates and words, whose targets say it */
    OPTIONS_A_TEXT, /* nothing that a shell could know */
    OPTIONS_A_FILE,
    OPTIONS_A_FILTER,
    OPTIONS_A_PATCH,
    OPTIONS_A_FOLDER,
};

/* What an option does to the request; made by the macros below. */
struct options_target {
    enum options_kind kind;
    size_t at, size;
    size_t undone;      /* FLAG: where the one is that it takes back */
    unsigned bits;      /* BITS */
    uint64_t min, max;  /* COUNT */
    double most;        /* RATE: below 1, or this very number */
    const char *wanted; /* COUNT: "bytes"; STRING: "the name of a file", which may not be empty */
    const char *(*word)(uint32_t value); /* WORD */
    void (*call)(void *field, char *value);
};

struct options_entry {
    char letter;                /* 0: it has none */
    const char *name, *metavar; /* metavar NULL: it takes no value */
    const char *help;           /* without a name: the title above the options that follow */
    struct options_target to;
    char rival; /* those with the same one, which is not 0, are mutually exclusive */
    enum options_value value;
    const char *special; /* a word that is a value beside those of its kind, or NULL */
};

struct options_operand {
    const char *name; /* as in the usages */
    enum options_value value;
};

struct options {
    const char *usages[OPTIONS_USAGES]; /* "[options] FILE": what follows the tool's name */
    struct options_operand operands[OPTIONS_OPERANDS]; /* all that are in the usages */
    const char *about;                   /* this and `notes` are wrapped; '\n' begins a new line */
    const struct options_entry *entries; /* OPTIONS_MOST; OPTIONS_END are the last ones in use */
    const char *notes;
    const char *examples; /* as they are printed */
};

/* Takes the options of a command line and puts the operands behind them. Returns the index of the
 * first operand. --help and --version end the program, what is wrong does by cli_usage(). An option
 * may come several times, and its last value counts; but a string, such as a file that would be
 * forgotten, is refused the second time. */
int options_parse(const struct options *o, void *request, int argc, char **argv);

/* The text of --help on stdout, exit 0. */
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

/* ---- targets: `field` of the struct `request` */

#define OPTIONS_PLACE(request, field, type)                                                        \
    .at = _Generic(((request *)0)->field, type                                                     \
                   : offsetof(request, field)),                                                    \
    .size = sizeof(((request *)0)->field)

/* A bool becomes true. */
#define OPTIONS_FLAG(request, field) OPTIONS_INSTEAD(request, field, field)

/* The same, and another one becomes false. */
#define OPTIONS_INSTEAD(request, field, other)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_FLAG, OPTIONS_PLACE(request, field, bool),                              \
        .undone = offsetof(request, other)                                                         \
    }

/* An unsigned gets more bits. */
#define OPTIONS_BITS(request, field, more)                                                         \
    {                                                                                              \
        .kind = OPTIONS_IS_BITS, OPTIONS_PLACE(request, field, unsigned), .bits = (more)           \
    }

/* An unsigned integer of 32 or 64 bits: a number from `least` to `greatest`, or with `unit` "bytes"
 * of those. */
#define OPTIONS_COUNT(request, field, unit, least, greatest)                                       \
    {                                                                                              \
        .kind = OPTIONS_IS_COUNT, .at = offsetof(request, field),                                  \
        .size = sizeof(((request *)0)->field), .wanted = (unit), .min = (least), .max = (greatest) \
    }

/* A double above 0 and below 1, or `greatest` itself. */
#define OPTIONS_RATE(request, field, greatest)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_RATE, OPTIONS_PLACE(request, field, double), .most = (greatest)         \
    }

/* A char * or const char *; `what` it is, if it may not be empty, or NULL. The entry goes on with
 * `.value = OPTIONS_A_FILE` or the like. */
#define OPTIONS_STRING(request, field, what)                                                       \
    {                                                                                              \
        .kind = OPTIONS_IS_STRING, .at = offsetof(request, field), .wanted = (what)                \
    }

/* A uint32_t: the value of a word, as function(1), function(2), ... return them; "" is not taken,
 * and NULL ends them. */
#define OPTIONS_WORD(request, field, function)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_WORD, OPTIONS_PLACE(request, field, uint32_t), .word = (function)       \
    }

/* A function is called with the address of the field and the value; `.value` as for a string. */
#define OPTIONS_CALL(request, field, function)                                                     \
    {                                                                                              \
        .kind = OPTIONS_IS_CALL, .at = offsetof(request, field), .call = (function)                \
    }

#endif
