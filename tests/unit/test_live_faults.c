/* SPDX-License-Identifier: MIT
 * Every system call and allocation of a writer fails once, or from then on. Then the error is
 * returned, earlier adds are kept, nothing leaks, no lock remains, and the file is poisoned if
 * and only if msync() failed. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults.h"
#include "format/probe.h"

#define LAYOUT    BLOOMFILE_LAYOUT_COUNTING
#define REMOVABLE LIVE_KEYS       /* a number to remove */
#define NEW       (LIVE_KEYS + 1) /* a number to add */

enum outcome {
    LIVE,
    POISONED,
    SEALED
};

/* The handles of "filter". */
static bloomfile_filter *reader, *writer, *second;

/* The result of an operation. */
struct done {
    int returned;
    unsigned calls[FAULT_CALL_COUNT];
    size_t flushed;
    bool leaked;
};

static struct done *done; /* in memory shared with a child */

static void note(int returned)
{
    done->returned = returned;
    for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
        done->calls[call] = fault_calls((enum fault_call)call);
    done->flushed = fault_flushed();
    faults_end();
}

/* ---- operations: they end with note() */

static void open_second(void)
{
    note(bloomfile_open(&second, "filter", BLOOMFILE_OPEN_WRITE));
}

static void add_exactly(void)
{
    note(bloomfile_add_digest(writer, number(0, NEW), NULL));
}

static void add_many_exactly(void)
{
    uint64_t digests[3 * 128];
    for (size_t i = 0; i < ROWS(digests); i++)
        digests[i] = number(0, i % LIVE_KEYS);
    digests[0] = number(0, NEW);
    note(bloomfile_add_digests(writer, digests, ROWS(digests), NULL, NULL, NULL));
}

static void remove_key(void)
{
    uint8_t room[8];
    struct bytes key = number_key(REMOVABLE, room);
    note(bloomfile_remove(writer, key.data, key.size));
}

static void sync_it(void)
{
    note(bloomfile_sync(writer, NULL));
}

static void seal_it(void)
{
    note(bloomfile_seal(writer, NULL));
}

static void close_it(void)
{
    bloomfile_close(writer);
    writer = NULL;
    note(0);
}

static void add_in_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        size_t descriptors = open_descriptors(), files = mapped_files();
        int error = bloomfile_add_digest(writer, number(0, NEW), NULL);
        note(error);
        done->leaked = open_descriptors() != descriptors || mapped_files() != files;
        bool retried =
            bloomfile_check(writer) != 0 || bloomfile_add_digest(writer, number(0, NEW), NULL) == 0;
        bloomfile_close(writer);
        _exit(!retried);
    }
    faults_end();
    assert_child_succeeds(child);
    assert_false(done->leaked);
}

/* ---- the state that an operation leaves if a call of it fails */

static enum outcome poisoned_by_msync(enum fault_call call, unsigned nth)
{
    return call == ON_msync ? POISONED : LIVE;
}

/* The third msync() and the third write happen after the file is sealed. Three locks come before
 * that. */
static enum outcome sealed_by_first_record(enum fault_call call, unsigned nth)
{
    if ((call == ON_msync && nth == 3) || (call == ON_pwrite64 && nth == 3))
        return SEALED;
    if (call == ON_fcntl64 && nth <= 3)
        return LIVE;
    return call == ON_msync ? POISONED : call == ON_pwrite64 ? LIVE : SEALED;
}

static const struct operation {
    const char *what;
    unsigned flags; /* of the writer */
    void (*run)(void);
    enum outcome (*outcome)(enum fault_call call, unsigned nth);
    unsigned opens_for_locks; /* open64 calls that may fail: the handle has locks too */
    bool silent;              /* cannot report an error */
} operations[] = {
    { "opening for writing", 0, open_second, poisoned_by_msync, 3, false },
    { "adding exactly", BLOOMFILE_OPEN_ADD_EXACT, add_exactly, poisoned_by_msync, 0, false },
    { "adding many exactly", BLOOMFILE_OPEN_ADD_EXACT, add_many_exactly, poisoned_by_msync, 0,
      false },
    { "removing", 0, remove_key, poisoned_by_msync, 0, false },
    { "adding after fork", 0, add_in_child, poisoned_by_msync, 2, false },
    { "adding exactly after fork", BLOOMFILE_OPEN_ADD_EXACT, add_in_child, poisoned_by_msync, 2,
      false },
    { "syncing", 0, sync_it, poisoned_by_msync, 1, false },
    { "sealing", 0, seal_it, sealed_by_first_record, 1, false },
    { "closing", 0, close_it, poisoned_by_msync, 1, true },
};

