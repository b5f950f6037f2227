/* SPDX-License-Identifier: MIT
 * The pages of BLOOMFILE_OPEN_PREFAULT, _LOCK and _COPY, and failures to get them. */
#include "live_support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "live/handle.h"
#include "os/map.h"

enum {
    PREFAULT = BLOOMFILE_OPEN_PREFAULT,
    LOCK = BLOOMFILE_OPEN_LOCK,
    COPY = BLOOMFILE_OPEN_COPY,
    KEYS = 1500,
    PAGE = 4096,
    NOBODY = 65534
};

static const unsigned all_flags[] = { PREFAULT,        LOCK,        COPY,
                                      PREFAULT | LOCK, LOCK | COPY, PREFAULT | LOCK | COPY };

/* Several pages. */
static const struct recipe recipe = { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 333, 4, KEYS, 0 };

static void write_filter(void)
{
    struct bytes image = image_from(recipe);
    write_file("filter", image.data, image.size);
    free(image.data);
}

static bloomfile_filter *open_with(unsigned flags, const struct faults *faults, int expected)
{
    bloomfile_filter *f;
    const size_t descriptors = open_descriptors(), mapped = mapped_files();
    faults_begin(faults);
    int error = bloomfile_open(&f, "filter", flags);
    faults_end();
    assert_error(error, expected);
    assert_int_equal(open_descriptors(), descriptors);
    if (error != 0)
        assert_int_equal(mapped_files(), mapped);
    return f;
}

static bool all_may_be_there(const bloomfile_filter *f)
{
    for (uint64_t i = 0; i < KEYS; i++)
        if (!bloomfile_contains_digest(f, number(0, i)))
            return false;
    return true;
}

/* ---- pages */

#define ALL SIZE_MAX

/* Returns how many pages of the image this process can use without a fault. */
static size_t present_pages(const bloomfile_filter *f)
{
    FILE *pagemap = fopen("/proc/self/pagemap", "rb");
    if (pagemap == NULL)
        skip("there is no /proc/self/pagemap");
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)f->geometry.image_size;
    const uintptr_t first = (uintptr_t)f->map.bytes / page_size;
    const size_t pages = ((uintptr_t)f->map.bytes + size - 1) / page_size - first + 1;
    size_t present = 0;
    setvbuf(pagemap, NULL, _IONBF, 0); /* only whole entries can be read */
    assert_int_equal(fseeko(pagemap, (off_t)(8 * first), SEEK_SET), 0);
    for (size_t i = 0; i < pages; i++) {
        uint64_t entry;
        assert_int_equal(fread(&entry, sizeof entry, 1, pagemap), 1);
        present += (size_t)(entry >> 63);
    }
    fclose(pagemap);
    return present == pages ? ALL : present;
}

/* The kernel may reclaim or move pages at any moment, but not at every attempt. */
static void assert_all_present(const char *path, unsigned flags, const struct faults *faults)
{
    bool present = false;
    for (int tries = 0; tries < 10 && !present; tries++) {
        bloomfile_filter *f;
        faults_begin(faults);
        const int error = bloomfile_open(&f, path, flags);
        faults_end();
        assert_error(error, 0);
        present = present_pages(f) == ALL;
        bloomfile_close(f);
    }
    assert_true(present);
}

TEST_IN_DIR(prefault_lock_and_copy_make_pages_resident)
{
    static const struct faults none;
    write_filter();
    bloomfile_filter *f = opened("filter", 0);
    assert_int_equal(present_pages(f), 0);
    bloomfile_close(f);
    for (size_t i = 0; i < ROWS(all_flags); i++)
        assert_all_present("filter", all_flags[i], &none);
    make_live("live", BLOOMFILE_LAYOUT_BLOCKED);
    assert_all_present("live", BLOOMFILE_OPEN_WRITE | PREFAULT, &none);
}

TEST_IN_DIR(pages_are_touched_where_madvise_cannot_populate)
{
    write_filter();
    const struct faults faults = from_then_on(ON_madvise, 1, EINVAL);
    static const unsigned flags[] = { PREFAULT, LOCK, COPY };
    for (size_t i = 0; i < ROWS(flags); i++) {
        assert_all_present("filter", flags[i], &faults);
        bloomfile_filter *f = open_with(flags[i], &faults, 0);
        assert_true(all_may_be_there(f));
        bloomfile_close(f);
    }
}

