/* SPDX-License-Identifier: MIT
 * Memory that grows keeps its bytes and stays one mapping. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/memory.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Returns how many mappings hold some of the bytes; *last_end: the end of the last mapping. */
static unsigned mappings(const void *bytes, size_t size, uintptr_t *last_end)
{
    const uintptr_t start = (uintptr_t)bytes;
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t first, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2)
            continue;
        if (first >= start + size || end <= start)
            continue;
        *last_end = end;
        count++;
    }
    fclose(maps);
    return count;
}

/* Before Linux 6.17, mremap() moves only one mapping. */
TEST(growing_memory_keeps_its_bytes_in_one_mapping)
{
    static const size_t sizes[] = { 1000,          HUGE_PAGE - 1,     HUGE_PAGE,
                                    HUGE_PAGE + 1, 2 * HUGE_PAGE,     2 * HUGE_PAGE + 1,
                                    5 * HUGE_PAGE, 9 * HUGE_PAGE - 1, 20 * HUGE_PAGE };
    uint8_t *pages = NULL;
    size_t size = 0;
    for (size_t i = 0; i < ROWS(sizes); i++) {
        uint8_t *grown = hugepages_grow(pages, size, sizes[i]);
        assert_non_null(grown);
        for (size_t at = 0; at < size; at += 1000)
            assert_int_equal(grown[at], (uint8_t)(at / 1000));
        for (size_t at = (size + 999) / 1000 * 1000; at < sizes[i]; at += 1000)
            grown[at] = (uint8_t)(at / 1000);
        if (sizes[i] >= HUGE_PAGE) {
            assert_int_equal((uintptr_t)grown % HUGE_PAGE, 0);
            uintptr_t end = 0;
            assert_int_equal(mappings(grown, sizes[i], &end), 1);
            assert_in_range(end - (uintptr_t)grown - sizes[i], 0, 65535); /* no huge page behind */
        }
        pages = grown;
        size = sizes[i];
    }
    hugepages_free(pages, size);
}

TEST(memory_of_fixed_size_is_aligned_and_released_with_free)
{
    static const size_t sizes[] = {
        0, 1000, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 5 * HUGE_PAGE
    };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        uint8_t *pages = hugepages_alloc(sizes[i]);
        assert_true(pages != NULL || sizes[i] == 0);
        assert_true(sizes[i] < HUGE_PAGE || (uintptr_t)pages % HUGE_PAGE == 0);
        for (size_t at = 0; at < sizes[i]; at++)
            pages[at] = (uint8_t)at;
        free(pages);
    }
    assert_null(hugepages_alloc(SIZE_MAX - 1));
}

int main(void)
{
    return run_all(NULL, NULL);
}
