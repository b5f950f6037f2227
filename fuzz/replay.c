/* SPDX-License-Identifier: MIT
 * Runs a fuzz target over files and mutations of each file.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SIZE (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

int main(int argc, char **argv)
{
    static uint8_t data[MAX_SIZE];
    uint64_t state = 1;
    if (argc < 3)
        errx(2, "usage: %s MUTATIONS FILE...", argv[0]);
    const int rounds = atoi(argv[1]);
    for (int i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL)
            err(2, "%s", argv[i]);
        size_t size = fread(data, 1, sizeof data, file);
        if (ferror(file))
            err(2, "%s", argv[i]);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
        for (int round = 0; round < rounds && size > 0; round++) {
            size_t at = next(&state) % (round % 2 == 0 && size > 320 ? 320 : size);
            uint8_t before = data[at];
            data[at] ^= (uint8_t)(1u << next(&state) % 8);
            LLVMFuzzerTestOneInput(data, next(&state) % 8 == 0 ? next(&state) % size : size);
            data[at] = round % 3 == 0 ? data[at] : before;
        }
    }
    return 0;
}