static size_t locked_kilobytes(void)
{
    char line[256];
    unsigned long locked = ULONG_MAX;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmLck: %lu kB", &locked) == 1)
            break;
    fclose(status);
    if (locked == ULONG_MAX)
        skip("the kernel does not count locked pages");
    return locked;
}

/* The pages of each layer, or of a single filter. */
static size_t pages_of(const bloomfile_filter *f)
{
    const size_t layers = bloomfile_layers(f);
    size_t pages = 0;
    for (size_t i = 0; i == 0 || i < layers; i++) {
        const bloomfile_filter *one = layers == 0 ? f : bloomfile_layer(f, i);
        pages += (size_t)((one->geometry.image_size + PAGE - 1) / PAGE);
    }
    return pages;
}

TEST_IN_DIR(image_is_locked_until_it_is_closed)
{
    static const unsigned locking[] = { LOCK, LOCK | COPY };
    struct bytes series = series_image(BLOOMFILE_LAYOUT_BLOCKED, 9000);
    write_filter();
    write_file("series", series.data, series.size);
    const size_t before = locked_kilobytes();
    for (size_t i = 0; i < 5; i++) {
        bloomfile_filter *f = i < 4 ? opened(i < 2 ? "filter" : "series", locking[i % 2])
                                    : open_image(series, locking[1]);
        assert_int_equal(bloomfile_layers(f) > 1, i >= 2);
        if (sysconf(_SC_PAGESIZE) == PAGE)
            assert_int_equal(locked_kilobytes() - before, pages_of(f) * PAGE / 1024);
        assert_true(locked_kilobytes() > before);
        bloomfile_close(f);
        assert_int_equal(locked_kilobytes(), before);
    }
    free(series.data);
}

TEST_IN_DIR(memory_is_locked_or_copied_only_with_the_flag)
{
    static const unsigned flags[] = { 0,
                                      BLOOMFILE_OPEN_VERIFY_FULL,
                                      BLOOMFILE_OPEN_VERIFY_NONE,
                                      PREFAULT,
                                      COPY,
                                      COPY | BLOOMFILE_OPEN_VERIFY_FULL,
                                      COPY | PREFAULT,
                                      COPY | LOCK };
    write_filter();
    struct bytes image = read_file("filter");
    for (size_t i = 0; i < 2 * ROWS(flags); i++) {
        const unsigned how = flags[i / 2];
        const bool in_memory = i % 2 == 1;
        bloomfile_filter *f;
        if (in_memory && how == PREFAULT)
            continue;
        faults_begin(&(struct faults){ 0 });
        int error = in_memory ? open_from(&f, bloomfile_from_memory(image.data, image.size), how)
                              : bloomfile_open(&f, "filter", how);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(fault_calls(ON_mlock2), (how & LOCK) != 0);
        if (in_memory)
            assert_int_equal(f->map.bytes != image.data, (how & COPY) != 0);
        bloomfile_close(f);
    }
    free(image.data);
}

/* ---- failures */

/* The error of opening with the flags, in a process without privileges that may lock `limit`
 * bytes. */
static int error_with_limit(rlim_t limit, unsigned flags)
{
    int fd = open("filter", O_RDONLY);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bloomfile_filter *f;
        if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ limit, limit }) != 0 ||
            (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)))
            _exit(255);
        int error = open_from(&f, bloomfile_from_fd(fd), flags);
        bloomfile_close(f);
        _exit(error);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(fd);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_IN_DIR(open_fails_if_pages_may_not_be_locked)
{
    write_filter();
    if (error_with_limit(PAGE, 0) == 255)
        skip("the limit of locked memory cannot be set");
    assert_error(error_with_limit(0, LOCK), EPERM);
    assert_error(error_with_limit(PAGE, LOCK), ENOMEM);
    assert_error(error_with_limit(PAGE, LOCK | COPY), ENOMEM);
    assert_error(error_with_limit(PAGE, PREFAULT | COPY), 0);
}