static void begin(const struct operation *op)
{
    make_live("filter", LAYOUT);
    reader = opened("filter", 0);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE | op->flags);
    second = NULL;
    add_digests_of(writer, REMOVABLE, REMOVABLE + 1);
}

/* ---- conditions on the result: NULL, or the flaw */

static const char *flaw_of_handle(bloomfile_filter *f, enum outcome outcome)
{
    if (f == NULL)
        return NULL;
    if (outcome != POISONED)
        return flaw_of_sound(f);
    const char *flaw = flaw_of_doubtful(f);
    return flaw != NULL ? flaw : flaw_of_rescued(f);
}

/* The sync succeeded, but no record without the mark could be written. */
static bool leaves_the_mark(const struct operation *op, const struct faults *faults)
{
    if (faults->call == ON_fcntl64)
        return op->run == sync_it && faults->nth == 3;
    const bool syncs = op->run == sync_it || op->run == seal_it || op->run == close_it;
    return syncs && faults->call == ON_pwrite64 && faults->nth == 2 && faults->for_ever;
}

static const char *flaw_of_reader_beside_a_mark(void)
{
    if (bloomfile_check(reader) != BLOOMFILE_EUNCLEAN || !has_numbers(reader, ABSENT, ABSENT + 10))
        return "the reader does not detect the mark";
    if (writer != NULL && bloomfile_sync(writer, NULL) != 0)
        return "the writer cannot sync again";
    bloomfile_close(reader);
    reader = writer != NULL ? opened("filter", 0) : NULL;
    return NULL;
}

static const char *flaw_of_writer(const struct operation *op, enum outcome outcome)
{
    if (writer == NULL || outcome == POISONED)
        return NULL;
    int add = bloomfile_add_digest(writer, number(0, NEW), NULL);
    if (add != (outcome == SEALED ? BLOOMFILE_ESEALED : 0))
        return "it cannot be added to, or was added to when sealed";
    if (outcome == LIVE && !bloomfile_contains_digest(reader, number(0, NEW)))
        return "an add is not seen by the reader";
    if (op->run == seal_it && outcome == LIVE && bloomfile_seal(writer, NULL) != 0)
        return "it cannot be sealed again";
    return NULL;
}

/* The last writer cannot record that its sync ended. */
static bool left_unclean(const struct operation *op, const struct faults *faults)
{
    return op->run == close_it && faults->call == ON_pwrite64 && faults->nth == 2 &&
           faults->for_ever;
}

static const char *flaw_of_unclean_file(void)
{
    bloomfile_filter *f;
    if (bloomfile_open(&f, "filter", 0) != BLOOMFILE_EUNCLEAN ||
        bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE) != BLOOMFILE_EUNCLEAN)
        return "it is not unclean";
    f = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    return flaw_of_live_file("filter");
}

static const char *flaw_of_end(const struct operation *op, enum outcome outcome, bool struck)
{
    bool sealed = outcome == SEALED || op->run == seal_it;
    if (outcome == POISONED)
        return flaw_of_poisoned_file("filter");
    if (sealed)
        return flaw_of_sealed_file("filter");
    if (op->run == close_it && struck)
        return flaw_of_live_file("filter");
    const char *flaw = flaw_of_clean_file("filter");
    struct bloomfile_info info = info_of_file("filter");
    if (flaw == NULL &&
        (info.keys_estimated || info.keys != LIVE_KEYS + (op->run != close_it ? 2 : 1)))
        flaw = op->run == remove_key ? NULL : "n is not exact";
    return flaw != NULL ? flaw : flaw_of_live_file("filter");
}

static void close_all(void)
{
    bloomfile_close(second);
    bloomfile_close(writer);
    bloomfile_close(reader);
}

