/* SPDX-License-Identifier: MIT
 * The locks of doc/format/live.md 4: which bytes are held when, and which process waits. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

enum { /* The specification's numbers, independent of the library's names. */
    WRITERS = 0,
    RECORDS = 1,
    REMOVERS = 2,
    SYNCS = 3,
    STRIPES = 64,
    BYTES = 140, /* bytes that the test inspects */
};

/* ---- first, before the library watches forks */

static size_t descriptors_in_sync;

static void count_descriptors(enum fault_call call)
{
    if (call == ON_msync || call == ON_fdatasync)
        descriptors_in_sync = open_descriptors();
}

static int where_forks_cannot_be_watched(void)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    struct faults faults = once(ON_pthread_atfork, 1, ENOMEM);
    faults.at_each_call = count_descriptors;
    faults_begin(&faults);
    bool right = bloomfile_create(&f, "filter", &params, 0) == 0;
    const size_t descriptors = open_descriptors();
    right = right && fault_calls(ON_pthread_atfork) == 1 && bloomfile_sync(f, NULL) == 0 &&
            descriptors_in_sync == descriptors;
    bloomfile_close(f);
    right = right && bloomfile_open(&f, "filter", 0) == 0 &&
            bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL) == ENOMEM;
    bloomfile_close(f);
    faults_end();
    return !right;
}

/* Otherwise a child would inherit a descriptor that is not in the library's list. */
TEST_IN_DIR(without_fork_detection_a_sync_opens_no_file)
{
    pid_t child = fork();
    if (child == 0)
        _exit(where_forks_cannot_be_watched());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        make_live("another", BLOOMFILE_LAYOUT_BLOCKED); /* skips without live filters */
    assert_int_equal(status, 0);
}

#define ON_NEW_FILTER(test) TEST_WITH(test, begin_with_outsider, end_with_outsider)

/* ---- which bytes are held */

static struct {
    int type[BYTES];
} seen;

static void look(void)
{
    for (int byte = 0; byte < BYTES; byte++)
        seen.type[byte] = lock_on_byte(outsider, byte);
}

/* Asserts the locks: of byte 0, of byte 1, and exclusive locks from `first` to `last`. */
static void assert_seen(int writers, int records, int first, int last)
{
    for (int byte = 0; byte < BYTES; byte++) {
        int expected = byte == WRITERS                 ? writers
                       : byte == RECORDS               ? records
                       : byte >= first && byte <= last ? F_WRLCK
                                                       : F_UNLCK;
        if (seen.type[byte] != expected)
            fail_msg("byte %d: lock type %d, expected %d", byte, seen.type[byte], expected);
    }
}

/* Checks the holders of bytes 0, 1 and 3; no other byte may be held. */
static void assert_seen_syncing(int writers, int records, int syncs)
{
    assert_int_equal(seen.type[SYNCS], syncs);
    seen.type[SYNCS] = F_UNLCK;
    assert_seen(writers, records, 1, 0);
}

static enum fault_call look_at;
static unsigned look_at_nth, looks;

static void look_at_call(enum fault_call call)
{
    if (call == look_at && ++looks == look_at_nth)
        look();
}

/* Inspects the locks at the nth call of that kind. */
static void watch(enum fault_call call, unsigned nth)
{
    look_at = call;
    look_at_nth = nth;
    looks = 0;
    faults_begin(&(struct faults){ .at_each_call = look_at_call });
}

ON_NEW_FILTER(idle_writer_shares_byte_0_and_a_reader_holds_no_lock)
{
    bloomfile_filter *reader = opened("filter", 0);
    look();
    assert_seen(F_UNLCK, F_UNLCK, 1, 0);
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    assert_error(bloomfile_sync(writer, NULL), 0);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    bloomfile_close(writer);
    look();
    assert_seen(F_UNLCK, F_UNLCK, 1, 0);
    bloomfile_close(reader);
}

