/* SPDX-License-Identifier: MIT
 * By getopt_long(). */
#include "harness/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"

#define MOST  16
#define FIRST 256 /* of the options, among what getopt_long() returns */

static void make_long(struct option *words, const struct bench_option *options, size_t count)
{
    bool quick = false;
    for (size_t i = 0; i < count; i++) {
        const struct bench_option *o = &options[i];
        const int argument = o->most == 0 && o->words == NULL ? no_argument : required_argument;
        *words++ = (struct option){ o->name, argument, NULL, FIRST + (int)i };
        quick |= o->quick != 0;
    }
    *words++ = (struct option){ "help", no_argument, NULL, 'h' };
    if (quick)
        *words = (struct option){ "quick", no_argument, NULL, 'q' };
}

_Noreturn static void show(const char *help, bool wanted)
{
    fputs(help, wanted ? stdout : stderr);
    bench_flush();
    exit(wanted ? 0 : BENCH_TROUBLE);
}

static void set_rest(const struct bench_option *options, size_t count, const bool *given,
                     bool quick)
{
    for (size_t i = 0; i < count; i++)
        if (!given[i])
            *options[i].value =
                quick && options[i].quick != 0 ? options[i].quick : options[i].usual;
}

/* false: it is none of the words. */
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

const char *bench_options(int argc, char **argv, const char *help,
                          const struct bench_option *options, size_t count)
{
    struct option words[MOST + 3] = { 0 };
    bool given[MOST] = { false }, quick = false;
    make_long(words, options, count);
    for (int found; (found = getopt_long(argc, argv, "", words, NULL)) != -1;) {
        if (found == 'q') {
            quick = true;
        } else if (found >= FIRST && take(&options[found - FIRST], optarg)) {
            given[found - FIRST] = true;
        } else {
            show(help, found == 'h');
        }
    }
    if (argc - optind > 1)
        show(help, false);
    set_rest(options, count, given, quick);
    return argv[optind];
}
