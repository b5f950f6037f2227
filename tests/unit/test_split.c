/* SPDX-License-Identifier: MIT
 * All implementations that find the ends of lines find the same ends, at any address. */
#include "support.h"

#include <ctype.h>
#include <string.h>
#include <sys/mman.h>

#include "keys/scan.h"
#include "keys/split.h"

#define PAGE    4096u
#define LONGEST (3 * SCAN_BLOCK + 5)
#define MOST    (PAGE + 1)

/* A page between two inaccessible pages. */
static uint8_t *page;

static int make_page(void **state)
{
    uint8_t *pages = mmap(NULL, (size_t)3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return -1;
    page = pages + PAGE;
    return mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static int free_page(void **state)
{
    return munmap(page - PAGE, (size_t)3 * PAGE);
}

/* One byte in `rarity` is a mark. The other bytes differ from it in one bit, sometimes the
 * highest, or are carriage returns. */
static void fill(uint8_t *bytes, size_t size, uint8_t mark, uint64_t rarity, uint64_t seed)
{
    for (size_t i = 0; i < size; i++) {
        const uint64_t r = bloomfile_hash(seed, &i, sizeof i);
        bytes[i] = (uint8_t)(mark ^ 1u << r % 8);
        if (r / 8 % 4 == 0)
            bytes[i] = '\r';
        if (r / 32 % rarity == 0)
            bytes[i] = mark;
    }
}

#ifdef __SSE2__
static void check_finder(scan_find *find, const uint8_t *bytes, size_t size, uint8_t mark,
                         size_t max)
{
    static struct bloomfile_key found[MOST];
    size_t n = find(bytes, bytes + size, mark, found, max), there = 0, start = 0;
    for (size_t i = 0; i < size / SCAN_BLOCK * SCAN_BLOCK; i++) {
        if (bytes[i] != mark)
            continue;
        if (there < n) {
            assert_ptr_equal(found[there].data, bytes + start);
            assert_int_equal(found[there].size, i - start);
        }
        start = i + 1;
        there++;
    }
    assert_true(n <= max);
    assert_true(n == there || (n < there && n + 2 > max));
}
#endif

/* Picks marks by their numbers: neighbours, the first marks, and distant marks. */
static void check_picker(scan_pick *pick, const uint8_t *bytes, size_t size, const uint8_t *limit,
                         uint8_t mark)
{
    static const uint32_t sets[][4] = {
        { 1, 2, 3, 4 },     { 1, 3, 4, 70 },   { 2, 5, 6, 7 },
        { 63, 64, 65, 66 }, { 7, 30, 90, 91 }, { 1, 64, 128, 129 }
    };
    for (size_t set = 0; set < ROWS(sets); set++) {
        for (size_t count = 0; count <= 4; count++) {
            const uint8_t *found[4];
            const size_t n = pick(bytes, bytes + size, limit, mark, sets[set], count, found);
            uint32_t number = 0;
            size_t there = 0;
            for (size_t i = 0; i < size && there < count; i++) {
                number += bytes[i] == mark;
                if (bytes[i] != mark || number != sets[set][there])
                    continue;
                if (there < n)
                    assert_ptr_equal(found[there], bytes + i);
                there++;
            }
            assert_int_equal(n, there);
        }
    }
}

static void check_pickers(const uint8_t *bytes, size_t size, const uint8_t *limit, uint8_t mark)
{
    check_picker(scan_pick_plain, bytes, size, limit, mark);
#ifdef __SSE2__
    check_picker(scan_pick_sse2, bytes, size, limit, mark);
#endif
#ifdef __x86_64__
    if (scan_picker() == scan_pick_pdep)
        check_picker(scan_pick_pdep, bytes, size, limit, mark);
#endif
}

/* The definition, one byte at a time. */
static size_t split_bytewise(const struct split *s, struct bloomfile_key *keys)
{
    size_t n = 0;
    for (const uint8_t *start = s->at, *at = s->at; start < s->end; start = ++at, n++) {
        while (at < s->end && *at != s->end_byte)
            at++;
        const bool cr = s->crlf && at > start && at[-1] == '\r';
        keys[n] = (struct bloomfile_key){ start, (size_t)(at - start) - cr };
    }
    return n;
}

static void check_split(struct split s, size_t max)
{
    static struct bloomfile_key wanted[MOST], keys[MOST];
    const size_t n = split_bytewise(&s, wanted);
    size_t got = 0;
    for (size_t more; (more = split_next(&s, keys, max)) > 0; got += more) {
        assert_true(more <= max && got + more <= n);
        for (size_t i = 0; i < more; i++) {
            assert_ptr_equal(keys[i].data, wanted[got + i].data);
            assert_int_equal(keys[i].size, wanted[got + i].size);
        }
    }
    assert_int_equal(got, n);
    assert_ptr_equal(s.at, s.end);
}

static void check_bytes(const uint8_t *bytes, size_t size, uint8_t mark)
{
    static const size_t maxima[] = { 1, 2, 3, 7, SCAN_BLOCK, MOST };
    for (size_t i = 0; i < ROWS(maxima); i++) {
#ifdef __SSE2__
        check_finder(scan_find_sse2, bytes, size, mark, maxima[i]);
        if (scan_finder() == scan_find_avx2)
            check_finder(scan_find_avx2, bytes, size, mark, maxima[i]);
#endif
        for (unsigned crlf = 0; crlf < 2; crlf++)
            check_split(
                (struct split){
                    .at = bytes, .end = bytes + size, .end_byte = mark, .crlf = crlf != 0 },
                maxima[i]);
    }
}

TEST(nth_mark_is_found_by_every_picker)
{
    static const uint64_t rarities[] = { 1, 2, 20, UINT64_MAX };
    for (size_t r = 0; r < ROWS(rarities); r++) {
        for (size_t size = 0; size <= LONGEST; size++) {
            fill(page, PAGE, '\t', rarities[r], size);
            for (size_t at = 0; at < SCAN_BLOCK; at += 7)
                check_pickers(page + at, size, page + PAGE, '\t');
            check_pickers(page + PAGE - size, size, page + PAGE, '\t');
            check_pickers(page + PAGE - size - 9, size, page + PAGE, '\t');
        }
    }
}

TEST(all_splitters_agree_at_every_alignment)
{
    static const uint64_t rarities[] = { 1, 2, 60, UINT64_MAX };
    for (size_t r = 0; r < ROWS(rarities); r++) {
        for (size_t size = 0; size <= LONGEST; size++) {
            fill(page, PAGE, '\n', rarities[r], size);
            for (size_t at = 0; at < SCAN_BLOCK; at++)
                check_bytes(page + at, size, '\n');
            check_bytes(page + PAGE - size, size, '\n');
        }
        check_bytes(page, PAGE, '\n');
    }
}

TEST(all_splitters_find_a_mark_anywhere)
{
    for (size_t place = 0; place < LONGEST; place++) {
        memset(page, 'x', PAGE);
        page[place] = '\n';
        check_bytes(page, LONGEST, '\n');
    }
}

TEST(any_byte_value_can_be_the_mark)
{
    for (unsigned mark = 0; mark < 256; mark++) {
        fill(page, PAGE, (uint8_t)mark, 9, mark);
        check_bytes(page + mark % 64, LONGEST, (uint8_t)mark);
    }
}

TEST(split_whole_ends_at_the_last_mark)
{
    const struct split lines = { .end_byte = '\n' }, records = { .record_size = 7 };
    const uint8_t *text = (const uint8_t *)"one\ntwo\nthree";
    assert_int_equal(split_whole(&lines, text, 13, 0), 8);
    assert_int_equal(split_whole(&lines, text, 13, 7), 8);
    assert_int_equal(split_whole(&lines, text, 13, 8), 0);
    assert_int_equal(split_whole(&lines, text, 3, 0), 0);
    assert_int_equal(split_whole(&records, text, 13, 0), 7);
    assert_int_equal(split_whole(&records, text, 6, 0), 0);
}

/* ---- Key forms, for keys at the end of the page. */

static bool decodes(const uint8_t *bytes, size_t size)
{
    static const char digits[2][17] = { "0123456789abcdef", "0123456789ABCDEF" };
    const struct key_form form = { .hex = true };
    struct bloomfile_key key = { page + PAGE - 2 * size, 2 * size };
    uint8_t *text = page + PAGE - 2 * size, room[PAGE], *to = room;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = (uint8_t)digits[bytes[i] & 1][bytes[i] >> 4];
        text[2 * i + 1] = (uint8_t)digits[bytes[i] >> 1 & 1][bytes[i] & 15];
    }
    return key_form_apply(&form, &to, &key).kind == FAULT_NONE && key.size == size &&
           to == room + size && (size == 0 || memcmp(key.data, bytes, size) == 0);
}

TEST(hexadecimal_of_any_length_is_decoded)
{
    uint8_t bytes[LONGEST];
    for (size_t size = 0; size <= LONGEST; size++) {
        fill(bytes, sizeof(bytes), (uint8_t)size, 3, size);
        assert_true(decodes(bytes, size));
    }
}

TEST(bytes_other_than_hexadecimal_digits_are_errors)
{
    const struct key_form form = { .hex = true };
    for (size_t size = 2; size <= 48; size += size < 20 ? 2 : 14) {
        uint8_t *text = page + PAGE - size, room[PAGE];
        for (size_t place = 0; place < size; place++) {
            memset(text, 'e', size);
            for (unsigned byte = 0; byte < 256; byte++) {
                uint8_t *to = room;
                struct bloomfile_key key = { text, size };
                text[place] = (uint8_t)byte;
                assert_int_equal(key_form_apply(&form, &to, &key).kind,
                                 isxdigit((int)byte) ? FAULT_NONE : FAULT_HEX);
            }
        }
    }
}

int main(void)
{
    return run_all(make_page, free_page);
}