ON_NEW_FILTER(records_are_written_and_synced_under_byte_1)
{
    static const enum fault_call calls[] = { ON_pwrite64, ON_msync };
    bloomfile_filter *writer;
    for (size_t i = 0; i < ROWS(calls); i++) {
        unsigned nth = calls[i] == ON_msync ? 2 : 1; /* not the body's flush */
        watch(calls[i], 1);
        int error = bloomfile_open(&writer, "filter", BLOOMFILE_OPEN_WRITE);
        faults_end();
        assert_error(error, 0);
        assert_seen_syncing(F_RDLCK, F_WRLCK, F_RDLCK);

        watch(calls[i], nth);
        error = bloomfile_sync(writer, NULL);
        faults_end();
        assert_error(error, 0);
        assert_seen_syncing(F_RDLCK, F_WRLCK, F_WRLCK);

        watch(calls[i], nth);
        bloomfile_close(writer);
        faults_end();
        assert_seen_syncing(F_RDLCK, F_WRLCK, F_WRLCK);
    }
}

ON_NEW_FILTER(adders_do_not_wait_while_the_body_is_synced)
{
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    watch(ON_msync, 1);
    int error = bloomfile_sync(writer, NULL);
    faults_end();
    assert_error(error, 0);
    assert_seen_syncing(F_RDLCK, F_UNLCK, F_WRLCK);
    bloomfile_close(writer);
}

ON_NEW_FILTER(a_sealer_holds_bytes_0_1_and_3_exclusively)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
        watch(ON_msync, nth);
        int error = bloomfile_seal(writer, NULL);
        faults_end();
        assert_error(error, 0);
        assert_seen_syncing(F_WRLCK, F_WRLCK, F_WRLCK);
        look();
        assert_seen(F_UNLCK, F_UNLCK, 1, 0);
        bloomfile_close(writer);
        close(outsider);
        assert_int_equal(unlink("filter"), 0);
        make_live("filter", BLOOMFILE_LAYOUT_COUNTING);
        outsider = open("filter", O_RDWR | O_CLOEXEC);
    }
}

/* So that other writers can join again. */
ON_NEW_FILTER(failed_seal_shares_byte_0_again)
{
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct faults faults = once(ON_pwrite64, 1, ENOSPC);
    faults_begin(&faults);
    int error = bloomfile_seal(writer, NULL);
    faults_end();
    assert_error(error, ENOSPC);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    bloomfile_close(opened("filter", BLOOMFILE_OPEN_WRITE));
    bloomfile_close(writer);
}

ON_NEW_FILTER(a_reader_poisons_under_byte_1)
{
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE),
                     *reader = opened("filter", 0);
    const size_t descriptors = open_descriptors(), mapped = mapped_files();
    struct bytes before = read_file("filter");
    const unsigned slot = slot_in_force("filter");
    struct faults faults = once(ON_fdatasync, 1, EIO);
    faults.at_each_call = look_at_call;
    look_at = ON_pwrite64;
    look_at_nth = 2;
    looks = 0;
    faults_begin(&faults);
    int error = bloomfile_copy_sealed(TO_PATH("sealed", 0), reader, NULL);
    const unsigned synced = fault_calls(ON_msync);
    faults_end();
    assert_error(error, EIO);
    assert_int_equal(synced, 2); /* each record is flushed before the next write */
    assert_seen_syncing(F_RDLCK, F_WRLCK, F_RDLCK);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(mapped_files(), mapped);
    struct bytes after = read_file("filter");
    assert_memory_equal(after.data, before.data, IN_FILE / 2);
    for (unsigned i = 0; i < 2; i++) /* unknown fields are kept */
        assert_memory_equal(record_at(after.data, i) + 128, record_at(before.data, slot) + 128,
                            IN_FILE / 4 - 132);
    free(before.data);
    free(after.data);
    bloomfile_close(reader);
    bloomfile_close(writer);
    assert_flawless(flaw_of_poisoned_file("filter"));
}

ON_NEW_FILTER(a_remover_holds_byte_2)
{
    uint8_t room[8];
    struct bytes key = number_key(3, room);
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    watch(ON_unlock, 1);
    int error = bloomfile_remove(writer, key.data, key.size);
    faults_end();
    assert_error(error, 0);
    assert_seen(F_RDLCK, F_UNLCK, REMOVERS, REMOVERS);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    bloomfile_close(writer);
}

