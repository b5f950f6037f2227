/* SPDX-License-Identifier: MIT
 * Processes add keys, each through its own handle, while more processes try to seal the file and a
 * reader opens it repeatedly. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ROUNDS = 200,
    ADDERS = 2,
    SEALERS = 2,
    READERS = 1,
    MOST_ADDS = 50 /* of each adder */
};

/* Shared state of all processes of a round. */
struct race {
    atomic_uint started;
    atomic_bool sealed;         /* a bloomfile_seal() returned 0 */
    atomic_uint added[ADDERS];  /* adds that returned 0 */
    atomic_uint busy, refused;  /* attempts to seal and to open, over all rounds */
    atomic_uint handles, looks; /* adds, and checks of a live file, over all rounds */
};

static struct race *race;

static uint64_t key_of(unsigned adder, unsigned i)
{
    return 1000 * (adder + 1) + i;
}

static void wait_for_the_others(void)
{
    atomic_fetch_add(&race->started, 1);
    while (atomic_load(&race->started) < ADDERS + SEALERS + READERS)
        sched_yield();
}

/* Adds until the file is sealed. Returns 0 if every call behaved correctly. */
static int add_keys(unsigned adder)
{
    for (unsigned i = 0; i < MOST_ADDS;) {
        bloomfile_filter *f;
        int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
        if (error == BLOOMFILE_ESEALED)
            return 0;
        if (error == EBUSY) {
            atomic_fetch_add(&race->refused, 1);
            sched_yield();
            continue;
        }
        if (error != 0)
            return 1;
        error = bloomfile_add_digest(f, number(0, key_of(adder, i)), NULL);
        if (error != 0 || atomic_load(&race->sealed))
            return 1; /* a file cannot be sealed while a writer has it open */
        atomic_store(&race->added[adder], ++i);
        atomic_fetch_add(&race->handles, 1);
        bloomfile_close(f);
    }
    return 0;
}

static int seal_it(void)
{
    for (;;) {
        bloomfile_filter *f;
        int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
        if (error == BLOOMFILE_ESEALED)
            return 0;
        if (error == 0)
            error = bloomfile_seal(f, NULL);
        if (error == 0) {
            atomic_store(&race->sealed, true);
            bool whole = bloomfile_verify(f, 1, NULL) == 0;
            bloomfile_close(f);
            return !whole;
        }
        bloomfile_close(f);
        if (error != EBUSY)
            return 1;
        atomic_fetch_add(&race->busy, 1);
        sched_yield();
    }
}

/* Whether the filter has every key whose add has returned. */
static bool has_added(const bloomfile_filter *f, const unsigned *added)
{
    for (unsigned adder = 0; adder < ADDERS; adder++)
        if (!has_numbers(f, key_of(adder, 0), key_of(adder, added[adder])))
            return false;
    return has_numbers(f, 0, LIVE_KEYS);
}

static bool sealed_is_whole(void)
{
    bloomfile_filter *f;
    unsigned added[ADDERS];
    for (unsigned adder = 0; adder < ADDERS; adder++)
        added[adder] = atomic_load(&race->added[adder]);
    bool whole =
        bloomfile_open(&f, "filter", BLOOMFILE_OPEN_VERIFY_FULL) == 0 && has_added(f, added);
    bloomfile_close(f);
    return whole;
}

static int read_all_the_time(void)
{
    for (bool sealed = false; !sealed;) {
        unsigned added[ADDERS];
        for (unsigned adder = 0; adder < ADDERS; adder++)
            added[adder] = atomic_load(&race->added[adder]);
        bloomfile_filter *f;
        if (bloomfile_open(&f, "filter", 0) != 0)
            return 1;
        sealed = info_of(f).state == BLOOMFILE_STATE_SEALED;
        bool right = has_added(f, added) && bloomfile_check(f) == 0;
        bloomfile_close(f);
        if (!right || (sealed && !sealed_is_whole()))
            return 1;
        atomic_fetch_add(&race->looks, !sealed);
    }
    return 0;
}

static int take_part(unsigned who)
{
    alarm(60);
    wait_for_the_others();
    if (who < ADDERS)
        return add_keys(who);
    return who < ADDERS + SEALERS ? seal_it() : read_all_the_time();
}

static void race_once(void)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    atomic_store(&race->started, 0);
    atomic_store(&race->sealed, false);
    for (unsigned adder = 0; adder < ADDERS; adder++)
        atomic_store(&race->added[adder], 0);
    pid_t children[ADDERS + SEALERS + READERS];
    for (unsigned i = 0; i < ROWS(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(take_part(i));
    }
    for (unsigned i = 0; i < ROWS(children); i++)
        assert_child_succeeds(children[i]);
    assert_true(atomic_load(&race->sealed));
    assert_true(sealed_is_whole());
    assert_flawless(flaw_of_sealed_file("filter"));
    uint64_t keys = LIVE_KEYS;
    for (unsigned adder = 0; adder < ADDERS; adder++)
        keys += atomic_load(&race->added[adder]);
    assert_int_equal(info_of_file("filter").keys, keys);
    assert_int_equal(info_of_file("filter").keys_estimated, 0);
    assert_int_equal(unlink("filter"), 0);
}

TEST_IN_DIR(concurrent_seal_keeps_every_key_and_is_never_seen_half_done)
{
    race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(race, MAP_FAILED);
    for (unsigned round = 0; round < ROUNDS; round++)
        race_once();
    print_message("%u adds; %u seals and %u opens were busy; %u looks at a live file\n",
                  race->handles, race->busy, race->refused, race->looks);
    assert_true(race->handles > 0 && race->busy > 0 && race->looks > 0);
    munmap(race, sizeof *race);
}

int main(void)
{
    return run_all(NULL, NULL);
}
