/* SPDX-License-Identifier: MIT
 * Temporary files with names: a handler of the signal that ends the process removes them all, and
 * nothing of anybody else's. */
#include "support.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/signals.h"
#include "os/temporary.h"

enum {
    SECONDS = 60, /* in which a child has long ended */
    FORKS = 300,
    MANY = 5000 /* so that a thread is at the list most of the time */
};

static struct temporary new_temporary(const char *name)
{
    struct temporary t = { .directory = AT_FDCWD };
    snprintf(t.name, sizeof t.name, "%s", name);
    t.fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(t.fd >= 0);
    return t;
}

static void list(struct temporary *t)
{
    sigset_t before;
    signals_hold(&before);
    temporary_list(t);
    signals_let_go(&before);
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void all_that_are_listed_are_removed(void **state)
{
    (void)state;
    struct temporary all[] = { new_temporary("a"), new_temporary("b"), new_temporary("c"),
                               new_temporary("d") };
    for (size_t i = 0; i < ROWS(all); i++)
        list(&all[i]);
    temporary_unlist(&all[1]);
    assert_string_equal(all[1].name, "");
    temporary_unlist(&all[1]); /* it is not listed any more */
    temporary_unlist(&all[3]);
    errno = EXDEV;
    bloomfile_remove_temporaries();
    assert_int_equal(errno, EXDEV);
    assert_false(is_there("a"));
    assert_true(is_there("b"));
    assert_false(is_there("c"));
    assert_true(is_there("d"));
    for (size_t i = 0; i < ROWS(all); i++) {
        temporary_unlist(&all[i]);
        close(all[i].fd);
    }
}

/* Somebody else may have taken its maker for gone. */
static void a_name_that_is_another_file_s_stays(void **state)
{
    (void)state;
    struct temporary t = new_temporary("same");
    list(&t);
    struct temporary other = new_temporary("other");
    assert_int_equal(rename("other", "same"), 0);
    bloomfile_remove_temporaries();
    assert_true(is_there("same"));
    temporary_unlist(&t);
    close(t.fd);
    close(other.fd);
}

static void assert_ends_well(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_child_removes_its_own_alone(void **state)
{
    (void)state;
    struct temporary t = new_temporary("parent's");
    list(&t);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        bloomfile_remove_temporaries();
        struct temporary own = new_temporary("child's");
        list(&own);
        bloomfile_remove_temporaries();
        _exit(is_there("parent's") && !is_there("child's") ? 0 : 1);
    }
    assert_ends_well(child);
    bloomfile_remove_temporaries();
    assert_false(is_there("parent's"));
    temporary_unlist(&t);
    close(t.fd);
}

static atomic_bool over;

static struct temporary many[MANY];

static void list_many(void)
{
    for (size_t i = 0; i < MANY; i++) {
        many[i].fd = -1;
        list(&many[i]);
    }
}

static void unlist_many(void)
{
    for (size_t i = 0; i < MANY; i++)
        temporary_unlist(&many[i]);
}

/* Each time the one that is the last on the list. */
static void *move_to_the_front(void *context)
{
    for (size_t i = 0; !atomic_load(&over); i = (i + 1) % MANY) {
        temporary_unlist(&many[i]);
        list(&many[i]);
    }
    return context;
}

/* The child does not have the thread that was at it. */
static void a_child_waits_for_no_thread_of_its_parent(void **state)
{
    (void)state;
    pthread_t thread;
    list_many();
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, move_to_the_front, NULL), 0);
    for (unsigned i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(SECONDS);
            bloomfile_remove_temporaries();
            _exit(0);
        }
        assert_ends_well(child);
    }
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    unlist_many();
}

static void remove_in_handler(int number)
{
    (void)number;
    bloomfile_remove_temporaries();
}

static pthread_t main_thread;

static void *send_two_at_a_time(void *context)
{
    for (unsigned i = 0; i < FORKS; i++) {
        pthread_kill(main_thread, SIGUSR1);
        usleep(20);
        pthread_kill(main_thread, SIGUSR2); /* while the handler of the first one is at it */
        usleep(500);
    }
    atomic_store(&over, true);
    return context;
}

/* Whatever thread the signal comes to, and wherever it is: in the handler of another one, too. */
static void a_handler_never_waits_for_its_own_thread(void **state)
{
    (void)state;
    pthread_t sender;
    const struct sigaction removes = { .sa_handler = remove_in_handler };
    struct sigaction before[2];
    assert_int_equal(sigaction(SIGUSR1, &removes, &before[0]), 0);
    assert_int_equal(sigaction(SIGUSR2, &removes, &before[1]), 0);
    list_many();
    main_thread = pthread_self();
    alarm(SECONDS);
    for (unsigned busy = 0; busy < 2; busy++) {
        atomic_store(&over, false);
        assert_int_equal(pthread_create(&sender, NULL, send_two_at_a_time, NULL), 0);
        if (busy)
            move_to_the_front(NULL);
        assert_int_equal(pthread_join(sender, NULL), 0);
    }
    alarm(0);
    unlist_many();
    assert_int_equal(sigaction(SIGUSR1, &before[0], NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &before[1], NULL), 0);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_temp_dir, leave_temp_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(all_that_are_listed_are_removed),
        IN_DIR(a_name_that_is_another_file_s_stays),
        IN_DIR(a_child_removes_its_own_alone),
        IN_DIR(a_child_waits_for_no_thread_of_its_parent),
        IN_DIR(a_handler_never_waits_for_its_own_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