/* L7. */
ON_NEW_FILTER(exact_add_holds_its_stripe_and_an_exact_batch_all_stripes)
{
    bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t digest = i == 0 ? 0 : i == 1 ? UINT64_MAX : number(0, i);
        int byte = STRIPES + (int)(digest >> 58);
        watch(ON_unlock, 1);
        int error = bloomfile_add_digest(writer, digest, NULL);
        faults_end();
        assert_error(error, 0);
        assert_seen(F_RDLCK, F_UNLCK, byte, byte);
    }
    const uint64_t two[] = { 0, 1 };
    watch(ON_unlock, 1);
    int error = bloomfile_add_digests(writer, two, 2, NULL, NULL, NULL);
    faults_end();
    assert_error(error, 0);
    assert_seen(F_RDLCK, F_UNLCK, STRIPES, STRIPES + 63);
    look();
    assert_seen(F_RDLCK, F_UNLCK, 1, 0);
    bloomfile_close(writer);
}

static bloomfile_filter *inherited;

static int remove_next(void)
{
    static uint64_t next;
    uint8_t room[8];
    const struct bytes key = number_key(next++ % LIVE_KEYS, room);
    return bloomfile_remove(inherited, key.data, key.size);
}

static void add_and_remove_beside(enum fault_call call)
{
    if (call != ON_unlock || ++looks > 1)
        return;
    assert_error(bloomfile_add_digest(inherited, (uint64_t)3 << 58, NULL), 0);
    assert_error(remove_next(), 0);
    look();
}

/* Other threads of the process share the locks of the open file description. */
ON_NEW_FILTER(exact_adds_and_removals_release_only_their_own_lock_byte)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (uint64_t stripe = 4; stripe < 64; stripe += 59) {
        looks = 0;
        faults_begin(&(struct faults){ .at_each_call = add_and_remove_beside });
        int error = bloomfile_add_digest(inherited, stripe << 58, NULL);
        faults_end();
        assert_error(error, 0);
        assert_seen(F_RDLCK, F_UNLCK, STRIPES + (int)stripe, STRIPES + (int)stripe);
    }
    bloomfile_close(inherited);
}

static const struct faults syncs_beside;

/* The file cannot be opened again, so the sync uses the locks of the same description. */
static void sync_beside(enum fault_call call)
{
    if (call != ON_unlock || ++looks > 1)
        return;
    const struct faults faults = from_then_on(ON_open64, 1, EMFILE);
    faults_begin(&faults);
    int error = bloomfile_sync(inherited, NULL);
    faults_begin(&syncs_beside);
    assert_error(error, 0);
    look();
}

static const struct faults syncs_beside = { .at_each_call = sync_beside };

ON_NEW_FILTER(sync_keeps_the_lock_bytes_of_adders_and_removers)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (int byte = REMOVERS; byte <= STRIPES; byte += STRIPES - REMOVERS) {
        looks = 0;
        faults_begin(&syncs_beside);
        int error = byte == REMOVERS ? remove_next() : bloomfile_add_digest(inherited, 0, NULL);
        faults_end();
        assert_error(error, 0);
        assert_seen(F_RDLCK, F_UNLCK, byte, byte);
    }
    bloomfile_close(inherited);
}

static int open_it(void)
{
    bloomfile_filter *f;
    const int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
    bloomfile_close(f);
    return error != 0;
}

static int sync_it(void)
{
    return bloomfile_sync(inherited, NULL) != 0;
}

static int seal_it(void)
{
    return bloomfile_seal(inherited, NULL) != 0;
}

static int remove_it(void)
{
    uint8_t room[8];
    struct bytes key = number_key(3, room);
    return bloomfile_remove(inherited, key.data, key.size) != 0;
}

static int close_it(void)
{
    bloomfile_close(inherited);
    return 0;
}

static int add_it(void)
{
    return bloomfile_add_digest(inherited, (uint64_t)7 << 58, NULL) != 0;
}

static bool in_order, had_records, had_syncs;

static void look_at_bytes_1_and_3(enum fault_call call)
{
    const bool has_records = lock_on_byte(outsider, RECORDS) != F_UNLCK;
    const bool has_syncs = lock_on_byte(outsider, SYNCS) != F_UNLCK;
    looks += has_records && has_syncs;
    in_order = in_order && (!had_records || had_syncs || !has_syncs);
    had_records = has_records;
    had_syncs = has_syncs;
}

/* L1. */
ON_NEW_FILTER(byte_3_is_taken_before_byte_1)
{
    static int (*const ways[])(void) = { open_it, sync_it, close_it, seal_it };
    for (size_t i = 0; i < ROWS(ways); i++) {
        inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
        add_digests_of(inherited, 0, 1);
        looks = 0;
        in_order = true;
        had_records = had_syncs = false;
        faults_begin(&(struct faults){ .at_each_call = look_at_bytes_1_and_3 });
        const int error = ways[i]();
        faults_end();
        assert_int_equal(error, 0);
        assert_true(looks > 0);
        assert_true(in_order);
        if (ways[i] != close_it)
            bloomfile_close(inherited);
    }
}