static const char *run(const struct operation *op, struct faults faults, int expected)
{
    const size_t descriptors = open_descriptors();
    begin(op);
    faults_begin(&faults);
    op->run();
    enum outcome outcome = op->outcome(faults.call, faults.nth);
    if (faults.nth == 0)
        outcome = op->run == seal_it ? SEALED : LIVE;
    const char *flaw = done->returned != expected ? bloomfile_errname(done->returned) : NULL;
    if (flaw == NULL && leaves_the_mark(op, &faults))
        flaw = flaw_of_reader_beside_a_mark();
    bloomfile_filter *const handles[] = { reader, writer, second };
    for (size_t i = 0; i < ROWS(handles) && flaw == NULL; i++)
        flaw = flaw_of_handle(handles[i], outcome);
    if (flaw == NULL)
        flaw = flaw_of_writer(op, outcome);
    close_all();
    if (flaw == NULL && (open_descriptors() != descriptors || mapped_files() != 0))
        flaw = "a descriptor or a mapping leaked";
    if (flaw == NULL && left_unclean(op, &faults))
        flaw = flaw_of_unclean_file();
    else if (flaw == NULL)
        flaw = flaw_of_end(op, outcome, faults.nth != 0);
    assert_int_equal(unlink("filter"), 0);
    return flaw == NULL && entries_in_dir() != 0 ? "a file is left" : flaw;
}

static void assert_returns(const struct operation *op, struct faults faults, int expected)
{
    const char *flaw = run(op, faults, expected);
    if (flaw != NULL)
        fail_msg("%s: %s no. %u fails with %s%s: %s", op->what, fault_name(faults.call), faults.nth,
                 bloomfile_errname(faults.error), faults.for_ever ? " for ever" : "", flaw);
}

/* ---- tests */

static const struct {
    enum fault_call call;
    int errors[5];
} reported[] = {
    { ON_asprintf, { ENOMEM } },
    { ON_calloc, { ENOMEM } },
    { ON_dup3, { EMFILE, EBUSY } },
    { ON_fcntl64, { ENOLCK, EINVAL, EIO } },
    { ON_fstat64, { EIO, EOVERFLOW } },
    { ON_fstatfs64, { EIO, ENOMEM } },
    { ON_getcwd, { ENOMEM } },
    { ON_malloc, { ENOMEM } },
    { ON_mmap64, { ENOMEM, EAGAIN, ENODEV } },
    { ON_msync, { EIO, ENOSPC, EDQUOT, ENOMEM } },
    { ON_open64, { EMFILE, ENFILE, EACCES, ENOMEM } },
    { ON_pread64, { EIO } },
    { ON_pwrite64, { ENOSPC, EIO, EDQUOT, EFBIG } },
    { ON_read, { EIO } },
    { ON_strdup, { ENOMEM } },
};

TEST(each_failed_call_returns_its_error_and_loses_no_key)
{
    unsigned failed[FAULT_CALL_COUNT] = { 0 };
    for (size_t o = 0; o < ROWS(operations); o++) {
        const struct operation *op = &operations[o];
        assert_returns(op, (struct faults){ 0 }, 0);
        unsigned count[FAULT_CALL_COUNT];
        memcpy(count, done->calls, sizeof count);
        for (size_t i = 0; i < ROWS(reported); i++) {
            enum fault_call call = reported[i].call;
            for (const int *error = reported[i].errors; *error != 0; error++)
                for (unsigned nth = 1; nth <= count[call]; nth++) {
                    const bool needless = call == ON_open64 && nth == op->opens_for_locks;
                    const int expected = op->silent ? 0 : *error;
                    assert_returns(op, once(call, nth, *error), needless ? 0 : expected);
                    assert_returns(op, from_then_on(call, nth, *error),
                                   needless && nth == count[call] ? 0 : expected);
                    failed[call]++;
                }
        }
    }
    for (size_t i = 0; i < ROWS(reported); i++)
        if (reported[i].call != ON_malloc && reported[i].call != ON_strdup)
            assert_true(failed[reported[i].call] > 0);
}

