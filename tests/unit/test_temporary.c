/* SPDX-License-Identifier: MIT
 * Temporary files with names: a handler of the signal that ends the process removes them all, and
 * nothing of anybody else's. What comes after that is done in children. */
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

#include "faults.h"
#include "os/temporary.h"

enum {
    SECONDS = 60, /* in which a child has long ended */
    ROUNDS = 300,
    MOVES = 20000,
    MANY = 5000 /* so that a thread is at the list most of the time */
};

/* Whether act() says so, in a child. */
static bool in_child(bool (*act)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        _exit(act() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool list(struct temporary *t)
{
    sigset_t before;
    if (temporary_begin(&before) != 0)
        return false;
    temporary_end(t, &before);
    return true;
}

static struct temporary new_temporary(const char *name)
{
    struct temporary t = { .directory = AT_FDCWD };
    snprintf(t.name, sizeof t.name, "%s", name);
    t.fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return t;
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

/* ---- what is removed */

static bool remove_some(void)
{
    struct temporary all[] = { new_temporary("a"), new_temporary("b"), new_temporary("c"),
                               new_temporary("d") };
    for (size_t i = 0; i < ROWS(all); i++)
        if (!list(&all[i]))
            return false;
    temporary_unlist(&all[1]);
    temporary_unlist(&all[1]); /* it is not listed any more */
    temporary_unlist(&all[3]);
    errno = EXDEV;
    bloomfile_remove_temporaries();
    return errno == EXDEV && all[1].name[0] == '\0' && !is_there("a") && is_there("b") &&
           !is_there("c") && is_there("d");
}

static void all_that_are_listed_are_removed(void **state)
{
    (void)state;
    assert_true(in_child(remove_some));
}

static bool remove_what_was_replaced(void)
{
    struct temporary t = new_temporary("same"), other = new_temporary("other");
    const bool replaced = list(&t) && rename("other", "same") == 0;
    bloomfile_remove_temporaries();
    return replaced && other.fd >= 0 && is_there("same");
}

/* Somebody else may have taken its maker for gone. */
static void a_name_that_is_another_file_s_stays(void **state)
{
    (void)state;
    assert_true(in_child(remove_what_was_replaced));
}

static bool remove_and_begin(void)
{
    sigset_t before;
    struct temporary t = { .directory = AT_FDCWD, .fd = -1 };
    bloomfile_remove_temporaries(); /* there is no list */
    if (!list(&t))
        return false;
    bloomfile_remove_temporaries();
    return temporary_begin(&before) == EINTR;
}

static void no_file_gets_a_name_afterwards(void **state)
{
    (void)state;
    assert_true(in_child(remove_and_begin));
}

static bool remove_what_there_is(void)
{
    bloomfile_remove_temporaries();
    return true;
}

static bool list_own_and_remove(void)
{
    struct temporary own = new_temporary("child's");
    const bool listed = list(&own);
    bloomfile_remove_temporaries();
    return listed && is_there("parent's") && !is_there("child's");
}

static void a_child_removes_its_own_alone(void **state)
{
    (void)state;
    struct temporary t = new_temporary("parent's");
    assert_true(list(&t));
    assert_true(in_child(remove_what_there_is));
    assert_true(is_there("parent's"));
    assert_true(in_child(list_own_and_remove));
    temporary_unlist(&t);
    close(t.fd);
}

static bool publish_without_a_mapping(unsigned nth)
{
    struct faults faults = once(ON_mmap64, nth, ENOMEM);
    faults.no_unnamed_files = true;
    bloomfile_builder *b = new_builder((struct bloomfile_params)BLOOMFILE_PARAMS_INIT);
    add_numbers(b, 0, 100);
    faults_begin(&faults);
    const int error = bloomfile_builder_finish(b, "filter", 0);
    faults_end();
    bloomfile_builder_free(b);
    return error == (fault_calls(ON_mmap64) < nth ? 0 : ENOMEM) &&
           is_there("filter") == (error == 0) && entries_in_dir() == (error == 0 ? 1 : 0);
}

static bool list_without_memory(void)
{
    sigset_t before, now;
    const struct faults faults = once(ON_mmap64, 1, ENOMEM);
    faults_begin(&faults);
    const int error = temporary_begin(&before);
    faults_end();
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return error == ENOMEM && sigismember(&now, SIGINT) == 0;
}

static bool publish_without_first(void)
{
    return publish_without_a_mapping(1);
}

static bool publish_without_second(void)
{
    return publish_without_a_mapping(2);
}

/* The first test: there is no list yet. */
static void without_memory_for_the_list_no_file_gets_a_name(void **state)
{
    (void)state;
    assert_true(in_child(list_without_memory));
    assert_true(in_child(publish_without_first));
    unlink("filter");
    assert_true(in_child(publish_without_second));
}

/* ---- who waits for whom */

static struct temporary many[MANY];
static atomic_bool over;

static bool list_many(void)
{
    bool listed = true;
    for (size_t i = 0; i < MANY; i++) {
        many[i].fd = -1;
        listed &= list(&many[i]);
    }
    return listed;
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
    assert_true(list_many());
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, move_to_the_front, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_true(in_child(remove_what_there_is));
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < MANY; i++)
        temporary_unlist(&many[i]);
}

static void *move_two_to_the_front(void *context)
{
    struct temporary *two = context;
    for (size_t i = 0; i < 2 * MOVES; i++) {
        temporary_unlist(&two[i % 2]);
        list(&two[i % 2]);
    }
    return NULL;
}

/* A short list, so that they meet often. */
static bool move_in_two_threads(void)
{
    pthread_t thread;
    struct temporary stays = new_temporary("stays");
    if (!list(&stays) || pthread_create(&thread, NULL, move_two_to_the_front, many) != 0)
        return false;
    move_two_to_the_front(many + 2);
    const bool joined = pthread_join(thread, NULL) == 0;
    bloomfile_remove_temporaries();
    return joined && !is_there("stays");
}

static void threads_wait_for_each_other(void **state)
{
    (void)state;
    assert_true(in_child(move_in_two_threads));
}

static pthread_t main_thread;

static void remove_in_handler(int number)
{
    (void)number;
    bloomfile_remove_temporaries();
}

static void *send_two_at_a_time(void *context)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_kill(main_thread, SIGUSR1);
        usleep(20);
        pthread_kill(main_thread, SIGBUS); /* while the handler of the first one is at it */
        usleep(500);
    }
    return context;
}