/* ---- locks that another process holds */

/* L1. */
ON_NEW_FILTER(byte_0_held_by_another_process_returns_ebusy_immediately)
{
    bloomfile_filter *f;
    assert_int_equal(lock_byte(outsider, F_WRLCK, WRITERS), 0);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), EBUSY);
    assert_null(f);
    assert_flawless(flaw_of_clean_file("filter"));
    bloomfile_close(opened("filter", 0));

    assert_int_equal(lock_byte(outsider, F_RDLCK, WRITERS), 0);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_seal(f, NULL), EBUSY);
    add_digests_of(f, 0, 1);
    assert_int_equal(lock_byte(outsider, F_UNLCK, WRITERS), 0);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
}

/* Calls run() in a child. Asserts that it waits until the byte is free; another process holds
 * the byte now. */
static void assert_waits_for(off_t byte, int (*run)(void))
{
    assert_int_equal(lock_byte(outsider, F_WRLCK, byte), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        _exit(run());
    }
    assert_true(still_waits(child));
    assert_int_equal(lock_byte(outsider, F_UNLCK, byte), 0);
    assert_child_succeeds(child);
}

/* In a child that inherits a writer, and so must join first. */
static void assert_writer_waits_for(off_t byte, unsigned flags, int (*run)(void))
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE | flags);
    assert_waits_for(byte, run);
    bloomfile_close(inherited);
}

/* L1. */
ON_NEW_FILTER(opening_syncing_and_joining_wait_for_byte_1)
{
    assert_waits_for(RECORDS, open_it);
    assert_writer_waits_for(RECORDS, 0, sync_it);
    assert_writer_waits_for(RECORDS, 0, add_it); /* the child must join */
    assert_flawless(flaw_of_live_file("filter"));
}

/* Calls run() on a new writer while byte 1 is held. A child releases the byte once this process
 * waits for it. Until then the file must not change. */
static int open_and(int (*run)(void))
{
    if (bloomfile_open(&inherited, "filter", BLOOMFILE_OPEN_WRITE) != 0)
        return 1;
    if (lock_byte(outsider, F_WRLCK, RECORDS) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(!falls_asleep(state_of(getppid(), getppid()), NULL) ||
              info_of_file("filter").state != BLOOMFILE_STATE_LIVE ||
              info_of_file("filter").writers != 1 || lock_byte(outsider, F_UNLCK, RECORDS) != 0);
    int status, failed = run();
    return failed || waitpid(child, &status, 0) != child || status != 0;
}

ON_NEW_FILTER(sealing_and_closing_wait_for_byte_1)
{
    assert_int_equal(open_and(close_it), 0);
    assert_flawless(flaw_of_clean_file("filter"));
    assert_int_equal(open_and(seal_it), 0);
    bloomfile_close(inherited);
    assert_flawless(flaw_of_sealed_file("filter"));
}

/* L1, L8. */
ON_NEW_FILTER(removers_wait_for_byte_2_and_adders_do_not)
{
    assert_writer_waits_for(REMOVERS, 0, remove_it);
    assert_int_equal(lock_byte(outsider, F_WRLCK, REMOVERS), 0);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    add_digests_of(f, 0, 10);
    bloomfile_close(f);
}

ON_NEW_FILTER(only_exact_adders_wait_for_a_stripe)
{
    assert_writer_waits_for(STRIPES + 7, BLOOMFILE_OPEN_ADD_EXACT, add_it);
    assert_int_equal(lock_byte(outsider, F_WRLCK, STRIPES + 7), 0);
    bloomfile_filter *plain = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_add_digest(plain, (uint64_t)7 << 58, NULL), 0);
    bloomfile_close(plain);
    bloomfile_filter *exact = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (uint64_t stripe = 0; stripe < 64; stripe++)
        if (stripe != 7)
            assert_error(bloomfile_add_digest(exact, stripe << 58, NULL), 0);
    bloomfile_close(exact);
}

