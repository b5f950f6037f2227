/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/bench.h"
#include "peers/peers.h"

/* Where Linux says it; other processors have no such line. */
static void find_processor(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(name, size, "unknown processor");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", value + 1 + strspn(value + 1, " "));
        break;
    }
    if (f != NULL)
        fclose(f);
}

const char *machine_words(void)
{
    static char words[512];
    char processor[200];
    struct utsname system;
    bench_call(uname(&system), "find out the system's name");
    find_processor(processor, sizeof processor);
    snprintf(words, sizeof words, "%s, %ld cores, %s %s", processor, sysconf(_SC_NPROCESSORS_ONLN),
             system.sysname, system.release);
    return words;
}
