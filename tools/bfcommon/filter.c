/* SPDX-License-Identifier: MIT
 * A blocked filter of the keys of the smallest input. */
#include "bfcommon/filter.h"
#include "bfcommon/lines.h"
#include "cli/cli.h"
#include "filters/params.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

enum {
    BITS_PER_KEY = 24, /* one key in some ten thousand passes by mistake */
    MOST_HASHES = 8    /* more would cost more time than they save */
};

void filter_make(struct filter *filter, uint64_t keys, uint64_t memory)
{
    uint64_t most = memory * 8;
    uint64_t bits = keys < most / BITS_PER_KEY ? keys * BITS_PER_KEY : most;
    const uint32_t block = bloomfile_traits_of(BLOOMFILE_BLOCKED)->unit_cells;
    bits = (bits / block + 1) * block;
    uint32_t hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, bits, keys > 0 ? keys : 1);
    *filter = (struct filter){ .size = bits / 8 };
    filter->seed = params_random();
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = BLOOMFILE_BLOCKED;
    params.bits = bits;
    params.hashes = hashes < MOST_HASHES ? hashes : MOST_HASHES;
    params.seed = filter->seed;
    int error = bloomfile_create_memory(&filter->f, &params,
                                        BLOOMFILE_SOLE_ADDER | BLOOMFILE_OVER_CAPACITY);
    if (error != 0)
        cli_fail(error, "cannot make a filter in memory");
}

static void hash_all(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                     bloomfile_digest *digests)
{
    for (size_t i = 0; i < n; i++)
        digests[i] = bloomfile_hash(filter->seed, keys[i].data, keys[i].size);
}

void filter_add(struct filter *filter, const struct bloomfile_key *keys, size_t n)
{
    bloomfile_digest digests[KEYS_BATCH];
    size_t new_keys;
    hash_all(filter, keys, n, digests);
    int error = bloomfile_add_digests(filter->f, digests, n, NULL, &new_keys, NULL);
    if (error != 0)
        cli_fail(error, "cannot add to a filter in memory");
    filter->keys += new_keys;
}

void filter_ask(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                bool *passed)
{
    bloomfile_digest digests[KEYS_BATCH];
    hash_all(filter, keys, n, digests);
    bloomfile_contains_digests(filter->f, digests, n, passed);
}

void filter_free(struct filter *filter)
{
    bloomfile_close(filter->f);
    *filter = (struct filter){ 0 };
}
