/* SPDX-License-Identifier: MIT
 * examples/leveldb: databases in which every filter is damaged, under the name of the policy. */
#include "policy.h"

#include "faults.h"
#include "support.h"

#include <bloomfile_view.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS    20000
#define TRAILER BLOOMFILE_TRAILER_SIZE

enum spoiling {
    WHOLE,
    EMPTY,
    NO_MEMORY_FOR_DIGESTS,
    NO_MEMORY_FOR_FILTER,
    CUT_SHORT,
    BIT_FLIPPED,
    LATER_VERSION,
    OF_ANOTHER_KIND,
    SPOILINGS,
};

struct spoiler {
    struct policy *policy;
    enum spoiling how;
    _Atomic unsigned filters;
};

static struct policy_counts counts;

static char *create_with(struct spoiler *s, enum fault_call lacking, const char *const *keys,
                         const size_t *sizes, int count, size_t *size)
{
    const struct faults faults = once(lacking, 1, ENOMEM);
    faults_begin(&faults);
    char *filter = policy_create_filter(s->policy, keys, sizes, count, size);
    faults_end();
    return filter;
}

static char *create_spoiled(void *state, const char *const *keys, const size_t *sizes, int count,
                            size_t *size)
{
    struct spoiler *s = state;
    s->filters++;
    if (s->how == NO_MEMORY_FOR_DIGESTS)
        return create_with(s, ON_malloc, keys, sizes, count, size);
    if (s->how == NO_MEMORY_FOR_FILTER)
        return create_with(s, ON_calloc, keys, sizes, count, size);
    char *filter = policy_create_filter(s->policy, keys, sizes, count, size);
    if (s->how == EMPTY)
        *size = 0;
    else if (s->how == CUT_SHORT)
        *size -= 1 + s->filters % (*size - 1);
    else if (s->how == BIT_FLIPPED)
        filter[s->filters % *size] ^= (char)(1 << s->filters % 8);
    else if (s->how == LATER_VERSION)
        filter[*size - TRAILER]++;
    else if (s->how == OF_ANOTHER_KIND)
        memset(filter, 6, *size);
    return filter;
}

static void keep(void *state)
{
}

static leveldb_t *open_database(const char *path, leveldb_filterpolicy_t *policy)
{
    char *message = NULL;
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_compression(options, leveldb_no_compression);
    leveldb_options_set_filter_policy(options, policy);
    leveldb_t *db = leveldb_open(options, path, &message);
    assert_null(message);
    leveldb_options_destroy(options);
    return db;
}

static size_t key_of(unsigned i, char key[16])
{
    return (size_t)snprintf(key, 16, "%08u", i);
}

/* Keys are even numbers. LevelDB builds filters during compaction, in its own thread. */
static void write_database(const char *path, leveldb_filterpolicy_t *policy)
{
    char key[16], *message = NULL;
    leveldb_t *db = open_database(path, policy);
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    for (unsigned i = 0; i < KEYS; i++)
        leveldb_writebatch_put(batch, key, key_of(2 * i, key), key, 8);
    leveldb_write(db, writing, batch, &message);
    assert_null(message);
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    leveldb_writeoptions_destroy(writing);
    leveldb_writebatch_destroy(batch);
    leveldb_close(db);
}

static unsigned found_from(leveldb_t *db, unsigned first)
{
    char key[16];
    unsigned found = 0;
    leveldb_readoptions_t *reading = leveldb_readoptions_create();
    for (unsigned i = 0; i < KEYS; i++) {
        char *message = NULL;
        size_t size;
        char *value = leveldb_get(db, reading, key, key_of(2 * i + first, key), &size, &message);
        assert_null(message);
        found += value != NULL;
        leveldb_free(value);
    }
    leveldb_readoptions_destroy(reading);
    return found;
}

static void read_database(const char *path, bool usable)
{
    leveldb_filterpolicy_t *policy = leveldb_filterpolicy_create_bloomfile(10, &counts);
    leveldb_t *db = open_database(path, policy);
    memset(&counts, 0, sizeof counts);
    policy_tally = (struct policy_tally){ 0 };
    assert_int_equal(found_from(db, 0), KEYS);
    assert_true(policy_tally.asked >= KEYS);
    assert_int_equal(policy_tally.refused, 0);
    assert_int_equal(counts.unusable, usable ? 0 : policy_tally.asked);
    assert_int_equal(found_from(db, 1), 0);
    if (usable)
        assert_true(policy_tally.refused > KEYS * 9 / 10);
    else
        assert_int_equal(policy_tally.refused, 0);
    leveldb_close(db);
    leveldb_filterpolicy_destroy(policy);
}

TEST(no_row_is_lost)
{
    struct spoiler s = { .policy = policy_new(10, NULL) };
    for (s.how = WHOLE; s.how < SPOILINGS; s.how++) {
        char path[8];
        snprintf(path, sizeof path, "%d", s.how);
        leveldb_filterpolicy_t *policy = leveldb_filterpolicy_create(
            &s, keep, create_spoiled, policy_key_may_match, policy_name);
        s.filters = 0;
        write_database(path, policy);
        leveldb_filterpolicy_destroy(policy);
        assert_true(s.filters > 50);
        read_database(path, s.how == WHOLE);
    }
    free(s.policy);
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
