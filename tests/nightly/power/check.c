/* SPDX-License-Identifier: MIT
 * power-check PATH [KEYS...]: how a filter opens, and how many of the keys 0 to KEYS - 1 it has
 * lost.
 *
 * read OK             bloomfile_open(), for reading
 * write OK            for writing; closed again
 * accept OK           for reading with BLOOMFILE_OPEN_ACCEPT_UNCLEAN; the next lines use this
 * handle state 1 label second verify OK           if it is sealed
 * watermark 400 0     of the 400 keys that the watermark promises, if it is set
 * lost 500 0          of 500 keys */
#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int try_open(const char *path, const char *how, unsigned flags, bloomfile_filter **f)
{
    int error = bloomfile_open(f, path, flags);
    printf("%s %s\n", how, bloomfile_errname(error));
    return error;
}

static uint64_t lost(const bloomfile_filter *f, uint64_t keys)
{
    uint64_t count = 0;
    for (uint64_t key = 0; key < keys; key++)
        count += !bloomfile_contains(f, &key, sizeof key);
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    bloomfile_filter *f;
    try_open(argv[1], "read", 0, &f);
    bloomfile_close(f);
    try_open(argv[1], "write", BLOOMFILE_OPEN_WRITE, &f);
    bloomfile_close(f);
    if (try_open(argv[1], "accept", BLOOMFILE_OPEN_ACCEPT_UNCLEAN, &f) != 0)
        return 0;

    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    printf("state %" PRIu32 "\nlabel %s\n", info.state, info.label);
    if (info.state == BLOOMFILE_STATE_SEALED)
        printf("verify %s\n", bloomfile_errname(bloomfile_verify(f, 1, NULL)));
    uint64_t mark;
    memcpy(&mark, info.watermark, sizeof mark);
    if (mark != 0)
        printf("watermark %" PRIu64 " %" PRIu64 "\n", mark, lost(f, mark));
    for (int i = 2; i < argc; i++) {
        uint64_t keys = strtoull(argv[i], NULL, 10);
        printf("lost %" PRIu64 " %" PRIu64 "\n", keys, lost(f, keys));
    }
    bloomfile_close(f);
    return fflush(stdout) == 0 ? 0 : 2;
}
