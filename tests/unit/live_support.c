/* SPDX-License-Identifier: MIT
 * Functions that tests of live filters share. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/bytes.h"

struct bloomfile_params live_params(uint32_t layout)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    /* Pins look up only this layout themselves. */
    params.layout = getenv("ALL_BLOCKED") != NULL ? BLOOMFILE_LAYOUT_BLOCKED : layout;
    params.bits = LIVE_BITS;
    params.hashes = 6;
    return params;
}

void make_live(const char *path, uint32_t layout)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(layout);
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    add_digests_of(f, 0, LIVE_KEYS);
    bloomfile_close(f);
}

bloomfile_filter *opened(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, flags), 0);
    return f;
}

void add_digests_of(bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
}

bool has_numbers(const bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        if (!bloomfile_contains_digest(f, number(0, i)))
            return false;
    return true;
}

/* ---- handles */

/* A batch of the absent number and a present number. */
static size_t hits_of_both(const bloomfile_filter *f)
{
    const uint64_t both[] = { number(0, ABSENT), number(0, LIVE_KEYS / 2) };
    return bloomfile_contains_digests(f, both, 2, NULL);
}

const char *flaw_of_sound(const bloomfile_filter *f)
{
    if (bloomfile_check(f) != 0)
        return "it has a sticky error";
    if (!has_numbers(f, 0, LIVE_KEYS))
        return "a key is lost";
    if (bloomfile_contains_digest(f, number(0, ABSENT)) || hits_of_both(f) != 1)
        return "it has a key that was never added";
    return NULL;
}

const char *flaw_of_doubtful(bloomfile_filter *f)
{
    if (bloomfile_check(f) != BLOOMFILE_EPOISONED)
        return "its status is not EPOISONED";
    if (!has_numbers(f, 0, LIVE_KEYS) || !has_numbers(f, ABSENT, ABSENT + 10))
        return "poisoned, it says no";
    uint8_t room[8];
    struct bytes absent = number_key(ABSENT, room);
    struct bloomfile_key key = { absent.data, absent.size };
    if (hits_of_both(f) != 2 || bloomfile_contains_many(f, &key, 1, NULL) != 1)
        return "poisoned, it says no to one of many";
    if (bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL) != BLOOMFILE_EPOISONED ||
        access("copy", F_OK) == 0)
        return "poisoned, it was copied";
    int add = bloomfile_add_digest(f, number(0, ABSENT), NULL);
    if (add == BLOOMFILE_EREADONLY)
        return NULL;
    if (add != BLOOMFILE_EPOISONED || bloomfile_add_digests(f, NULL, 0, NULL, NULL, NULL) != add)
        return "poisoned, it can be added to";
    if (bloomfile_sync(f, NULL) != BLOOMFILE_EPOISONED)
        return "poisoned, it can be synced";
    if (bloomfile_seal(f, NULL) != BLOOMFILE_EPOISONED)
        return "poisoned, it can be sealed";
    if (info_of(f).layout == BLOOMFILE_LAYOUT_COUNTING &&
        bloomfile_remove(f, "", 0) != BLOOMFILE_EPOISONED)
        return "poisoned, it can be removed from";
    return NULL;
}

const char *flaw_of_rescued(const bloomfile_filter *f)
{
    if (bloomfile_rescue("rescued", f, 0) != 0)
        return "it cannot be rescued";
    struct bloomfile_info info = info_of_file("rescued");
    if (info.sequence != 1 || info.writers != 0 || info.keys_estimated != 1)
        return "what was rescued is not as a new file";
    bloomfile_filter *rescued;
    if (bloomfile_open(&rescued, "rescued", 0) != BLOOMFILE_EUNCLEAN ||
        bloomfile_open(&rescued, "rescued", BLOOMFILE_OPEN_WRITE) != BLOOMFILE_EUNCLEAN)
        return "what was rescued is not unclean";
    const unsigned accepting = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN;
    if (bloomfile_open(&rescued, "rescued", accepting) != 0)
        return "what was rescued cannot be opened";
    const int finished = bloomfile_finish(rescued);
    bloomfile_close(rescued);
    if (finished != 0)
        return "what was rescued cannot be finished";
    const char *flaw = flaw_of_live_file("rescued");
    return unlink("rescued") != 0 ? "the rescued file is not there" : flaw;
}

void check_flaw(const char *flaw, const char *what, const char *file, int line)
{
    if (flaw == NULL)
        return;
    print_error("%s: %s\n", what, flaw);
    _fail(file, line);
}

/* ---- files */

struct bloomfile_info info_of_file(const char *path)
{
    struct bytes bytes = read_file(path);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(bytes.data, bytes.size, &info, NULL, NULL), 0);
    free(bytes.data);
    return info;
}

