/* SPDX-License-Identifier: MIT
 * A parser of command lines: getopt_long(), driven by a table. */
#include "cli/options.h"

#include <bloomfile.h>
#include <bsd/stdlib.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
    LONG = 0x100, /* getopt_long() returns LONG plus the index of an entry, or a letter */
    NAME_SIZE = 48,
    TEXT_SIZE = 256
};

/* "-n/--capacity" or "--sync". Returns text. */
static const char *name_of(const struct options_entry *e, char text[NAME_SIZE])
{
    if (e->letter != 0)
        snprintf(text, NAME_SIZE, "-%c/--%s", e->letter, e->name);
    else
        snprintf(text, NAME_SIZE, "--%s", e->name);
    return text;
}

/* ------------------------------------------------------------------------------------- values */

static _Noreturn void refuse(const struct options_entry *e, const char *wanted, const char *value)
{
    char name[NAME_SIZE];
    cli_usage("%s takes %s, not '%s'", name_of(e, name), wanted, value);
}

static _Noreturn void refuse_count(const struct options_entry *e, const char *value,
                                   enum cli_count why)
{
    static const char *const reasons[] = {
        [CLI_COUNT_NOT_WHOLE] = ": it is not a whole number",
        [CLI_COUNT_SUFFIX] = ": write it as 80k, 1.5M, 2Gi, 1e9 or 1_000_000",
        [CLI_COUNT_GOOD] = "",
        [CLI_COUNT_OTHER] = "",
    };
    char name[NAME_SIZE];
    const uint64_t mebi = 1 << 20;
    const bool round = e->to.min >= mebi && e->to.min % mebi == 0;
    const uint64_t min = round ? e->to.min / mebi : e->to.min;
    char wanted[TEXT_SIZE], top[32] = "";
    if (e->to.wanted == NULL && e->to.max == BLOOMFILE_MAX_BITS)
        snprintf(top, sizeof(top), " to 2^60");
    else if (e->to.wanted == NULL)
        snprintf(top, sizeof(top), " to %" PRIu64, e->to.max);
    snprintf(wanted, sizeof(wanted), "a number%s%s from %" PRIu64 "%s%s",
             e->to.wanted != NULL ? " of " : "", e->to.wanted != NULL ? e->to.wanted : "", min,
             round ? "Mi" : "", top);
    cli_usage("%s takes %s, not '%s'%s", name_of(e, name), wanted, value, reasons[why]);
}

static void take_count(const struct options_entry *e, void *field, const char *value)
{
    uint64_t count;
    const enum cli_count parsed = cli_parse_count(value, &count);
    if (parsed != CLI_COUNT_GOOD || count < e->to.min || count > e->to.max)
        refuse_count(e, value, parsed);
    const uint32_t small = (uint32_t)count;
    if (e->to.size == sizeof(small))
        memcpy(field, &small, sizeof(small));
    else
        memcpy(field, &count, sizeof(count));
}

static void take_rate(const struct options_entry *e, void *field, const char *value)
{
    double rate = e->to.most;
    if ((rate < 1 || strcmp(value, "1") != 0) && !cli_parse_rate(value, &rate))
        refuse(e, "a rate between 0 and 1 such as 0.01, 1e-2 or 1%", value);
    *(double *)field = rate;
}

static void take_string(const struct options_entry *e, void *field, const char *value)
{
    char name[NAME_SIZE];
    if (e->to.wanted != NULL && value[0] == '\0')
        cli_usage("%s takes %s", name_of(e, name), e->to.wanted);
    memcpy(field, &value, sizeof(value));
}

/* Appends a word to a list such as "a", "a or b" or "a, b or c". */
static void list(char text[TEXT_SIZE], const char *word, bool is_last, const char *before_last)
{
    const size_t used = strlen(text);
    const char *between = used == 0 ? "" : is_last ? before_last : ", ";
    snprintf(text + used, TEXT_SIZE - used, "%s%s", between, word);
}

static void take_word(const struct options_entry *e, void *field, const char *value)
{
    char all[TEXT_SIZE] = "";
    const char *word, *last = NULL;
    for (uint32_t i = 1; (word = e->to.word(i)) != NULL; i++) {
        if (word[0] == '\0')
            continue;
        if (strcmp(value, word) == 0) {
            *(uint32_t *)field = i;
            return;
        }
        if (last != NULL)
            list(all, last, false, "");
        last = word;
    }
    list(all, last, true, " or ");
    refuse(e, all, value);
}

