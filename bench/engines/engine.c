/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "residence.h"

#define MAX_SETTINGS 16
#define FIRST        256 /* of the settings, among what getopt_long() returns */

static double most_stayed;

static void begin(struct option *options, const struct engine_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int argument = settings[i].most == 0 ? no_argument : required_argument;
        options[i] = (struct option){ settings[i].option, argument, NULL, FIRST + (int)i };
    }
    options[count] = (struct option){ "quick", no_argument, NULL, 'q' };
    options[count + 1] = (struct option){ "help", no_argument, NULL, 'h' };
}

_Noreturn static void show(const char *help, bool wanted)
{
    fputs(help, wanted ? stdout : stderr);
    bench_flush();
    exit(wanted ? 0 : BENCH_TROUBLE);
}

const char *engine_options(int argc, char **argv, const char *help,
                           const struct engine_setting *settings, size_t count)
{
    struct option options[MAX_SETTINGS + 3] = { 0 };
    bool given[MAX_SETTINGS] = { false }, quick = false;
    begin(options, settings, count);
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'q') {
            quick = true;
        } else if (option >= FIRST) {
            const struct engine_setting *s = &settings[option - FIRST];
            *s->value = s->most == 0 ? 1 : bench_number_in(optarg, s->least, s->most);
            given[option - FIRST] = true;
        } else {
            show(help, option == 'h');
        }
    }
    if (argc - optind > 1)
        show(help, false);
    for (size_t i = 0; i < count; i++)
        if (!given[i])
            *settings[i].value = quick ? settings[i].quick : settings[i].usual;
    return argv[optind];
}

double engine_evict(const char *folder)
{
    double stayed;
    bench_check(residence_drop_all(folder, &stayed), "take files out of memory");
    if (stayed > most_stayed)
        most_stayed = stayed;
    return stayed;
}

void engine_report_stayed(void)
{
    if (most_stayed > 0)
        fprintf(stderr,
                "%s: up to %.1f %% of the files stayed in memory: the cold figures are too good\n",
                program_invocation_short_name, 100 * most_stayed);
}
