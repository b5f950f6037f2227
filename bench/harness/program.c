/* SPDX-License-Identifier: MIT
 * The main program of a benchmark: options, a folder for files, the work, the exit status. */
#include "harness/program.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/scratch.h"

#define FIRST 256 /* getopt_long() returns this for the first option */

static bool takes_argument(const struct bench_option *o)
{
    return o->most != 0 || o->words != NULL;
}

static bool has_quick(void)
{
    bool quick = false;
    for (const struct bench_option *o = benchmark.options; o->name != NULL; o++)
        quick |= o->quick != 0;
    return quick;
}

/* Prints the values of an option, after its meaning. */
static void print_values(FILE *out, const struct bench_option *o)
{
    const char *between = ": ";
    for (const char *const *word = o->words; word != NULL && *word != NULL; word++, between = ", ")
        fprintf(out, "%s%s", between, *word);
    if (o->most != 0 && o->usual != 0)
        fprintf(out, " (%" PRIu64 ")", o->usual);
    if (o->quick != 0 && o->quick != o->usual)
        fprintf(out, "; with --quick %" PRIu64, o->quick);
    fputc('\n', out);
}

_Noreturn static void show_help(bool wanted)
{
    FILE *out = wanted ? stdout : stderr;
    fprintf(out, "usage: %s [OPTION...]%s\n%s", program_invocation_short_name,
            benchmark.room != NULL ? " [DIRECTORY]" : "", benchmark.what);
    if (benchmark.room != NULL)
        fprintf(out, "Files are made in DIRECTORY (%s), and removed.\n",
                benchmark.where != NULL ? benchmark.where : "$TMPDIR, or /var/tmp");
    fputs("Prints Markdown. The exit status is 1 if a figure misses its target, 2 for trouble.\n\n",
          out);
    for (const struct bench_option *o = benchmark.options; o->name != NULL; o++) {
        fprintf(out, "  --%-11s %s", o->name, o->what);
        print_values(out, o);
    }
    if (has_quick())
        fputs("  --quick       for a first look\n", out);
    bench_flush();
    exit(wanted ? 0 : BENCH_TROUBLE);
}

/* Returns false if the argument is not a word of the option. */
static bool take(const struct bench_option *o, const char *argument)
{
    if (o->words == NULL) {
        *o->value = o->most == 0 ? 1 : bench_number_in(argument, o->least, o->most);
        return true;
    }
    for (*o->value = 1; o->words[*o->value - 1] != NULL; ++*o->value)
        if (strcmp(o->words[*o->value - 1], argument) == 0)
            return true;
    return false;
}

/* Sets all values. Returns DIRECTORY, or NULL. */
static const char *read_options(int argc, char **argv)
{
    struct option words[PROGRAM_OPTIONS + 3] = { 0 }, *next = words;
    bool given[PROGRAM_OPTIONS] = { false }, quick = false;
    for (int i = 0; benchmark.options[i].name != NULL; i++)
        *next++ = (struct option){ benchmark.options[i].name, takes_argument(&benchmark.options[i]),
                                   NULL, FIRST + i };
    *next++ = (struct option){ "help", no_argument, NULL, 'h' };
    if (has_quick())
        *next = (struct option){ "quick", no_argument, NULL, 'q' };
    for (int found; (found = getopt_long(argc, argv, "", words, NULL)) != -1;) {
        if (found == 'q')
            quick = true;
        else if (found >= FIRST && take(&benchmark.options[found - FIRST], optarg))
            given[found - FIRST] = true;
        else
            show_help(found == 'h');
    }
    if (argc - optind > (benchmark.room != NULL ? 1 : 0))
        show_help(false);
    for (int i = 0; benchmark.options[i].name != NULL; i++) {
        const struct bench_option *o = &benchmark.options[i];
        if (!given[i])
            *o->value = quick && o->quick != 0 ? o->quick : o->usual;
    }
    return argv[optind];
}

int main(int argc, char **argv)
{
    const char *where = read_options(argc, argv);
    if (benchmark.room != NULL)
        scratch_make(where != NULL ? where : benchmark.where, program_invocation_short_name,
                     benchmark.room());
    benchmark.run();
    bench_flush();
    return table_status();
}
