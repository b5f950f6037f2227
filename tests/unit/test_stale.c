/* SPDX-License-Identifier: MIT
 * bloomfile_is_stale(): whether the path names another file, or a changed file. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/handle.h"

static const struct recipe in_file = { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 100, 6, 500, 0 };

TEST_IN_DIR(filter_is_stale_once_its_path_names_another_file_or_nothing)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    bloomfile_filter *f, *again;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    assert_int_equal(bloomfile_is_stale(f), 0);

    write_file("newer", image.data, image.size);
    assert_int_equal(rename("newer", "filter"), 0);
    assert_int_equal(bloomfile_is_stale(f), 1);
    assert_error(bloomfile_open(&again, "filter", 0), 0);
    assert_int_equal(bloomfile_is_stale(again), 0);
    assert_int_equal(unlink("filter"), 0);
    assert_int_equal(bloomfile_is_stale(again), 1);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_close(f);
    bloomfile_close(again);
    free(image.data);
}

TEST_IN_DIR(relative_path_refers_to_the_directory_of_the_open)
{
    struct bytes image = image_from(in_file);
    assert_int_equal(mkdir("dir", 0777), 0);
    write_file("dir/filter", image.data, image.size);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "dir/filter", 0), 0);
    char *path = realpath("dir/filter", NULL);
    bloomfile_filter *by_absolute_path;
    assert_error(bloomfile_open(&by_absolute_path, path, 0), 0);
    assert_int_equal(chdir("dir"), 0);
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_int_equal(bloomfile_is_stale(by_absolute_path), 0);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rename("dir", "moved"), 0);
    write_file("dir", "", 0); /* a folder of the path is a file now */
    assert_int_equal(bloomfile_is_stale(f), 1);
    assert_int_equal(bloomfile_is_stale(by_absolute_path), 1);
    bloomfile_close(f);
    bloomfile_close(by_absolute_path);
    free(path);
    free(image.data);
}

TEST_IN_DIR(symbolic_link_is_stale_once_its_target_changes)
{
    struct bytes image = image_from(in_file);
    write_file("one", image.data, image.size);
    write_file("two", image.data, image.size);
    make_symlink("one", "link");
    bloomfile_filter *f, *again;
    assert_error(bloomfile_open(&f, "link", 0), 0);
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_int_equal(unlink("link"), 0);
    make_symlink("two", "link");
    assert_int_equal(bloomfile_is_stale(f), 1);
    assert_int_equal(unlink("link"), 0);
    make_symlink("link", "link");
    assert_int_equal(bloomfile_is_stale(f), 1); /* ELOOP: opening it reports that */
    assert_error(bloomfile_open(&again, "link", 0), ELOOP);
    bloomfile_close(f);
    free(image.data);
}

/* Two writes within a tick of the file system's clock give equal times. */
TEST_IN_DIR(different_size_is_a_change_even_with_equal_times)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    for (int by = -1; by <= 1; by++) {
        f->file.size = (off_t)image.size + by;
        assert_int_equal(bloomfile_is_stale(f), by != 0);
    }
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
