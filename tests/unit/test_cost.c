/* SPDX-License-Identifier: MIT
 * The cost of a handle, as it reports it and as the system sees it. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDING = 32, /* most bytes that malloc() adds to a request that is not tiny */
    BLOCKS = 40,   /* most requests of a handle */
};

struct cost {
    uint64_t heap, mapped, mappings, descriptors;
};

#if !defined __GLIBC_PREREQ || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_MALLINFO2 0
#else
#define HAS_MALLINFO2 __GLIBC_PREREQ(2, 33)
#endif

#if HAS_MALLINFO2
static uint64_t heap_in_use(void)
{
    return mallinfo2().uordblks;
}
#else
static uint64_t heap_in_use(void)
{
    return 0; /* not known */
}
#endif

/* All mappings except those of malloc() and the stack, which may grow. */
static struct cost cost_now(void)
{
    struct cost now = { .descriptors = open_descriptors(), .heap = heap_in_use() };
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[5000];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        uint64_t from, to;
        assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to), 2);
        if (strstr(line, "[heap]") != NULL || strstr(line, "[stack]") != NULL)
            continue;
        now.mapped += to - from;
        now.mappings++;
    }
    fclose(maps);
    return now;
}

/* Opens it twice: the C library may allocate memory of its own at the first time. */
static void assert_cost_of(bloomfile_filter *(*open_it)(void))
{
    bloomfile_close(open_it());
    const struct cost before = cost_now();
    bloomfile_filter *f = open_it();
    const struct cost now = cost_now();
    const struct bloomfile_info info = info_of(f);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(now.mapped - before.mapped, info.mapped_size);
    assert_true(now.mappings - before.mappings <= info.mappings);
#endif
    assert_int_equal(now.descriptors - before.descriptors, info.descriptors);
    if (now.heap != 0)
        assert_in_range(now.heap - before.heap, info.heap_size, info.heap_size + BLOCKS * ROUNDING);
    bloomfile_close(f);
}

static struct bytes image;
static unsigned flags;
static const char *path;

static bloomfile_filter *open_path(void)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, flags), 0);
    return f;
}

static bloomfile_filter *open_in_memory(void)
{
    return open_image(image, flags);
}

static bloomfile_filter *open_at_odd_place(void)
{
    bloomfile_filter *f;
    int fd = open("blob", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, image.data, image.size, 4001), image.size);
    assert_error(open_from(&f, part_of_fd(fd, 4001, image.size), flags), 0);
    close(fd);
    return f;
}

static bloomfile_filter *create_in_memory(void)
{
    const struct bloomfile_params params = { .struct_size = sizeof params, .capacity = 9000 };
    bloomfile_filter *f;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    return f;
}

static void make_file(uint32_t layout, uint64_t bits)
{
    bloomfile_builder *b =
        new_builder((struct bloomfile_params){ .layout = layout, .bits = bits, .hashes = 0 });
    add_numbers(b, 0, 1000);
    assert_error(bloomfile_builder_write(b, TO_PATH("filter", BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
    path = "filter";
}

TEST_WITH(sealed_file_uses_the_memory_it_reports, enter_temp_dir, leave_temp_dir)
{
    static const unsigned each[] = { 0, BLOOMFILE_OPEN_NOWAIT, BLOOMFILE_OPEN_COPY,
                                     BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_NOWAIT };
    static const uint64_t sizes[] = { 512 * 100, 512 * 40000, 512 * 100001 }; /* up to 6 MiB */
    for (size_t i = 0; i < ROWS(each); i++)
        for (size_t s = 0; s < ROWS(sizes); s++) {
            flags = each[i];
            make_file(BLOOMFILE_LAYOUT_BLOCKED, sizes[s]);
            assert_cost_of(open_path);
        }
    flags = 0;
    make_file(BLOOMFILE_LAYOUT_RIBBON, 512 * 40000);
    assert_cost_of(open_path);
}

TEST_WITH(image_uses_the_memory_it_reports, enter_temp_dir, leave_temp_dir)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .bits = 512 * 9000 });
    image = last_image(b);
    flags = 0;
    assert_cost_of(open_in_memory);
    assert_cost_of(open_at_odd_place);
    flags = BLOOMFILE_OPEN_COPY;
    assert_cost_of(open_in_memory);
    free(image.data);
}

TEST_WITH(live_filter_uses_the_memory_it_reports, enter_temp_dir, leave_temp_dir)
{
    const struct bloomfile_params params = { .struct_size = sizeof params, .capacity = 9000 };
    bloomfile_filter *f;
    path = "live";
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    bloomfile_close(f);
    flags = 0;
    assert_cost_of(open_path);
    flags = BLOOMFILE_OPEN_WRITE;
    assert_cost_of(open_path);
    assert_cost_of(create_in_memory);
}

TEST_WITH(cost_of_a_series_is_the_sum_of_its_layers, enter_temp_dir, leave_temp_dir)
{
    const struct bloomfile_params params = { .struct_size = sizeof params,
                                             .capacity = 500,
                                             .series = BLOOMFILE_SERIES_GROW };
    bloomfile_filter *f;
    path = "live";
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    for (uint64_t i = 0; i < 4000; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_true(info_of(f).layers > 2);
    bloomfile_close(f);
    flags = BLOOMFILE_OPEN_WRITE;
    assert_cost_of(open_path);
    image = series_image(BLOOMFILE_LAYOUT_BLOCKED, 9000);
    write_file("series", image.data, image.size);
    path = "series";
    flags = BLOOMFILE_OPEN_NOWAIT;
    assert_cost_of(open_path);
    flags = BLOOMFILE_OPEN_COPY;
    assert_cost_of(open_path);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
