/* SPDX-License-Identifier: MIT
 * The live filter of bench-live: one file at a time, which is checked when it is closed. */
#include "live.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/program.h"
#include "harness/scratch.h"

static char file[4096 + 16];

bloomfile *live_create(const char *folder, unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile *f;
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
    bloomfile *f = bench_open(file, 0);
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
    bench_call(unlink(file), "remove the filter");
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
        bench_check(bloomfile_add_digests(f, digests + done, n, NULL, &new_keys, NULL), "add keys");
        total += new_keys;
    }
    return total;
}