static void catch_both(void)
{
    const struct sigaction removes = { .sa_handler = remove_in_handler };
    sigaction(SIGUSR1, &removes, NULL);
    sigaction(SIGBUS, &removes, NULL);
    main_thread = pthread_self();
}

static bool be_interrupted_in_a_handler(void)
{
    pthread_t sender;
    catch_both();
    return list_many() && pthread_create(&sender, NULL, send_two_at_a_time, NULL) == 0 &&
           pthread_join(sender, NULL) == 0;
}

static void *send_once(void *context)
{
    usleep(500);
    pthread_kill(main_thread, SIGBUS);
    atomic_store(&over, true);
    return context;
}

static bool be_interrupted_at_the_list(void)
{
    pthread_t sender;
    catch_both();
    atomic_store(&over, false);
    if (!list_many() || pthread_create(&sender, NULL, send_once, NULL) != 0)
        return false;
    move_to_the_front(NULL);
    return pthread_join(sender, NULL) == 0;
}

/* Wherever it is when the signal comes: in the handler of another one, too. */
static void a_handler_never_waits_for_its_own_thread(void **state)
{
    (void)state;
    assert_true(in_child(be_interrupted_in_a_handler));
    for (unsigned i = 0; i < ROUNDS / 10; i++)
        assert_true(in_child(be_interrupted_at_the_list));
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_temp_dir, leave_temp_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(without_memory_for_the_list_no_file_gets_a_name),
        IN_DIR(all_that_are_listed_are_removed),
        IN_DIR(a_name_that_is_another_file_s_stays),
        IN_DIR(no_file_gets_a_name_afterwards),
        IN_DIR(a_child_removes_its_own_alone),
        IN_DIR(a_child_waits_for_no_thread_of_its_parent),
        IN_DIR(threads_wait_for_each_other),
        IN_DIR(a_handler_never_waits_for_its_own_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
