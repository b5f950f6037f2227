/* SPDX-License-Identifier: MIT
 * The example of an engine: a filter that is damaged or belongs to another table costs reads and
 * loses nothing. */
#include "support.h"

int engine_main(int argc, char **argv);
#define main engine_main
#include "../../examples/engine/engine.c"
#undef main

enum {
    ROWS_MADE = 3 * PARTITION * IN_BLOCK / 2, /* two partitions */
};

static void open_made(struct table *t, const char *path, enum choice choice)
{
    write_table(path, choice, ROWS_MADE, 0.01);
    open_table(t, path);
    assert_int_equal(t->partitions, 2);
}

static void close_made(struct table *t)
{
    for (uint64_t p = 0; p < t->partitions; p++)
        drop_filter(t, &t->cache[p]);
    assert_int_equal(t->charge, 0);
    close(t->fd);
    free(t->cache);
    free(t->parts);
}

static unsigned found_of(struct table *t, bool absent, unsigned n)
{
    unsigned found;
    gets(t, n, absent, &found);
    return found;
}

TEST_WITH(every_filter_finds_all_keys_and_saves_reads, enter_temp_dir, leave_temp_dir)
{
    for (enum choice choice = NONE; choice < CHOICES; choice++) {
        struct table t;
        open_made(&t, "table", choice);
        assert_int_equal(found_of(&t, false, 1), GETS);
        assert_int_equal(found_of(&t, false, GROUP), GETS);
        assert_int_equal(found_of(&t, true, GROUP), 0);
        assert_in_range(t.reads, choice == NONE ? GETS : 1, choice == NONE ? GETS : GETS / 50);
        close_made(&t);
    }
}

static void copy_bytes(const char *to, const char *from, uint64_t offset, uint64_t size, bool flip)
{
    struct bytes source = read_file(from), target = read_file(to);
    memcpy(target.data + offset, source.data + offset, (size_t)size);
    target.data[offset + size / 2] ^= flip;
    write_file(to, target.data, target.size);
    free(source.data);
    free(target.data);
}

/* The first partition's filter is damaged, or belongs to another table with the same rows. */
TEST_WITH(wrong_filter_is_not_used, enter_temp_dir, leave_temp_dir)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        struct table t;
        write_table("other", BLOCKED, ROWS_MADE, 0.01);
        open_made(&t, "table", BLOCKED);
        copy_bytes("table", damaged ? "table" : "other", t.parts[0].filter, t.parts[0].filter_size,
                   damaged);
        assert_int_equal(found_of(&t, false, GROUP), GETS);
        assert_int_equal(found_of(&t, true, GROUP), 0);
        assert_in_range(t.reads, GETS / 2, GETS * 3 / 4);
        close_made(&t);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
