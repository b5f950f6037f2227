/* SPDX-License-Identifier: MIT
 * Disk space for a new file: a disk that is too small must be an error before it is filled. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "faults.h"
#include "os/file.h"

enum {
    BLOCK = 4096,
    FREE = 100, /* blocks */
    PIECE = 128 << 10,
    PIECES = 200,
};

static struct statvfs disk;
static bool is_unknown; /* fstatvfs() fails */

int __wrap_fstatvfs(int fd, struct statvfs *status);
int __wrap_fstatvfs(int fd, struct statvfs *status)
{
    *status = disk;
    errno = EIO;
    return is_unknown ? -1 : 0;
}

/* glibc's name of it for 64-bit files. */
int __wrap_fstatvfs64(int fd, struct statvfs *status);
int __wrap_fstatvfs64(int fd, struct statvfs *status)
{
    return __wrap_fstatvfs(fd, status);
}

static int prepare(void **state)
{
    disk =
        (struct statvfs){ .f_blocks = 1000, .f_frsize = BLOCK, .f_bfree = FREE, .f_bavail = FREE };
    is_unknown = false;
    return enter_temp_dir(state);
}

/* Allocates a new file; `taken` receives its bytes on disk. */
static int allocate_new(uint64_t size, bool reserve, struct faults faults, off_t *taken)
{
    struct stat status;
    const int fd = open("new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    faults_begin(&faults);
    const int error = allocate_file(fd, size, reserve);
    faults_end();
    assert_int_equal(fstat(fd, &status), 0);
    *taken = status.st_blocks * 512;
    close(fd);
    return error;
}

#define ALONE(test) TEST_WITH(test, prepare, leave_temp_dir)

ALONE(file_larger_than_free_space_allocates_nothing)
{
    static const uint64_t sizes[] = { (FREE + 1) * BLOCK, (uint64_t)1 << 40, INT64_MAX };
    off_t taken;
    for (size_t i = 0; i < ROWS(sizes); i++)
        for (int reserve = 0; reserve < 2; reserve++) {
            assert_error(allocate_new(sizes[i], reserve != 0, (struct faults){ 0 }, &taken),
                         ENOSPC);
            assert_true(taken <= (1 << 16)); /* a block of any size */
        }
}

ALONE(large_enough_disk_is_allocated)
{
    off_t taken;
    for (int reserve = 0; reserve < 2; reserve++) {
        assert_error(allocate_new(FREE * BLOCK, reserve != 0, (struct faults){ 0 }, &taken), 0);
        assert_true(taken >= FREE * BLOCK);
    }
}

ALONE(without_allocation_no_zeros_are_written_to_a_disk_that_is_too_small)
{
    static const int errors[] = { EOPNOTSUPP, ENOSYS };
    off_t taken;
    for (size_t i = 0; i < ROWS(errors); i++) {
        const struct faults lacking = from_then_on(ON_fallocate64, 1, errors[i]);
        assert_error(allocate_new((FREE + 1) * BLOCK, true, lacking, &taken), ENOSPC);
        assert_int_equal(taken, 0);
        assert_error(allocate_new(FREE * BLOCK, true, lacking, &taken), 0);
        assert_true(taken >= FREE * BLOCK);
    }
}

/* Such a file system may compress the bytes. */
ALONE(sealed_file_is_not_allocated_where_fallocate_is_missing)
{
    off_t taken;
    const struct faults lacking = from_then_on(ON_fallocate64, 1, EOPNOTSUPP);
    assert_error(allocate_new((FREE + 1) * BLOCK, false, lacking, &taken), 0);
    assert_int_equal(taken, 0);
}

ALONE(unknown_free_space_skips_the_size_check)
{
    off_t taken;
    is_unknown = true;
    assert_error(allocate_new((FREE + 1) * BLOCK, true, (struct faults){ 0 }, &taken), 0);
    is_unknown = false;
    disk.f_blocks = 0;
    assert_error(allocate_new((FREE + 1) * BLOCK, true, (struct faults){ 0 }, &taken), 0);
    disk = (struct statvfs){ .f_blocks = 9 };
    assert_error(allocate_new((FREE + 1) * BLOCK, true, (struct faults){ 0 }, &taken), 0);
}

ALONE(reserved_blocks_count_as_free_for_root_alone)
{
    off_t taken;
    disk.f_bavail = FREE / 2;
    assert_error(allocate_new(FREE * BLOCK, true, (struct faults){ 0 }, &taken),
                 geteuid() == 0 ? 0 : ENOSPC);
    disk.f_bfree = FREE / 2;
    assert_error(allocate_new(FREE * BLOCK, true, (struct faults){ 0 }, &taken), ENOSPC);
}

static void write_pieces(int fd, uint64_t first, uint64_t step)
{
    static const char piece[PIECE];
    for (uint64_t i = first; i < PIECES; i += step)
        assert_error(file_write(fd, i * PIECE, piece, PIECE), 0);
    assert_error(file_flush(fd), 0);
}

/* Only some file systems report it. */
ALONE(blocks_that_were_allocated_and_not_written_are_found)
{
    const int fd = open("new", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(fallocate(fd, 0, 0, PIECES * PIECE), 0);
    if (file_check_written(fd, 0, PIECES * PIECE) == 0)
        skip("the file system does not report which blocks were written");
    write_pieces(fd, 0, 2); /* more extents than are asked for at once */
    assert_error(file_check_written(fd, 0, PIECE), 0);
    assert_error(file_check_written(fd, 0, 2 * PIECE), EIO);
    write_pieces(fd, 1, 2);
    assert_error(file_check_written(fd, 0, PIECES * PIECE), 0);
    assert_int_equal(fallocate(fd, 0, PIECES * PIECE, PIECE), 0);
    assert_error(file_check_written(fd, 0, PIECES * PIECE), 0);
    assert_error(file_check_written(fd, 0, PIECES * PIECE + 1), EIO);
    close(fd);
}

int main(void)
{
    return run_all(NULL, NULL);
}