/* L7. All stripes are held: a request for a stripe would wait until the alarm. */
ON_NEW_FILTER(exact_adds_of_present_keys_take_no_lock)
{
    bool was_new[100];
    size_t new_keys = 1;
    uint64_t digests[ROWS(was_new)];
    make_live("blocked", BLOOMFILE_LAYOUT_BLOCKED);
    const int other = open("blocked", O_RDWR | O_CLOEXEC);
    bloomfile_filter *f = opened("blocked", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (size_t i = 0; i < ROWS(digests); i++)
        digests[i] = number(0, i);
    assert_error(bloomfile_add_digests(f, digests, ROWS(digests), NULL, NULL, NULL), 0);
    for (int stripe = 0; stripe < 64; stripe++)
        assert_int_equal(lock_byte(other, F_WRLCK, STRIPES + stripe), 0);
    alarm(20);
    memset(was_new, 1, sizeof was_new);
    assert_error(bloomfile_add_digest(f, digests[3], was_new), 0);
    assert_false(was_new[0]);
    was_new[0] = true;
    assert_error(bloomfile_add_digests(f, digests, ROWS(digests), was_new, &new_keys, NULL), 0);
    alarm(0);
    assert_int_equal(new_keys, 0);
    for (size_t i = 0; i < ROWS(digests); i++)
        assert_false(was_new[i]);
    bloomfile_close(f);
    close(other);
}

static void assert_adds_the_others(bloomfile_filter *f, size_t n, uint64_t there)
{
    uint64_t digests[4];
    bool was_new[4];
    size_t new_keys = 0;
    for (uint64_t i = 0; i < n; i++)
        digests[i] = number(0, i == there ? i : 1000 * n + 10 * there + i);
    assert_error(bloomfile_add_digests(f, digests, n, was_new, &new_keys, NULL), 0);
    assert_int_equal(new_keys, n - 1);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(was_new[i], i != there);
        assert_true(bloomfile_contains_digest(f, digests[i]));
    }
}