static void take(const struct options *o, const struct options_entry *e, char *request, char *value)
{
    void *field = request + e->to.at, *undone = request + e->to.undone;
    switch (e->to.kind) {
    case OPTIONS_IS_FLAG:
        *(bool *)undone = false;
        *(bool *)field = true;
        break;
    case OPTIONS_IS_BITS:
        *(unsigned *)field |= e->to.bits;
        break;
    case OPTIONS_IS_COUNT:
        take_count(e, field, value);
        break;
    case OPTIONS_IS_RATE:
        take_rate(e, field, value);
        break;
    case OPTIONS_IS_STRING:
        take_string(e, field, value);
        break;
    case OPTIONS_IS_WORD:
        take_word(e, field, value);
        break;
    case OPTIONS_IS_CALL:
        e->to.call(field, value);
        break;
    case OPTIONS_IS_HELP:
        options_help(o);
    case OPTIONS_IS_VERSION:
        cli_version();
    }
}

/* ------------------------------------------------------------------------------- command line */

/* Options of other tools. The settings of a filter are chosen when it is created. */
static const char *const elsewhere[][2] = {
    { "bfcreate", " -k -l -m -n -p -s --bits --capacity --fpr --grow --hashes --layout --live"
                  " --seed --slice " },
    { "bfquery", " -e --confirm --count --filter --invert-match --key --names --unless " },
    { "bfadd", " --remove --sync " },
    { "bfinspect", " --map --quick --verify " },
    { "bfmerge", " --intersect --slices --union " },
    { "bffold", " --factor --max-bytes " },
    { "bfuniq", " --every --generations --repeated-to " },
};

static void refuse_foreign(const char *option, int size)
{
    char word[NAME_SIZE];
    snprintf(word, sizeof(word), " %.*s ", size, option);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        if (strstr(elsewhere[i][1], word) != NULL)
            cli_usage("unknown option %.*s: it is an option of %s", size, option, elsewhere[i][0]);
    }
}

/* The number of letters to insert, delete or replace to make b from the first n letters of a. */
static size_t edits(const char *a, size_t n, const char *b)
{
    size_t row[NAME_SIZE], m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 0; i < n; i++) {
        size_t corner = row[0]++;
        for (size_t j = 0; j < m; j++) {
            const size_t replaced = corner + (a[i] != b[j]);
            corner = row[j + 1];
            const size_t fewer = (row[j] < corner ? row[j] : corner) + 1;
            row[j + 1] = replaced < fewer ? replaced : fewer;
        }
    }
    return row[m];
}

/* The option with the most similar name; NULL if none is similar. */
static const char *similar(const struct options *o, const char *name, size_t size)
{
    const char *best = NULL;
    for (size_t i = 0, least = size < 5 ? 2 : 3; i < OPTIONS_MOST; i++) {
        const char *one = o->entries[i].name;
        const size_t distance = one != NULL ? edits(name, size, one) : least;
        best = distance < least ? one : best;
        least = distance < least ? distance : least;
    }
    return best;
}

/* A long option that is unknown, or an abbreviation of several names. */
static _Noreturn void refuse_name(const struct options *o, const char *word)
{
    char all[TEXT_SIZE] = "", name[NAME_SIZE];
    const int size = (int)strcspn(word, "=");
    for (int i = 0; size > 2 && i < OPTIONS_MOST; i++) {
        const char *one = o->entries[i].name;
        if (one == NULL || strncmp(one, word + 2, (size_t)size - 2) != 0)
            continue;
        snprintf(name, sizeof(name), "--%s", one);
        list(all, name, false, "");
    }
    if (all[0] != '\0')
        cli_usage("ambiguous option %.*s (%s)", size, word, all);
    if (strchr(word, '.') != NULL || access(word, F_OK) == 0)
        cli_usage("unknown option %s: for a file of that name, write ./%s", word, word);
    refuse_foreign(word, size);
    const char *near = similar(o, word + 2, (size_t)size - 2);
    if (near != NULL)
        cli_usage("unknown option %.*s: did you mean --%s?", size, word, near);
    cli_usage("unknown option %.*s", size, word);
}

static _Noreturn void refuse_option(const struct options *o, int returned, char *const *argv)
{
    const char *word = argv[optind - 1]; /* NULL: musl counts a short option's missing value */
    bool is_long = word != NULL && strncmp(word, "--", 2) == 0;
    if (returned == ':' && is_long)
        cli_usage("%s needs a value", word);
    if (returned == ':')
        cli_usage("-%c needs a value", optopt);
    if (is_long && optopt >= LONG)
        cli_usage("%.*s takes no value", (int)strcspn(word, "="), word);
    if (is_long && optopt == 0)
        refuse_name(o, word);
    refuse_foreign((char[]){ '-', (char)optopt, '\0' }, 2);
    cli_usage("unknown option -%c", optopt);
}

