/* SPDX-License-Identifier: MIT
 * Results of filters in doubt: tests/golden-refused/doubt.tsv, with single lookups, batches and
 * verification. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *tests_folder;

enum {
    KEYS_MOST = 1000,
    COLUMNS = 8
};

struct list {
    struct bytes text; /* one key a line */
    struct bloomfile_key keys[KEYS_MOST];
    size_t count;
};

static struct bytes read_golden(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s", tests_folder, folder, name);
    return read_file(path);
}

static struct list read_list(const char *name)
{
    struct list list = { .text = read_golden("golden", name) };
    const uint8_t *at = list.text.data, *end = at + list.text.size, *newline;
    for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; at = newline + 1) {
        assert_true(list.count < KEYS_MOST);
        list.keys[list.count++] = (struct bloomfile_key){ at, (size_t)(newline - at) };
    }
    return list;
}

/* ---- looking up */

static bool is_listed_by_digest(const char *name)
{
    return strstr(name, ".digests") != NULL;
}

static bloomfile_digest digest_in(const bloomfile_filter *f, const struct bloomfile_key *key,
                                  bool listed)
{
    char digits[17] = "";
    if (!listed)
        return bloomfile_hash(info_of(f).seed, key->data, key->size);
    memcpy(digits, key->data, 16);
    return strtoull(digits, NULL, 16);
}

/* Returns how many keys of a list are "maybe"; every function must agree. */
static size_t maybes(const bloomfile_filter *f, const char *name, bool batch_first)
{
    static bool one[KEYS_MOST], many[KEYS_MOST], by_key[KEYS_MOST];
    static bloomfile_digest digests[KEYS_MOST];
    struct list list = read_list(name);
    const bool listed = is_listed_by_digest(name);
    size_t count = 0, counted = 0;
    for (size_t i = 0; i < list.count; i++)
        digests[i] = digest_in(f, &list.keys[i], listed);
    if (batch_first)
        counted = bloomfile_contains_digests(f, digests, list.count, many);
    for (size_t i = 0; i < list.count; i++)
        count += one[i] = bloomfile_contains_digest(f, digests[i]);
    if (!batch_first)
        counted = bloomfile_contains_digests(f, digests, list.count, many);
    assert_int_equal(counted, count);
    assert_memory_equal(one, many, list.count * sizeof *one);
    if (!listed) {
        assert_int_equal(bloomfile_contains_many(f, list.keys, list.count, by_key), count);
        assert_memory_equal(one, by_key, list.count * sizeof *one);
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(bloomfile_contains(f, list.keys[i].data, list.keys[i].size), one[i]);
    }
    free(list.text.data);
    return count;
}

static size_t length_of(const char *name)
{
    const struct list list = read_list(name);
    free(list.text.data);
    return list.count;
}

/* ---- rows */

/* Columns, in the order in which the test uses them. */
enum {
    A_FILE,
    A_LIST,
    NAMES,
    NAME_ERRORS,
    MAYBES,
    VERIFY,
    A_PAGE,
    MAYBES_VERIFIED
};

/* Opens the image with each of these names in turn; returns the handle of the last. NULL: it was
 * refused. */
static bloomfile_filter *open_with_names(struct bytes image, char *const *row)
{
    char all[200], all_errors[200], *names = all, *errors = all_errors;
    snprintf(all, sizeof all, "%s", row[NAMES]);
    snprintf(all_errors, sizeof all_errors, "%s", row[NAME_ERRORS]);
    bloomfile_filter *f = NULL;
    if (strcmp(names, "-") == 0)
        return open_image(image, 0);
    for (char *name; (name = strsep(&names, ",")) != NULL;) {
        char *end;
        const uint32_t number = (uint32_t)strtoul(name, &end, 16);
        const uint64_t value = strtoull(end, NULL, 16);
        bloomfile_close(f);
        assert_error(
            open_named(&f, bloomfile_from_memory(image.data, image.size), 0, number, value),
            error_named(strsep(&errors, ",")));
    }
    return f;
}

static void check_answers(const bloomfile_filter *f, char *const *row, int expected,
                          bool batch_first)
{
    const char *absent =
        is_listed_by_digest(row[A_LIST]) ? "keys/absent.digests" : "keys/absent.keys";
    assert_int_equal(maybes(f, absent, batch_first), strtoull(row[expected], NULL, 10));
    assert_int_equal(maybes(f, row[A_LIST], batch_first), length_of(row[A_LIST]));
}

static void check_verification(const bloomfile_filter *f, char *const *row, unsigned threads)
{
    struct bloomfile_fault fault = { .page = 0 };
    const int error = bloomfile_verify(f, threads, &fault);
    assert_error(error, error_named(row[VERIFY]));
    if (error == BLOOMFILE_EPAGE)
        assert_int_equal(fault.page, strtoull(row[A_PAGE], NULL, 10));
    if (error != 0)
        assert_error(bloomfile_check(f), error);
}

/* turn: whether a batch comes first, and the number of threads that verify. */
static void check_row(char *const *row, unsigned turn)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/golden-refused/%s", tests_folder, row[A_FILE]);
    const bool refused = access(path, F_OK) == 0;
    struct bytes image = read_golden(refused ? "golden-refused" : "golden", row[A_FILE]);
    bloomfile_filter *f = open_with_names(image, row);
    if (f == NULL) {
        free(image.data);
        return;
    }
    check_answers(f, row, MAYBES, turn % 2 == 1);
    check_verification(f, row, turn);
    check_answers(f, row, MAYBES_VERIFIED, turn % 2 == 1);
    bloomfile_close(f);

    f = open_with_names(image, row);
    check_verification(f, row, 1); /* before any lookup */
    check_answers(f, row, MAYBES_VERIFIED, turn % 2 == 0);
    bloomfile_close(f);
    free(image.data);
}

/* Splits a line at its tabs. */
static void split(char *line, char **row)
{
    for (int i = 0; i < COLUMNS; i++)
        row[i] = strsep(&line, "\t");
    assert_non_null(row[COLUMNS - 1]);
    assert_null(line);
}

TEST(answers_from_damaged_files_match_the_table)
{
    static const char columns[] =
        "file\tkeys\tnames\tname_errors\tmaybes\tverify\tpage\tmaybes_verified";
    struct bytes table = read_golden("golden-refused", "doubt.tsv");
    table.data[table.size - 1] = '\0'; /* in place of the last newline */
    char *rest = (char *)table.data, *row[COLUMNS];
    assert_string_equal(strsep(&rest, "\n"), columns);
    unsigned rows = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL; rows++) {
        split(line, row);
        for (unsigned turn = 0; turn < 3; turn++)
            check_row(row, turn);
    }
    assert_true(rows > 100);
    free(table.data);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    tests_folder = argv[1];
    return run_all(NULL, NULL);
}
