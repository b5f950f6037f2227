/* SPDX-License-Identifier: MIT
 * Faults while filters are built, folded, merged and published. */
#include "scenarios.h"

#include <bloomfile_combine.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_CONTENT "the file that was there before"

const struct scenario scenarios[SCENARIOS] = {
    [NEW] = { "a new file", false, false, { 0 } },
    [REPLACEMENT] = { "a replacement", true, false, { 0 } },
    [NEW_BY_NAME] = { "a new file, by name", false, false, { .no_unnamed_files = true } },
    [REPLACEMENT_BY_NAME] = { "a replacement, by name", true, false, { .no_unnamed_files = true } },
    [NEW_WITHOUT_PROC] = { "a new file, no /proc", false, false, { .no_proc = true } },
    [NEW_WITHOUT_RENAMEAT2] = { "a new file, no renameat2",
                                false,
                                false,
                                { .no_proc = true, .no_renameat2 = true } },
    [REPLACEMENT_THROUGH_LINK] = { "a replacement through a link", true, true, { 0 } },
};

const char target[] = "target", link_to_target[] = "link";
bool unnamed_files;
bool has_links;
bool (*target_is_taken)(void);

static struct bytes new_content;

static bloomfile_filter *sources[2];
static struct bytes images[2];

static int build(const char *path, unsigned flags)
{
    bloomfile_builder *b;
    int error = bloomfile_builder_new(&b, NULL);
    if (error != 0)
        return error;
    for (uint64_t i = 0; i < 20000 && error == 0; i++) {
        uint8_t room[8];
        struct bytes key = number_key(i, room);
        error = bloomfile_builder_add(b, key.data, key.size);
    }
    if (error == 0)
        error = bloomfile_builder_write(b, TO_PATH(path, flags));
    bloomfile_builder_free(b);
    return error;
}

static int fold(const char *path, unsigned flags)
{
    return bloomfile_fold(TO_PATH(path, flags), sources[0], 2, NULL);
}

static int merge(const char *path, unsigned flags)
{
    return bloomfile_merge(TO_PATH(path, flags), (const bloomfile_filter *const *)sources, 2, NULL);
}

static const struct {
    const char *what;
    int (*make)(const char *path, unsigned flags);
} ways[] = { { "building", build }, { "folding", fold }, { "merging", merge } };
static size_t way;

static void make_sources(void)
{
    for (size_t i = 0; i < 2; i++) {
        bloomfile_builder *b = new_builder((struct bloomfile_params){
            .layout = BLOOMFILE_LAYOUT_BLOCKED, .capacity = 60000, .hashes = 7 });
        add_numbers(b, 20000 * i, 20000 * (i + 1));
        images[i] = finish_image(b);
        bloomfile_builder_free(b);
        sources[i] = open_image(images[i], 0);
    }
}

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_sources();
    assert_error(ways[way].make(target, 0), 0);
    new_content = read_file(target);
    unnamed_files = has_unnamed_files();
    has_links = link(target, link_to_target) == 0;
    assert_true(has_links || errno == EPERM);
    return (has_links && unlink(link_to_target) != 0) || unlink(target) != 0;
}

static int clean_up(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        bloomfile_close(sources[i]);
        free(images[i].data);
    }
    free(new_content.data);
    return leave_temp_dir(state);
}

int run_scenarios(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    for (way = 0; way < ROWS(ways); way++)
        failed += _cmocka_run_group_tests(ways[way].what, tests, count, prepare, clean_up);
    return failed != 0;
}

bool target_holds(const void *bytes, size_t size)
{
    struct stat status;
    FILE *file = stat(target, &status) == 0 && S_ISREG(status.st_mode) ? fopen(target, "rb") : NULL;
    if (file == NULL)
        return false;
    uint8_t *content = malloc(size + 1);
    bool same = fread(content, 1, size + 1, file) == size && memcmp(content, bytes, size) == 0;
    free(content);
    fclose(file);
    return same;
}

bool target_is_old(const struct scenario *scenario)
{
    if (target_is_taken != NULL)
        return target_is_taken();
    return scenario->replace ? target_holds(OLD_CONTENT, strlen(OLD_CONTENT))
                             : access(target, F_OK) != 0;
}

bool target_is_new(void)
{
    return target_holds(new_content.data, new_content.size);
}

/* Runs the scenario with the faults and cleans up after it. Checks everything but the error, and
 * returns it. */
static int run(const struct scenario *scenario, struct faults faults)
{
    if (scenario->replace) {
        write_file(target, OLD_CONTENT, strlen(OLD_CONTENT));
        assert_int_equal(chmod(target, 0600), 0);
    }
    const bool through_link = scenario->through_link && has_links;
    if (through_link)
        assert_int_equal(symlink(target, link_to_target), 0);
    size_t descriptors = open_descriptors();
    sigset_t mask_before, mask_after;
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);

    faults.no_unnamed_files = scenario->lacking.no_unnamed_files;
    faults.no_proc = scenario->lacking.no_proc;
    faults.no_renameat2 = scenario->lacking.no_renameat2 && has_links;
    faults_begin(&faults);
    int error = ways[way].make(through_link ? link_to_target : target,
                               scenario->replace ? BLOOMFILE_TO_REPLACE : 0);
    faults_end();

    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    assert_int_equal(sigismember(&mask_after, SIGTERM), sigismember(&mask_before, SIGTERM));
    assert_int_equal(open_descriptors(), descriptors);
    const bool named = fault_calls(ON_fsync) > 1; /* only fsync() of the folder failed */
    if (error == 0 || named ? !target_is_new() : !target_is_old(scenario))
        fail_msg("%s: %s no. %u fails with %s: the target is %s", scenario->what,
                 fault_name(faults.call), faults.nth, bloomfile_errname(faults.error),
                 target_is_new()           ? "new"
                 : target_is_old(scenario) ? "old"
                                           : "damaged");
    unlink(target);
    unlink(link_to_target);
    assert_int_equal(entries_in_dir(), 0);
    return error;
}

void assert_returns(const struct scenario *scenario, struct faults faults, int expected)
{
    int returned = run(scenario, faults);
    if (returned != expected)
        fail_msg("%s: %s no. %u fails with %s: returned %s", scenario->what,
                 fault_name(faults.call), faults.nth, bloomfile_errname(faults.error),
                 bloomfile_errname(returned));
}