static void check_rivals(const struct options *o, const bool *taken, char rival)
{
    char all[TEXT_SIZE] = "", name[NAME_SIZE];
    int last = 0, count = 0;
    for (int i = 0; rival != 0 && i < OPTIONS_MOST; i++) {
        if (o->entries[i].rival == rival) {
            last = i;
            count += taken[i];
        }
    }
    for (int i = 0; count > 1 && i <= last; i++) {
        if (o->entries[i].rival == rival)
            list(all, name_of(&o->entries[i], name), i == last, " and ");
    }
    if (count > 1)
        cli_usage("%s are mutually exclusive", all);
}

struct getopt_tables {
    struct option longs[OPTIONS_MOST + 1];
    char shorts[2 * OPTIONS_MOST + 2];
};

static void make_tables(const struct options *o, struct getopt_tables *t)
{
    size_t longs = 0, shorts = 0;
    *t = (struct getopt_tables){ 0 };
    t->shorts[shorts++] = ':';
    for (int i = 0; i < OPTIONS_MOST; i++) {
        const struct options_entry *e = &o->entries[i];
        if (e->name == NULL)
            continue;
        const int has_value = e->metavar != NULL ? required_argument : no_argument;
        t->longs[longs++] = (struct option){ e->name, has_value, NULL, LONG + i };
        if (e->letter != 0)
            t->shorts[shorts++] = e->letter;
        if (e->letter != 0 && has_value == required_argument)
            t->shorts[shorts++] = ':';
    }
}

static int find(const struct options *o, int returned)
{
    int i = returned - LONG;
    if (i < 0) {
        for (i = 0; o->entries[i].letter != returned; i++)
            continue;
    }
    return i;
}

int options_parse(const struct options *o, void *request, int argc, char **argv)
{
    struct getopt_tables tables;
    bool taken[OPTIONS_MOST] = { false };
    char name[NAME_SIZE];
    int returned;
    make_tables(o, &tables);
    opterr = 0;
    while ((returned = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (returned == '?' || returned == ':')
            refuse_option(o, returned, argv);
        const int i = find(o, returned);
        if (taken[i] && o->entries[i].to.kind == OPTIONS_IS_STRING)
            cli_usage("%s is given twice", name_of(&o->entries[i], name));
        taken[i] = true;
        check_rivals(o, taken, o->entries[i].rival);
        take(o, &o->entries[i], request, optarg);
    }
    return optind;
}

/* ---- The text of --help: two columns, in lines of at most 80 characters. */

enum {
    WIDTH = 80,
    COLUMN = 24, /* where the descriptions begin */
    GAP = 2
};

/* Prints text, wrapped. The first line begins at column `at`, the following lines at `indent`. */
static void wrap(FILE *out, const char *text, size_t at, size_t indent)
{
    size_t column = at;
    while (text[0] != '\0') {
        const size_t size = strcspn(text, " \n");
        const bool is_first = column == at || column == indent;
        if (!is_first && column + 1 + size > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = at = indent;
        } else if (!is_first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)size, text);
        column += size;
        text += size;
        if (text[0] == '\n') {
            fprintf(out, "\n%*s", (int)indent, "");
            column = at = indent;
        }
        text += text[0] != '\0';
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct options_entry *e)
{
    char letter[] = "    ";
    if (e->letter != 0)
        snprintf(letter, sizeof(letter), "-%c, ", e->letter);
    const bool has_value = e->metavar != NULL;
    const int width = fprintf(out, "  %s--%s%s%s", letter, e->name, has_value ? " " : "",
                              has_value ? e->metavar : "");
    if (width + GAP > COLUMN)
        fputc('\n', out);
    fprintf(out, "%*s", width + GAP > COLUMN ? COLUMN : COLUMN - width, "");
    wrap(out, e->help, COLUMN, COLUMN);
}

void options_help(const struct options *o)
{
    struct cli_page page;
    cli_page_start(&page);
    for (int i = 0; i < OPTIONS_USAGES && o->usages[i] != NULL; i++)
        fprintf(page.out, "%s %s %s\n", i == 0 ? "usage:" : "      ", getprogname(), o->usages[i]);
    wrap(page.out, o->about, 0, 0);
    for (int i = 0; i < OPTIONS_MOST && o->entries[i].help != NULL; i++) {
        const bool is_title = o->entries[i].name == NULL;
        if (is_title)
            fprintf(page.out, "\n%s\n", o->entries[i].help);
        else
            print_option(page.out, &o->entries[i]);
    }
    fputc('\n', page.out);
    wrap(page.out, o->notes, 0, 0);
    fprintf(page.out, "\nExamples:\n%s", o->examples);
    cli_page_print(&page);
    cli_close_stdout();
    exit(0);
}
