/* SPDX-License-Identifier: MIT
 * flips PATH TARGET KEYS [HASH_ID SELF_TEST]: looks up keys in damaged files.
 *
 * PATH is opened; TARGET (the same file, or another file of a live series) is damaged. KEYS has
 * a key on each line, or with a hash a digest. Each line of standard input is one damage: "c N"
 * cuts the file to N bytes, "x OFFSET:BYTE ..." exclusive-ors these bytes (hexadecimal). The
 * result is a line: "refused"; "maybe" (opened, damage reported); "kept" (opened, no damage
 * noticed). Two results are errors: "lost WAY" (a present key got "no") and "unseen WAY" (a
 * complete check noticed nothing). */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../unit/places.h"

static struct bloomfile_key *keys;
static bloomfile_digest *given; /* NULL: digests are computed with the filter's seed */
static size_t count;
static uint32_t hash_id;
static uint64_t self_test;
static const char *path;
static int target;
static uint8_t *whole, *damaged;
static size_t size;
static bool live;

static void *room(size_t number, size_t each)
{
    void *p = calloc(number > 0 ? number : 1, each);
    if (!p)
        err(2, "calloc");
    return p;
}

static void read_keys(const char *name)
{
    FILE *file = fopen(name, "rb");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (!file)
        err(2, "%s", name);
    while ((length = getline(&line, &capacity, file)) > 0) {
        keys = reallocarray(keys, count + 1, sizeof *keys);
        char *copy = room((size_t)length, 1);
        if (!keys)
            err(2, "reallocarray");
        memcpy(copy, line, (size_t)length - 1);
        keys[count++] = (struct bloomfile_key){ copy, (size_t)length - 1 };
    }
    free(line);
    fclose(file);
    if (hash_id == 0)
        return;
    given = room(count, sizeof *given);
    for (size_t i = 0; i < count; i++)
        given[i] = strtoull(keys[i].data, NULL, 16);
}

/* ---------------------------------------------------------------------------------- kinds of
 * lookups */

/* The digests of all keys for this filter; the caller frees them. */
static bloomfile_digest *digests_for(const bloomfile_filter *f)
{
    bloomfile_digest *digests = room(count, sizeof *digests);
    for (size_t i = 0; i < count; i++)
        digests[i] =
            given ? given[i] : bloomfile_hash(bloomfile_seed(f), keys[i].data, keys[i].size);
    return digests;
}

static bool singly(const bloomfile_filter *f)
{
    bool all = true;
    for (size_t i = 0; i < count && all; i++)
        all = given ? bloomfile_contains_digest(f, given[i])
                    : bloomfile_contains(f, keys[i].data, keys[i].size);
    return all;
}

static bool in_a_batch(const bloomfile_filter *f)
{
    bloomfile_digest *digests = digests_for(f);
    const bool all = bloomfile_contains_digests(f, digests, count, NULL) == count;
    free(digests);
    return all;
}

static bool inlined(const bloomfile_filter *f)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    if (bloomfile_pin(f, &pin) != 0)
        return false;
    bloomfile_digest *digests = digests_for(f);
    size_t found = 0;
    for (int round = 0; round < 2; round++) /* then with verified pages */
        for (size_t i = 0; i < count; i++)
            found += bloomfile_pinned_contains_digest(&pin, digests[i]);
    for (size_t i = 0; i < count; i += 32)
        found += bloomfile_pinned_contains_digests(&pin, digests + i,
                                                   count - i < 32 ? count - i : 32, NULL);
    free(digests);
    return found == 3 * count;
}

static int open_from(bloomfile_filter **f, struct bloomfile_source from, unsigned flags)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    how.expect = BLOOMFILE_EXPECT_HASH;
    how.hash_id = given ? hash_id : BLOOMFILE_HASH_XXH3;
    how.self_test = self_test;
    return bloomfile_open_with(f, &from, &how);
}

static int opened(bloomfile_filter **f, unsigned flags)
{
    return open_from(f, bloomfile_from_path(path), flags);
}

/* A copy must be refused, or have all keys: nothing in it shows the damage any more. */
static bool copy_is_right(int error, void *image, size_t image_size)
{
    bloomfile_filter *f;
    if (error != 0)
        return true;
    bool right =
        open_from(&f, bloomfile_from_memory(image, image_size), BLOOMFILE_OPEN_VERIFY_FULL) == 0;
    if (right) {
        right = singly(f);
        bloomfile_close(f);
    }
    bloomfile_free(image);
    return right;
}