static int finish_with(struct faults faults, unsigned calls[FAULT_CALL_COUNT])
{
    begin(&operations[0]);
    faults_begin(&faults);
    int error = bloomfile_finish(writer);
    note(error);
    memcpy(calls, done->calls, sizeof done->calls);
    close_all();
    const bool poisoned = info_of_file("filter").state == BLOOMFILE_STATE_POISONED;
    assert_int_equal(poisoned, faults.nth != 0 && faults.call == ON_msync);
    assert_int_equal(unlink("filter"), 0);
    return error;
}

TEST(finish_returns_the_error_of_every_failed_system_call)
{
    static const enum fault_call kinds[] = { ON_fcntl64, ON_pwrite64, ON_msync };
    unsigned count[FAULT_CALL_COUNT], unused[FAULT_CALL_COUNT];
    assert_error(finish_with((struct faults){ 0 }, count), 0);
    for (size_t i = 0; i < ROWS(kinds); i++) {
        assert_true(count[kinds[i]] > 0);
        for (unsigned nth = 1; nth <= count[kinds[i]]; nth++) {
            assert_error(finish_with(once(kinds[i], nth, ENOSPC), unused), ENOSPC);
            assert_error(finish_with(from_then_on(kinds[i], nth, EIO), unused), EIO);
        }
    }
}

TEST(failed_unlock_is_released_when_the_handle_closes)
{
    unsigned failed = 0;
    for (size_t o = 0; o < ROWS(operations); o++) {
        const struct operation *op = &operations[o];
        assert_returns(op, (struct faults){ 0 }, 0);
        unsigned count = done->calls[ON_unlock];
        for (unsigned nth = 1; nth <= count; nth++, failed++)
            assert_returns(op, once(ON_unlock, nth, ENOLCK), 0);
        assert_returns(op, from_then_on(ON_unlock, 1, ENOLCK), 0);
    }
    assert_true(failed >= ROWS(operations));
}

TEST(failed_madvise_hint_is_harmless)
{
    const struct operation *opening = &operations[0];
    assert_returns(opening, once(ON_madvise, 1, EINVAL), 0);
    assert_returns(opening, once(ON_madvise, 2, EINVAL), EINVAL); /* the only protection of forks */
    for (size_t o = 1; o < ROWS(operations); o++)
        assert_returns(&operations[o], from_then_on(ON_madvise, 1, EINVAL), 0);
}

TEST(interrupted_and_short_calls_are_continued)
{
    for (size_t o = 0; o < ROWS(operations); o++) {
        const struct operation *op = &operations[o];
        assert_returns(op, (struct faults){ .transfer_at_most = 100 }, 0);
        unsigned count[FAULT_CALL_COUNT];
        memcpy(count, done->calls, sizeof count);
        static const enum fault_call calls[] = { ON_fcntl64, ON_pwrite64, ON_pread64, ON_msync };
        for (size_t c = 0; c < ROWS(calls); c++)
            for (unsigned nth = 1; nth <= count[calls[c]]; nth++) {
                struct faults faults = once(calls[c], nth, EINTR);
                faults.transfer_at_most = 100;
                begin(op);
                faults_begin(&faults);
                op->run();
                assert_error(done->returned, 0);
                close_all();
                assert_flawless(op->run == seal_it ? flaw_of_sealed_file("filter")
                                                   : flaw_of_live_file("filter"));
                assert_int_equal(unlink("filter"), 0);
            }
    }
}

TEST(plain_adds_and_lookups_make_no_system_call)
{
    begin(&operations[0]);
    assert_int_equal(mapped_files(), 2);
    assert_true(mapped_sessions() > 0); /* one or two: adjacent mappings are merged */
    faults_begin(&(struct faults){ 0 });
    int error = bloomfile_add_digest(writer, number(0, NEW), NULL);
    bool has = bloomfile_contains_digest(reader, number(0, NEW));
    note(error);
    assert_error(error, 0);
    assert_true(has);
    for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
        assert_int_equal(done->calls[call], 0);
    close_all();
    assert_int_equal(unlink("filter"), 0);
}

/* L16. The steps of the protocol that reach the disk. If the first flush fails, each record is
 * poisoned by a write and a flush. */