TEST_IN_DIR(failed_prefault_lock_or_copy_returns_its_error)
{
    static const struct {
        unsigned flags;
        struct faults faults;
        int error;
    } rows[] = {
        { PREFAULT, { .call = ON_madvise, .nth = 2, .error = EFAULT }, EIO },
        { PREFAULT, { .call = ON_madvise, .nth = 2, .error = ENOMEM }, ENOMEM },
        { LOCK, { .call = ON_madvise, .nth = 2, .error = EFAULT }, EIO },
        { LOCK, { .call = ON_mlock2, .nth = 1, .error = ENOMEM }, ENOMEM },
        { LOCK | COPY, { .call = ON_mlock2, .nth = 1, .error = EPERM }, EPERM },
        { COPY, { .call = ON_mmap64, .nth = 1, .error = ENOMEM }, ENOMEM },
        { COPY, { .call = ON_pread64, .nth = 2, .error = EIO }, EIO },
        { LOCK | COPY, { .call = ON_pread64, .nth = 2, .error = EIO }, EIO },
        { COPY, { .file_ends_at = IN_FILE + PAGE }, BLOOMFILE_ETRUNCATED },
        { COPY, { .call = ON_madvise, .nth = 1, .error = EINVAL, .for_ever = true }, 0 },
        { COPY, { .call = ON_pread64, .nth = 2, .error = EINTR }, 0 },
        { COPY, { .transfer_at_most = 777 }, 0 },
    };
    write_filter();
    for (size_t i = 0; i < ROWS(rows); i++) {
        const size_t locked = locked_kilobytes();
        bloomfile_filter *f = open_with(rows[i].flags, &rows[i].faults, rows[i].error);
        if (f == NULL)
            assert_int_equal(locked_kilobytes(), locked);
        if (f != NULL)
            assert_true(all_may_be_there(f) && bloomfile_check(f) == 0);
        bloomfile_close(f);
    }
}

static void truncate_it(enum fault_call call)
{
    if (call == ON_madvise)
        assert_int_equal(truncate("filter", IN_FILE), 0);
}

TEST_IN_DIR(file_truncated_during_prefault_is_an_error)
{
    static const unsigned fetching[] = { PREFAULT, LOCK };
    struct faults shrinking = { .at_each_call = truncate_it };
    struct faults old = from_then_on(ON_madvise, 1, EINVAL);
    old.at_each_call = truncate_it;
    for (size_t i = 0; i < 2 * ROWS(fetching); i++) {
        write_filter();
        bloomfile_filter *f;
        faults_begin(i % 2 == 0 ? &shrinking : &old);
        int error = bloomfile_open(&f, "filter", fetching[i / 2]);
        faults_end();
        assert_error(error, EIO);
    }
}

/* The read that comes before the first touch fails; a touch would raise SIGBUS. */
TEST_IN_DIR(a_disk_that_fails_under_an_old_kernel_is_an_error)
{
    write_filter();
    const struct faults old = from_then_on(ON_madvise, 1, EINVAL);
    for (unsigned nth = 2; nth <= 3; nth++) { /* the first read gets the header */
        struct faults faults = once(ON_pread64, nth, EIO);
        faults.besides = &old;
        faults.transfer_at_most = 3 * PAGE;
        assert_null(open_with(PREFAULT, &faults, EIO));
        assert_null(open_with(LOCK, &faults, EIO));
    }
}

/* ---- the file gets shorter */

TEST_IN_DIR(truncated_file_is_reported_without_a_signal)
{
    static const int refusals[] = { 0, EINVAL }; /* MADV_POPULATE works, or is unknown */
    for (size_t i = 0; i < ROWS(refusals); i++) {
        const struct faults none = { 0 }, faults = from_then_on(ON_madvise, 1, refusals[i]);
        write_filter();
        bloomfile_filter *f = open_with(0, &none, 0);
        faults_begin(refusals[i] != 0 ? &faults : &none);
        int before = bloomfile_check(f);
        int shorter = truncate("filter", 0);
        int after = bloomfile_check(f);
        bool maybe = all_may_be_there(f);
        faults_end();
        assert_error(before, 0);
        assert_int_equal(shorter, 0);
        assert_error(after, BLOOMFILE_ECHANGED);
        assert_true(maybe);
        assert_true(fault_calls(ON_madvise) > 0);
        bloomfile_close(f);
    }
}

/* At any address, even with zeros in all low digits. */
TEST_IN_DIR(page_beyond_the_end_of_the_file_is_absent)
{
    const size_t grain = (size_t)PAGE * PAGE;
    const int fd = open("pages", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    uint8_t *wide = mmap(NULL, 2 * grain, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fd >= 0 && wide != MAP_FAILED);
    uint8_t *page = wide + -(uintptr_t)wide % grain;
    const struct map map = { .base = page, .base_size = PAGE, .bytes = page };
    assert_int_equal(ftruncate(fd, PAGE), 0);
    assert_ptr_equal(mmap(page, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), page);
    assert_true(map_is_there(&map, page, PAGE));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(map_is_there(&map, page, PAGE));
    munmap(wide, 2 * grain);
    close(fd);
}

int main(void)
{
    return run_all(NULL, NULL);
}
