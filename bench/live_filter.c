/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

static char folder[4096], file[sizeof folder + 16];
static pid_t owner;

static void remove_file(void)
{
    if (getpid() != owner)
        return;
    unlink(file);
    rmdir(folder);
}

static void interrupted(int number)
{
    remove_file();
    _exit(128 + number);
}

static void prepare_to_clean_up(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
    if (owner != 0)
        return;
    owner = getpid();
    if (atexit(remove_file) != 0)
        bench_fail(errno, "prepare to clean up");
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (signal(ends[i], interrupted) == SIG_ERR)
            bench_fail(errno, "prepare to clean up");
}

bloomfile *live_create(const char *directory, unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile *f;
    prepare_to_clean_up();
    const int length = snprintf(folder, sizeof folder, "%s/bench-live.XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof folder)
        bench_fail(ENAMETOOLONG, "make a directory");
    if (mkdtemp(folder) == NULL)
        bench_fail(errno, "make a directory");
    snprintf(file, sizeof file, "%s/live.bloom", folder);

    params.bits = LIVE_BITS;
    params.capacity = LIVE_CAPACITY;
    bench_check(bloomfile_create(&f, file, &params, flags), "create a live filter");
    return f;
}

const char *live_path(void)
{
    return file;
}

static void check(uint64_t keys, uint64_t new_keys)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_digest digests[LIVE_BATCH];
    bloomfile *f;
    bench_check(bloomfile_open(&f, file, 0), "open the filter again");
    for (uint64_t done = 0, n; done < keys; done += n) {
        n = keys - done < LIVE_BATCH ? keys - done : LIVE_BATCH;
        bench_digests(bloomfile_seed(f), done, digests, n);
        if (bloomfile_contains_digests(f, digests, n, NULL) != n)
            bench_fail(0, "trust the filter: it has lost keys");
    }
    bloomfile_get_info(f, &info);
    if (info.keys != new_keys || info.keys_estimated != 0)
        bench_fail(0, "trust the filter: its number of keys is not that of the new ones");
    bloomfile_close(f);
}

void live_close(bloomfile *f, uint64_t keys, uint64_t new_keys)
{
    bloomfile_close(f);
    check(keys, new_keys);
    remove_file();
}

void live_touch(const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    const uint64_t step = UINT64_MAX / info.pages; /* a digest's top bits choose its place */
    for (uint64_t page = 0; page < info.pages; page++)
        bloomfile_contains_digest(f, step * page + step / 2);
}

uint64_t live_add(bloomfile *f, const bloomfile_digest *digests, size_t count)
{
    uint64_t total = 0;
    for (size_t done = 0; done < count; done += LIVE_BATCH) {
        size_t new_keys, n = count - done < LIVE_BATCH ? count - done : LIVE_BATCH;
        bench_check(bloomfile_add_digests(f, digests + done, n, NULL, &new_keys), "add keys");
        total += new_keys;
    }
    return total;
}
