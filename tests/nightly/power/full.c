/* SPDX-License-Identifier: MIT
 * power-full create PATH BITS    makes a live filter
 * power-full add PATH KEYS       adds keys 0 to KEYS - 1, syncs, closes
 * power-full seal PATH           seals it in place
 * power-full copy PATH NEW       makes a sealed copy
 *
 * The uses of a live filter, for a full disk. Prints the name of the first error, or "OK". */
#include <bloomfile.h>
#include <bloomfile_live.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/places.h"

enum {
    BATCH = 512
};

static int create(const char *path, const char *bits)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = strtoull(bits, NULL, 10);
    params.hashes = 4;
    bloomfile_filter *f;
    int error = bloomfile_create(&f, path, &params, 0);
    bloomfile_close(f);
    return error;
}

static int add_batch(bloomfile_filter *f, uint64_t first, size_t count)
{
    uint64_t numbers[BATCH];
    struct bloomfile_key keys[BATCH];
    for (size_t i = 0; i < count; i++) {
        numbers[i] = first + i;
        keys[i] = (struct bloomfile_key){ &numbers[i], sizeof numbers[i] };
    }
    return bloomfile_add_many(f, keys, count, NULL, NULL, NULL);
}

static int add(const char *path, const char *number)
{
    const uint64_t keys = strtoull(number, NULL, 10);
    bloomfile_filter *f;
    int error = bloomfile_open(&f, path, BLOOMFILE_OPEN_WRITE);
    for (uint64_t key = 0; key < keys && error == 0; key += BATCH)
        error = add_batch(f, key, keys - key < BATCH ? (size_t)(keys - key) : BATCH);
    if (error == 0)
        error = bloomfile_sync(f, NULL);
    bloomfile_close(f);
    return error;
}

static int seal(const char *path, const char *unused)
{
    (void)unused;
    bloomfile_filter *f;
    int error = bloomfile_open(&f, path, BLOOMFILE_OPEN_WRITE);
    if (error == 0)
        error = bloomfile_seal(f, NULL);
    bloomfile_close(f);
    return error;
}

static int copy(const char *path, const char *to)
{
    bloomfile_filter *f;
    int error = bloomfile_open(&f, path, 0);
    if (error == 0)
        error = bloomfile_copy_sealed(TO_PATH(to, 0), f, NULL);
    bloomfile_close(f);
    return error;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *path, const char *argument);
        int arguments;
    } commands[] = {
        { "create", create, 4 }, { "add", add, 4 }, { "seal", seal, 3 }, { "copy", copy, 4 }
    };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (argc == commands[i].arguments && strcmp(argv[1], commands[i].name) == 0) {
            int error = commands[i].run(argv[2], argv[3]);
            puts(bloomfile_errname(error));
            return error == 0 ? 0 : 1;
        }
    return 2;
}
