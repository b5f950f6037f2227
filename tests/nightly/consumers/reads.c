/* SPDX-License-Identifier: MIT
 *
 * reads FILE...: opens each filter, from its path and from memory, and prints one line for each:
 * the part of the library that it needs, the result of opening, a sum of the answers, and the
 * result of verification. The output must be the same for every build of the library.
 */
#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 3000

static const char *part_of(const uint8_t *bytes, size_t size)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    (void)bloomfile_inspect(bytes, size, &info, NULL, NULL);
    const char *part = info.layout == BLOOMFILE_LAYOUT_RIBBON ? "ribbon" : "-";
    if (info.state == BLOOMFILE_STATE_LIVE)
        part = info.series != 0 ? "live,series" : "live";
    else if (info.layers != 0)
        part = "series";
    return part;
}

/* A checksum of the results of all lookups. */
static unsigned long long answers(const bloomfile_filter *f)
{
    static bloomfile_digest digests[KEYS];
    static bool hits[KEYS];
    unsigned long long sum = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        char key[16];
        const int size = snprintf(key, sizeof key, "%u", i);
        digests[i] = bloomfile_hash(bloomfile_seed(f), key, (size_t)size);
    }
    (void)bloomfile_contains_digests(f, digests, KEYS, hits);
    for (unsigned i = 0; i < KEYS; i++) {
        if (bloomfile_contains_digest(f, digests[i]) != hits[i])
            return 1;
        sum = sum * 31 + hits[i];
    }
    return sum;
}

static void look(const char *path, const char *part, const char *from, int error,
                 bloomfile_filter *f)
{
    printf("%s\t%s\t%s\t%s", path, part, from, error != 0 ? bloomfile_errname(error) : "0");
    if (f != NULL) {
        struct bloomfile_fault fault = { 0 };
        const unsigned long long sum = answers(f);
        error = bloomfile_verify(f, 2, &fault);
        printf("\t%llx\t%d\t%llu\t%d", sum, error, (unsigned long long)fault.offset,
               bloomfile_damage(f));
    }
    puts("");
    bloomfile_close(f);
}

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 22];
    for (int i = 1; i < argc; i++) {
        bloomfile_filter *f;
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL)
            return 1;
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        const char *part = part_of(bytes, size);
        int error = bloomfile_open(&f, argv[i], 0);
        look(argv[i], part, "path", error, f);
        const struct bloomfile_source from = bloomfile_from_memory(bytes, size);
        error = bloomfile_open_with(&f, &from, NULL);
        look(argv[i], part, "memory", error, f);
    }
    return 0;
}
