/* SPDX-License-Identifier: MIT
 * Files that several processes publish under one name. */
#include "support.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AS_EXPECTED = 0,
    NOT_AS_EXPECTED = 1
};

static int publish_as_first(void)
{
    int error = publish_filter("contested", 0, 1000);
    return error == 0 ? 10 : error == EEXIST ? 11 : 12;
}

TEST_IN_DIR(exactly_one_of_several_publishers_without_to_replace_succeeds)
{
    enum {
        PROCESSES = 8
    };
    for (unsigned round = 0; round < 5; round++) {
        pid_t children[PROCESSES];
        for (unsigned i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            if (children[i] == 0)
                _exit(publish_as_first());
        }
        unsigned won = 0, lost = 0;
        for (unsigned i = 0; i < PROCESSES; i++) {
            int status;
            waitpid(children[i], &status, 0);
            won += WIFEXITED(status) && WEXITSTATUS(status) == 10;
            lost += WIFEXITED(status) && WEXITSTATUS(status) == 11;
        }
        assert_int_equal(won, 1);
        assert_int_equal(lost, PROCESSES - 1);
        assert_filter_of("contested", 1000);
        assert_int_equal(entries_in_dir(), 1);
        assert_int_equal(unlink("contested"), 0);
    }
}

static int replace_over_and_over(void)
{
    for (unsigned i = 0; i < 20; i++)
        if (publish_filter("hot", BLOOMFILE_TO_REPLACE, 1000 + i) != 0)
            return NOT_AS_EXPECTED;
    return AS_EXPECTED;
}

TEST_IN_DIR(reader_always_sees_a_whole_file_during_replacements)
{
    assert_error(publish_filter("hot", 0, 1000), 0);
    pid_t children[2];
    for (unsigned i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(replace_over_and_over());
    }
    unsigned opened = 0;
    for (unsigned running = 2; running > 0; opened++) {
        bloomfile_filter *f;
        assert_error(bloomfile_open(&f, "hot", BLOOMFILE_OPEN_VERIFY_FULL), 0);
        assert_true(bloomfile_contains_digest(f, number(0, opened % 1000)));
        bloomfile_close(f);
        int status;
        if (waitpid(children[running - 1], &status, WNOHANG) != 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == AS_EXPECTED);
            running--;
        }
    }
    assert_int_equal(entries_in_dir(), 1);
}

int main(void)
{
    return run_all(NULL, NULL);
}
