/* SPDX-License-Identifier: MIT
 * examples/sstable: one handle of a tablet, read by several threads, one filter being damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <mtbl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tablet.h"

enum {
    HEADER_SIZE = 4096,
    THREADS = 4,
    TABLES = 3,
    ROWS = 4000, /* of each table; the next one has half of these keys, too */
    KEYS = TABLES * ROWS,
    BATCH = 100,
    KEY_SIZE = 16,
};

static char names[KEYS][KEY_SIZE], values[TABLES][KEY_SIZE];

static struct bloomfile_key bytes_of(const char *text)
{
    return (struct bloomfile_key){ text, strlen(text) };
}

/* The newest table that has the key; -1: none. */
static int owner(unsigned key)
{
    for (int table = TABLES - 1; table >= 0; table--) {
        const unsigned first = (unsigned)table * ROWS / 2;
        if (key >= first && key < first + ROWS)
            return table;
    }
    return -1;
}

/* What is said goes to a file, while readers are at work. */
static int hear(void)
{
    const int before = dup(STDERR_FILENO);
    assert_int_not_equal(before, -1);
    assert_non_null(freopen("said", "w", stderr));
    return before;
}

static void hear_no_more(int before)
{
    assert_int_equal(fflush(stderr), 0);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(before), 0);
}

static void count_said(unsigned *damage, unsigned *otherwise)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("said", "r");
    assert_non_null(file);
    *damage = *otherwise = 0;
    while (getline(&line, &room, file) != -1)
        ++*(strstr(line, ": t/000002.bloom: the filter is damaged") != NULL ? damage : otherwise);
    free(line);
    assert_int_equal(fclose(file), 0);
}

static void put_table(unsigned table)
{
    static const struct table_options options = { .compression = MTBL_COMPRESSION_LZ4,
                                                  .fpr = 0.01 };
    struct row *rows = calloc(ROWS, sizeof *rows);
    assert_non_null(rows);
    for (unsigned i = 0; i < ROWS; i++) {
        rows[i].key = bytes_of(names[table * ROWS / 2 + i]);
        rows[i].value = bytes_of(values[table]);
    }
    tablet_put("t", &(struct rows){ ROWS, rows }, &options);
    free(rows);
}

/* Of the second filter's first page, which no checksum of the header covers. */
static void damage(void)
{
    FILE *file = fopen("t/000002.bloom", "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, HEADER_SIZE + 100, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, HEADER_SIZE + 100, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0xFF, file), byte ^ 0xFF);
    assert_int_equal(fclose(file), 0);
}

static bool is_right(const struct answer *answer, unsigned key)
{
    const int table = owner(key);
    if (table < 0)
        return !answer->found;
    const struct bloomfile_key value = bytes_of(values[table]);
    return answer->found && answer->size == value.size &&
           memcmp(answer->data, value.data, value.size) == 0;
}

/* Returns how many answers were wrong, of all keys one by one and in batches, from another one on
 * in each thread. */
static size_t read_all(const struct tablet *t, unsigned start)
{
    size_t wrong = 0;
    struct answer one = { 0 }, many[BATCH];
    memset(many, 0, sizeof many);
    for (unsigned done = 0; done < KEYS; done += BATCH) {
        struct bloomfile_key keys[BATCH];
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned key = (start + done + i) % KEYS;
            keys[i] = bytes_of(names[key]);
            tablet_get(t, keys[i], &one);
            wrong += !is_right(&one, key);
        }
        tablet_get_many(t, keys, BATCH, many);
        for (unsigned i = 0; i < BATCH; i++)
            wrong += !is_right(&many[i], (start + done + i) % KEYS);
    }
    for (unsigned i = 0; i < BATCH; i++)
        free(many[i].data);
    free(one.data);
    return wrong;
}

struct reader {
    pthread_t thread;
    const struct tablet *tablet;
    unsigned start;
    size_t wrong;
};

static void *read_in_thread(void *argument)
{
    struct reader *r = argument;
    r->wrong = read_all(r->tablet, r->start);
    return NULL;
}

static void threads_share_a_tablet(void **state)
{
    for (unsigned i = 0; i < KEYS; i++)
        snprintf(names[i], KEY_SIZE, "key %08u", i);
    for (unsigned i = 0; i < TABLES; i++)
        snprintf(values[i], KEY_SIZE, "table %u", i);
    for (unsigned i = 0; i < TABLES; i++)
        put_table(i);
    damage();
    struct tablet tablet;
    const int before = hear();
    tablet_open(&tablet, "t", 0, 0);
    struct reader readers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){ .tablet = &tablet, .start = i * (KEYS / THREADS) };
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_in_thread, &readers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
    tablet_close(&tablet);
    hear_no_more(before);
    unsigned damage_said, otherwise_said;
    count_said(&damage_said, &otherwise_said);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(readers[i].wrong, 0);
    assert_int_equal(damage_said, 1);
    assert_int_equal(otherwise_said, 0);
}

/* Not those of support.h: the example has other functions of its functions' names. */
static char folder[4096];

static int enter_folder(void **state)
{
    const char *in = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sstable-threads.XXXXXX", in != NULL ? in : "/tmp");
    return mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

static int remove_folder(void **state)
{
    return chdir("/") != 0 ? -1 : nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_share_a_tablet, enter_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
