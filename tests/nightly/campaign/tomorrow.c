/* SPDX-License-Identifier: MIT
 * tomorrow KEYS: for each file whose path is a line of standard input, prints the library's
 * results in words: of opening and verifying it, a checksum of the lookups of the keys (lines),
 * of folding it by 1 and of uniting it, of adding to it and of sealing it in place.
 * tests/nightly/campaign/versions.py compares them. */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../../unit/places.h"

static char **keys;
static size_t key_count;

static void read_keys(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    if (file == NULL)
        err(2, "%s", path);
    while ((length = getline(&line, &room, file)) > 0) {
        line[length - 1] = '\0';
        keys = reallocarray(keys, key_count + 1, sizeof *keys);
        if (keys == NULL || (keys[key_count++] = strdup(line)) == NULL)
            err(2, "keys");
    }
    free(line);
    fclose(file);
}

static void say(int error)
{
    printf(" %s", error != 0 ? bloomfile_errname(error) : "ok");
}

static void say_answers(const bloomfile_filter *f)
{
    uLong sum = crc32(0, NULL, 0);
    for (size_t i = 0; i < key_count; i++) {
        const Bytef hit = bloomfile_contains(f, keys[i], strlen(keys[i])) ? '1' : '0';
        sum = crc32(sum, &hit, 1);
    }
    printf(" %08lx", sum);
    say(bloomfile_check(f));
}

static void say_image(int error, void *image, size_t size)
{
    if (error == 0)
        printf(" %08lx", crc32(crc32(0, NULL, 0), image, (uInt)size));
    else
        say(error);
    free(image);
}

static void ask(const char *path)
{
    bloomfile_filter *f;
    void *image = NULL;
    size_t size = 0;
    int error = bloomfile_open(&f, path, 0);
    say(error);
    if (error != 0)
        return;
    say(bloomfile_verify(f, 1, NULL));
    say_answers(f);
    error = fold_memory(&image, &size, f, 1);
    say_image(error, error == 0 ? image : NULL, size);
    error = merge_memory(&image, &size, (const bloomfile_filter *const[]){ f }, 1, NULL);
    say_image(error, error == 0 ? image : NULL, size);
    bloomfile_close(f);
}

static void write_to(const char *path)
{
    bloomfile_filter *f;
    int error = bloomfile_open(&f, path, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_OVER_CAPACITY);
    say(error);
    if (error != 0)
        return;
    say(bloomfile_add(f, "tomorrow", strlen("tomorrow"), NULL));
    say(bloomfile_seal(f, NULL));
    printf(" %d", bloomfile_contains(f, "tomorrow", strlen("tomorrow")));
    bloomfile_close(f);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2)
        errx(2, "usage: tomorrow KEYS");
    read_keys(argv[1]);
    while (fgets(path, sizeof path, stdin) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        printf("read");
        ask(path);
        printf(" write");
        write_to(path);
        putchar('\n');
    }
    for (size_t i = 0; i < key_count; i++)
        free(keys[i]);
    free(keys);
    return 0;
}