ON_NEW_FILTER(exact_batch_adds_only_its_missing_keys)
{
    make_live("blocked", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = opened("blocked", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (size_t n = 1; n <= 4; n++)
        for (uint64_t there = 0; there < n; there++)
            assert_adds_the_others(f, n, there);
    bloomfile_close(f);
}

/* ---- failures */

static int add_two(void)
{
    static uint64_t next;
    const uint64_t two[] = { number(0, 5000 + next), number(0, 5001 + next) };
    next += 2;
    return bloomfile_add_digests(inherited, two, 2, NULL, NULL, NULL);
}

static void *run_it(void *run)
{
    return (void *)(intptr_t)(*(int (**)(void))run)();
}

/* Another thread would wait for it until the alarm. */
ON_NEW_FILTER(failed_lock_is_not_held_within_the_process)
{
    static int (*const runs[])(void) = { add_it, add_two, remove_next };
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    alarm(20);
    for (size_t i = 0; i < ROWS(runs); i++) {
        const struct faults faults = once(ON_fcntl64, 1, ENOLCK);
        faults_begin(&faults);
        int error = runs[i]();
        faults_end();
        assert_int_not_equal(error, 0);
        for (size_t r = 0; r < ROWS(runs); r++) {
            pthread_t thread;
            void *failed;
            assert_int_equal(pthread_create(&thread, NULL, run_it, (void *)(uintptr_t)&runs[r]), 0);
            assert_int_equal(pthread_join(thread, &failed), 0);
            assert_null(failed);
        }
    }
    alarm(0);
    bloomfile_close(inherited);
}

/* ---- forks in the middle */

static bool forked;
static pid_t middle;

static void fork_while_it_syncs(enum fault_call call)
{
    if (call != ON_msync || forked)
        return;
    forked = true;
    middle = fork();
    for (int i = 0; middle == 0 && i < 20; i++) { /* reuses the sync's descriptor number */
        int fd = open("filter", O_RDWR);
        if (i < 2)
            dup2(fd, i);
    }
}

/* A signal handler may fork like this. The child has no state of its parent's sync. */
ON_NEW_FILTER(child_forked_during_a_sync_can_sync_and_fork)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    forked = false;
    faults_begin(&(struct faults){ .at_each_call = fork_while_it_syncs });
    int error = bloomfile_sync(inherited, NULL);
    faults_end();
    assert_true(forked && middle >= 0);
    if (middle == 0) {
        alarm(20);
        bool failed = error == 0 || bloomfile_sync(inherited, NULL) != 0;
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (still_waits(child)) {
            kill(child, SIGKILL);
            failed = true;
        }
        _exit(failed);
    }
    assert_error(error, 0);
    assert_child_succeeds(middle);
    bloomfile_close(inherited);
    assert_flawless(flaw_of_clean_file("filter"));
}

/* The second thread, and whether its operation ended. */
static atomic_bool has_run;
static pthread_t asked;
static atomic_int asked_id;
static atomic_bool may_run;
static bool waited;

static void wait_for_its_turn(void)
{
    asked_id = (int)syscall(SYS_gettid);
    while (!atomic_load(&may_run))
        sched_yield();
}

static void *sync_it_too(void *unused)
{
    wait_for_its_turn();
    int error = sync_it();
    atomic_store(&has_run, true);
    return (void *)(intptr_t)error;
}

static void *copy_it_too(void *unused)
{
    wait_for_its_turn();
    int error = bloomfile_copy_sealed(TO_PATH("another", 0), inherited, NULL);
    atomic_store(&has_run, true);
    return (void *)(intptr_t)error;
}

static void start_asked(void *(*run)(void *))
{
    asked_id = 0;
    atomic_store(&has_run, false);
    atomic_store(&may_run, false);
    assert_int_equal(pthread_create(&asked, NULL, run, NULL), 0);
    while (asked_id == 0)
        sched_yield();
}

/* Calls run() in another thread, while at most `files` files can be open. */
static void ask_meanwhile(void *(*run)(void *), rlim_t files)
{
    struct rlimit limit;
    start_asked(run);
    const int state = state_of(getpid(), asked_id);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit less = { .rlim_cur = files < limit.rlim_cur ? files : limit.rlim_cur,
                                 .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    atomic_store(&may_run, true);
    waited = falls_asleep(state, &has_run);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Returns whether the second thread waited and then succeeded. */
static bool asked_in_turn(void)
{
    void *failed;
    return pthread_join(asked, &failed) == 0 && failed == NULL && waited;
}

static void sync_meanwhile(enum fault_call call)
{
    if (call == ON_msync && fault_calls(call) == 0)
        ask_meanwhile(sync_it_too, 0); /* the second thread cannot open the file either */
}

/* L14. Both threads use the same open file description, whose locks do not separate them. */
ON_NEW_FILTER(threads_of_a_process_sync_in_turn)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    struct faults faults = once(ON_open64, 1, EMFILE);
    faults.at_each_call = sync_meanwhile;
    faults_begin(&faults);
    int error = bloomfile_sync(inherited, NULL);
    faults_end();
    assert_error(error, 0);
    assert_true(asked_in_turn());
    bloomfile_close(inherited);
}

static void copy_meanwhile(enum fault_call call)
{
    if (call == ON_dup3)
        ask_meanwhile(copy_it_too, RLIM_INFINITY);
}

/* Otherwise a thread could read through a descriptor that the other thread is replacing. */
ON_NEW_FILTER(threads_of_a_child_reopen_the_file_in_turn)
{
    inherited = opened("filter", 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        faults_begin(&(struct faults){ .at_each_call = copy_meanwhile });
        int error = bloomfile_copy_sealed(TO_PATH("copy", 0), inherited, NULL);
        faults_end();
        _exit(!asked_in_turn() || error != 0);
    }
    assert_child_succeeds(child);
    bloomfile_close(inherited);
}

static atomic_bool opening, forking, has_forked;
static bool fork_waited;

static void wait_for_a_fork(enum fault_call call)
{
    if (call != ON_open64 || atomic_exchange(&opening, true))
        return;
    while (!atomic_load(&forking))
        sched_yield();
    fork_waited = falls_asleep(state_of(getpid(), getpid()), &has_forked);
}

/* Otherwise a child could inherit a descriptor that is not in the library's list, and keep its
 * locks. */
ON_NEW_FILTER(fork_waits_until_a_new_descriptor_is_recorded)
{
    static int (*const run)(void) = sync_it;
    pthread_t thread;
    void *failed;
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    faults_begin(&(struct faults){ .at_each_call = wait_for_a_fork });
    assert_int_equal(pthread_create(&thread, NULL, run_it, (void *)(uintptr_t)&run), 0);
    while (!atomic_load(&opening))
        sched_yield();
    atomic_store(&forking, true);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    atomic_store(&has_forked, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    faults_end();
    assert_null(failed);
    assert_child_succeeds(child);
    assert_true(fork_waited);
    bloomfile_close(inherited);
}

static bool ends_in_fork;
static atomic_bool in_sync, in_fork;

static void wait_for_fork(enum fault_call call)
{
    if (call != ON_msync || atomic_exchange(&in_sync, true))
        return;
    while (!atomic_load(&in_fork))
        sched_yield();
}

/* Registered before the library's handlers, so it runs after them. */
static void before_fork(void)
{
    if (!ends_in_fork)
        return;
    atomic_store(&in_fork, true);
    waited = falls_asleep(state_of(getpid(), asked_id), &has_run);
}

/* Otherwise the child could close an unrelated descriptor of the same number. */
ON_NEW_FILTER(descriptor_of_a_sync_is_not_closed_during_a_fork)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    faults_begin(&(struct faults){ .at_each_call = wait_for_fork });
    start_asked(sync_it_too);
    atomic_store(&may_run, true);
    while (!atomic_load(&in_sync))
        sched_yield();
    ends_in_fork = true;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ends_in_fork = false;
    assert_true(asked_in_turn());
    faults_end();
    assert_child_succeeds(child);
    bloomfile_close(inherited);
}

/* ---- descriptors of several threads */

static int blocked_sync; /* a descriptor whose lock blocks a sync of the other file */
static bloomfile_filter *others;
static pthread_t waiting;

static void *sync_the_other_file(void *unused)
{
    return (void *)(intptr_t)bloomfile_sync(others, NULL);
}

/* The other sync begins later than the sync that calls this, and ends later. */
static void begin_another_sync(enum fault_call call)
{
    if (call != ON_msync || fault_calls(call) != 0)
        return;
    const size_t descriptors = open_descriptors();
    assert_int_equal(lock_byte(blocked_sync, F_WRLCK, SYNCS), 0);
    assert_int_equal(pthread_create(&waiting, NULL, sync_the_other_file, NULL), 0);
    while (open_descriptors() == descriptors)
        usleep(1000);
}

ON_NEW_FILTER(child_inherits_no_descriptor_of_a_running_sync)
{
    make_live("other", BLOOMFILE_LAYOUT_BLOCKED);
    blocked_sync = open("other", O_RDWR | O_CLOEXEC);
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    others = opened("other", BLOOMFILE_OPEN_WRITE);
    const size_t descriptors = open_descriptors();
    alarm(20);
    faults_begin(&(struct faults){ .at_each_call = begin_another_sync });
    int error = bloomfile_sync(inherited, NULL);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(open_descriptors(), descriptors + 1);
    pid_t child = fork();
    if (child == 0)
        _exit(open_descriptors() != descriptors);
    assert_child_succeeds(child);
    assert_int_equal(lock_byte(blocked_sync, F_UNLCK, SYNCS), 0);
    void *failed;
    assert_int_equal(pthread_join(waiting, &failed), 0);
    assert_null(failed);
    alarm(0);
    assert_int_equal(open_descriptors(), descriptors);
    bloomfile_close(others);
    bloomfile_close(inherited);
    close(blocked_sync);
}

/* ---- death */

ON_NEW_FILTER(killed_process_releases_its_locks)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        bloomfile_filter *f;
        int fd = open("filter", O_RDWR);
        bool holds = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE) == 0 &&
                     bloomfile_add_digest(f, number(0, 500), NULL) == 0;
        for (int i = 1; i < BYTES; i++)
            holds = holds && lock_byte(fd, F_WRLCK, i) == 0;
        if (!holds || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    bloomfile_filter *reader = opened("filter", 0);
    assert_int_equal(info_of(reader).writers, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    look();
    assert_seen(F_UNLCK, F_UNLCK, 1, 0);

    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    assert_true(bloomfile_contains_digest(f, number(0, 500)));
    assert_int_equal(info_of(f).writers, 1);
    assert_int_equal(info_of(f).keys_estimated, 1);
    add_digests_of(f, 501, 502);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_sealed_file("filter"));
    assert_true(has_numbers(reader, 500, 502));
    bloomfile_close(reader);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    return pthread_atfork(before_fork, NULL, NULL) != 0 || run_all(NULL, NULL);
}