TEST(each_operation_makes_the_writes_and_flushes_of_the_protocol)
{
    static const struct {
        unsigned writes, headers, bodies; /* flushes of headers and of whole files */
        unsigned writes_of_failed, headers_of_failed;
    } due[] = {
        { 1, 2, 0, 2, 2 }, /* opening: flushes the record in force before it writes the next */
        { 0, 0, 0, 0, 0 }, /* adding */
        { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, /* removing */
        { 1, 2, 0, 2, 2 },                    /* adding after fork, which opens the file */
        { 1, 2, 0, 2, 2 }, { 2, 1, 1, 3, 2 }, /* syncing: the mark, the body, the counts */
        { 3, 2, 1, 3, 2 },                    /* sealing: the mark, the body, the record twice */
        { 2, 1, 1, 3, 2 },                    /* closing, like syncing */
    };
    assert_int_equal(ROWS(due), ROWS(operations));
    for (size_t i = 0; i < ROWS(operations); i++) {
        for (unsigned failing = 0; failing < 2; failing++) {
            begin(&operations[i]);
            const uint64_t whole = info_of(writer).image_size;
            const struct faults faults = once(ON_msync, failing, EIO);
            faults_begin(&faults);
            operations[i].run();
            assert_int_equal(done->calls[ON_pwrite64],
                             failing ? due[i].writes_of_failed : due[i].writes);
            assert_int_equal(done->flushed, failing
                                                ? IN_FILE * due[i].headers_of_failed
                                                : IN_FILE * due[i].headers + whole * due[i].bodies);
            close_all();
            assert_int_equal(unlink("filter"), 0);
        }
    }
}

/* A digest with these two positions. */
static uint64_t digest_at(uint64_t counters, uint64_t one, uint64_t other)
{
    uint64_t digest = probe_least_digest(one, counters);
    while (probe_reduce(digest * PROBE_MULTIPLIER, counters) != other)
        digest++;
    assert_int_equal(probe_reduce(digest, counters), one);
    return digest;
}

/* Two keys go; each shares a counter with the key that stays. One key comes. So the number of
 * counters above 0 changes by 0, and the number of keys by -1. */
TEST(counts_that_cancel_out_survive_a_failed_sync)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_COUNTING);
    params.hashes = 2;
    for (unsigned nth = 1; nth <= 4; nth++) {
        assert_error(bloomfile_create(&writer, "filter", &params, 0), 0);
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        assert_error(bloomfile_get_info(writer, &info), 0);
        const uint64_t gone[] = { digest_at(info.bits, 1, 2), digest_at(info.bits, 3, 4) };
        const uint64_t stays = digest_at(info.bits, 2, 4), comes = digest_at(info.bits, 5, 6);
        assert_error(bloomfile_add_digests(writer, gone, 2, NULL, NULL, NULL), 0);
        assert_error(bloomfile_add_digest(writer, stays, NULL), 0);
        assert_error(bloomfile_sync(writer, NULL), 0);
        assert_int_equal(info_of_file("filter").keys, 2);
        assert_error(bloomfile_remove_digest(writer, gone[0]), 0);
        assert_error(bloomfile_remove_digest(writer, gone[1]), 0);
        assert_error(bloomfile_add_digest(writer, comes, NULL), 0);
        const struct faults faults =
            nth <= 2 ? once(ON_pwrite64, nth, ENOSPC) : from_then_on(ON_pwrite64, nth - 2, ENOSPC);
        faults_begin(&faults);
        note(bloomfile_sync(writer, NULL));
        assert_error(done->returned, ENOSPC);
        assert_int_equal(info_of(writer).keys, 1);
        assert_int_equal(info_of(writer).ones, 4);
        assert_error(bloomfile_sync(writer, NULL), 0);
        info = info_of_file("filter");
        assert_int_equal(info.keys, 1);
        assert_int_equal(info.ones, 4);
        bloomfile_close(writer);
        assert_int_equal(unlink("filter"), 0);
    }
}

static int prepare(void **state)
{
    done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return done == MAP_FAILED || enter_temp_dir(state) != 0;
}

static int clean_up(void **state)
{
    munmap(done, sizeof *done);
    assert_int_equal(mapped_sessions(), 0);
    return leave_temp_dir(state);
}

int main(void)
{
    return run_all(prepare, clean_up);
}