static bool copies_are_right(const bloomfile_filter *f)
{
    void *image = NULL;
    size_t image_size = 0;
    int error = copy_memory(&image, &image_size, f);
    if (!copy_is_right(error, image, image_size))
        return false;
    if (live || bloomfile_layers(f) > 0)
        return true;
    error = fold_memory(&image, &image_size, f, 1);
    if (!copy_is_right(error, image, image_size))
        return false;
    error = merge_memory(&image, &image_size, &f, 1, NULL);
    return copy_is_right(error, image, image_size);
}

static const struct way {
    const char *name;
    bool (*all)(const bloomfile_filter *f);
    unsigned flags;
} ways[] = {
    { "singly", singly, 0 },           { "batch", in_a_batch, 0 },
    { "inline", inlined, 0 },          { "copy-flag", singly, BLOOMFILE_OPEN_COPY },
    { "copies", copies_are_right, 0 },
};

static const char *judge(char *buffer, size_t room_in_it)
{
    bloomfile_filter *f;
    bool told = false, refused = true;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (live && ways[i].flags == BLOOMFILE_OPEN_COPY)
            continue;
        if (opened(&f, ways[i].flags) != 0)
            continue;
        refused = false;
        const bool all = ways[i].all(f);
        told = told || bloomfile_check(f) != 0;
        bloomfile_close(f);
        if (!all) {
            snprintf(buffer, room_in_it, "lost %s", ways[i].name);
            return buffer;
        }
    }
    if (!live && opened(&f, 0) == 0) {
        struct bloomfile_fault fault;
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(f, &info);
        const int error = bloomfile_verify(f, 1, &fault);
        bloomfile_close(f);
        if (error == 0)
            return "unseen verify";
        told = told || info.keys == 0; /* without keys, lookups of non-members read no page */
    }
    if (!live && opened(&f, BLOOMFILE_OPEN_VERIFY_FULL) == 0) {
        bloomfile_close(f);
        return "unseen full";
    }
    if (refused)
        return "refused";
    return told ? "maybe" : "kept";
}

/* ------------------------------------------------------------------------------------- damages */

static void write_target(const uint8_t *bytes, size_t length)
{
    if (pwrite(target, bytes, length, 0) != (ssize_t)length ||
        ftruncate(target, (off_t)length) != 0)
        err(2, "the damaged file cannot be written");
}

/* Writes the changed bytes. Returns the size. */
static size_t damage(char *line)
{
    if (line[0] == 'c') {
        const size_t length = (size_t)strtoull(line + 1, NULL, 10);
        write_target(whole, length);
        return length;
    }
    memcpy(damaged, whole, size);
    for (char *at = line + 1; *at != '\0' && *at != '\n';) {
        char *end;
        const uint64_t offset = strtoull(at, &end, 16);
        const uint64_t byte = strtoull(end + 1, &at, 16);
        if (*end != ':' || offset >= size)
            errx(2, "no damage: %s", line);
        damaged[offset] ^= (uint8_t)byte;
    }
    write_target(damaged, size);
    return size;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6)
        errx(2, "usage: flips PATH TARGET KEYS [HASH_ID SELF_TEST]");
    path = argv[1];
    if (argc == 6) {
        hash_id = (uint32_t)strtoul(argv[4], NULL, 16);
        self_test = strtoull(argv[5], NULL, 16);
    }
    read_keys(argv[3]);
    target = open(argv[2], O_RDWR | O_CLOEXEC);
    struct stat status;
    if (target < 0 || fstat(target, &status) != 0)
        err(2, "%s", argv[2]);
    size = (size_t)status.st_size;
    whole = room(size, 1);
    damaged = room(size, 1);
    if (pread(target, whole, size, 0) != (ssize_t)size)
        err(2, "%s", argv[2]);
    bloomfile_filter *f;
    if (opened(&f, 0) != 0 || !singly(f) || bloomfile_check(f) != 0)
        errx(2, "%s is not whole before it is damaged", path);
    live = bloomfile_verify(f, 1, NULL) == BLOOMFILE_ELIVE;
    bloomfile_close(f);

    char *line = NULL, buffer[64];
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        damage(line);
        puts(judge(buffer, sizeof buffer));
        if (fflush(stdout) != 0)
            err(2, "standard output");
    }
    write_target(whole, size);
    return 0;
}