unsigned slot_in_force(const char *path)
{
    struct bytes bytes = read_file(path);
    uint64_t in_force = info_of_file(path).sequence;
    unsigned slot = get64(record_at(bytes.data, 1)) == in_force;
    free(bytes.data);
    return slot;
}

void set_in_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value)
{
    struct bytes bytes = read_file(path);
    uint8_t *field = record_at(bytes.data, slot) + at;
    if (size == 4)
        put32(field, (uint32_t)value);
    else
        put64(field, value);
    reseal_record(bytes.data, slot);
    write_file(path, bytes.data, bytes.size);
    free(bytes.data);
}

static const char *flaw_of_opened(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    if (bloomfile_open(&f, path, flags) != 0)
        return "it cannot be opened";
    const char *flaw = flaw_of_sound(f);
    if (flaw == NULL && (flags & BLOOMFILE_OPEN_WRITE) != 0 && info_of(f).writers != 1)
        return "a writer that has gone is still counted, or still holds a lock";
    bloomfile_close(f);
    return flaw;
}

const char *flaw_of_live_file(const char *path)
{
    const char *flaw = flaw_of_opened(path, 0);
    if (flaw == NULL)
        flaw = flaw_of_opened(path, BLOOMFILE_OPEN_WRITE);
    return flaw != NULL ? flaw : flaw_of_clean_file(path);
}

const char *flaw_of_clean_file(const char *path)
{
    static const uint8_t zeros[16];
    struct bloomfile_info info = info_of_file(path);
    if (info.state != BLOOMFILE_STATE_LIVE)
        return "it is not live";
    return info.writers == 0 && memcmp(info.boot_id, zeros, 16) == 0 ? NULL : "it is not clean";
}

const char *flaw_of_sealed_file(const char *path)
{
    bloomfile_filter *f;
    if (bloomfile_open(&f, path, BLOOMFILE_OPEN_WRITE) != BLOOMFILE_ESEALED)
        return "it is not ESEALED";
    struct bytes bytes = read_file(path);
    bool alike = memcmp(record_at(bytes.data, 0), record_at(bytes.data, 1), IN_FILE / 4) == 0;
    free(bytes.data);
    return alike ? flaw_of_opened(path, BLOOMFILE_OPEN_VERIFY_FULL) : "its records differ";
}

const char *flaw_of_poisoned_file(const char *path)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_NONE, BLOOMFILE_OPEN_WRITE,
                                      BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
                                      BLOOMFILE_OPEN_ACCEPT_UNCLEAN };
    bloomfile_filter *f;
    for (size_t i = 0; i < ROWS(flags); i++)
        if (bloomfile_open(&f, path, flags[i]) != BLOOMFILE_EPOISONED || f != NULL)
            return "poisoned, it can be opened";
    return NULL;
}

/* ---- resources of a process */

static size_t lines_with(const char *path, const char *const *texts, size_t n)
{
    char line[PATH_MAX + 200];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; i < n; i++)
            count += strstr(line, texts[i]) != NULL;
    fclose(file);
    return count;
}

size_t mapped_files(void)
{
    static const char *const texts[] = { "/bloomfile-test.", "/memfd:bloomfile" };
    return lines_with("/proc/self/maps", texts, ROWS(texts));
}

size_t mapped_sessions(void)
{
    static const char *const wiped_on_fork[] = { " wf " };
    return lines_with("/proc/self/smaps", wiped_on_fork, ROWS(wiped_on_fork));
}

/* ---- copies */

int seal_it_to(const bloomfile_filter *f)
{
    return bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL);
}

int fold_it(const bloomfile_filter *f)
{
    return bloomfile_fold(TO_PATH("copy", 0), f, 2, NULL);
}

int merge_it(const bloomfile_filter *f)
{
    return bloomfile_merge(TO_PATH("copy", 0), &f, 1, NULL);
}

int project_it(const bloomfile_filter *f)
{
    return bloomfile_project(TO_PATH("copy", 0), f, NULL);
}

/* ---- locks and processes */

int lock_byte(int fd, int type, off_t byte)
{
    struct flock lock = {
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
    };
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int lock_on_byte(int fd, off_t byte)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    return lock.l_type;
}

bool still_waits(pid_t child)
{
    return falls_asleep(state_of(child, child), NULL) && waitpid(child, NULL, WNOHANG) == 0;
}

int outsider;

int begin_with_outsider(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_COUNTING);
    outsider = open("filter", O_RDWR | O_CLOEXEC);
    return outsider < 0;
}

int end_with_outsider(void **state)
{
    close(outsider);
    return leave_temp_dir(state);
}

int sync_filter(bloomfile_filter *f)
{
    return bloomfile_sync(f, NULL);
}

int seal_filter(bloomfile_filter *f)
{
    return bloomfile_seal(f, NULL);
}
