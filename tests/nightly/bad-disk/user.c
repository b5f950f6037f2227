/* SPDX-License-Identifier: MIT
 * bad-disk-user FILTER COPIES BALLAST LEDGER WRITER SCRIPT...
 * uses FILTER on a failing disk, and writes the results of its calls into LEDGER
 * bad-disk-user keys WRITER FIRST END
 * prints these keys, one a line
 *
 * A script is a list of words, run in order. Script 0 starts; it starts the rest:
 *
 * create=LAYOUT   makes the filter, with a body of 8 MiB, and opens it
 * open, read      opens the filter for writing or reading; if that fails the script ends
 * add=N           adds the next N of the writer's keys
 * sync, seal, close
 * finish          by the only writer, so that every key is on disk
 * copy=HOW        to a new file in COPIES: copy_sealed, fold, merge, project or rescue
 * build           builds a new file there from the keys that the writer has added
 * thread=S        runs script S in another thread, with the same handle
 * fork=S          runs script S in a child with the inherited handle, as the next writer
 * join            waits for threads and children
 * fail, write-back, fsync, drop      see disk.h
 * pause=US        sleeps for this many microseconds
 * kill            kills this process with SIGKILL */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>

#include "../../unit/places.h"
#include "disk.h"
#include "ledger.h"

enum {
    BATCH = 64,
    CREW = 8
};

struct user {
    const char *path, *copies, *ballast;
    struct ledger *ledger;
    const struct keys *keys;
    unsigned writer;
    char **scripts;
    int scripts_count;
    bloomfile_filter *filter;
};

/* A running script, and the threads and children that it started. */
struct run {
    struct user *user;
    int script;
    pthread_t threads[CREW];
    pid_t children[CREW];
    int threads_count, children_count;
};

static int run_script(struct run *r);

/* ---- the filter */

static bool open_filter(struct user *u, unsigned flags)
{
    return ledger_count(u->ledger, bloomfile_open(&u->filter, u->path, flags));
}

static bool create(struct user *u, unsigned layout)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = layout == BLOOMFILE_LAYOUT_COUNTING ? 1 << 24 : 1 << 26;
    params.hashes = 4;
    params.capacity = WRITERS * KEYS;
    return ledger_count(
        u->ledger, bloomfile_create(&u->filter, u->path, &params, BLOOMFILE_OPEN_OVER_CAPACITY));
}

static void add(struct user *u, unsigned count)
{
    unsigned done = u->ledger->added[u->writer], end = done + count;
    end = end < KEYS ? end : KEYS;
    while (done < end) {
        bloomfile_digest digests[BATCH];
        unsigned n = 0;
        for (; n < BATCH && done + n < end; n++)
            digests[n] = keys_get(u->keys, u->writer, done + n)->digest;
        if (bloomfile_add_digests(u->filter, digests, n, NULL, NULL, NULL) != 0)
            return;
        done += n;
        u->ledger->added[u->writer] = done;
    }
}

/* Counts a call that promises that every key is on disk. */
static int sync_filter(bloomfile_filter *f)
{
    return bloomfile_sync(f, NULL);
}

static int seal_filter(bloomfile_filter *f)
{
    return bloomfile_seal(f, NULL);
}

static bool promising(struct user *u, int (*call)(bloomfile_filter *))
{
    unsigned added[WRITERS];
    ledger_added(u->ledger, added);
    if (!ledger_count(u->ledger, call(u->filter)))
        return false;
    ledger_promise(u->ledger->promised, added);
    u->ledger->syncs++;
    return true;
}

static void seal(struct user *u)
{
    if (promising(u, seal_filter))
        u->ledger->sealed = 1;
}

static int make_copy(const char *path, const bloomfile_filter *f, const char *how)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.max_fpr = 1;
    if (strcmp(how, "copy_sealed") == 0)
        return bloomfile_copy_sealed(TO_PATH(path, 0), f, NULL);
    if (strcmp(how, "fold") == 0)
        return bloomfile_fold(TO_PATH(path, 0), f, 2, NULL);
    if (strcmp(how, "merge") == 0)
        return bloomfile_merge(TO_PATH(path, 0), &f, 1, &params);
    if (strcmp(how, "project") == 0)
        return bloomfile_project(TO_PATH(path, 0), f, NULL);
    if (strcmp(how, "rescue") == 0)
        return bloomfile_rescue(path, f, 0);
    errx(4, "copy=%s", how);
}

struct new_file {
    char path[4096];
    struct copy *copy;
};

static struct new_file new_file(struct user *u)
{
    struct new_file new;
    unsigned number = u->ledger->copies++;
    if (number >= COPIES)
        errx(4, "too many copies");
    snprintf(new.path, sizeof new.path, "%s/copy.%u", u->copies, number);
    new.copy = &u->ledger->copy[number];
    return new;
}

static void copy(struct user *u, const char *how)
{
    unsigned added[WRITERS];
    struct new_file new = new_file(u);
    ledger_added(u->ledger, added);
    if (!ledger_count(u->ledger, make_copy(new.path, u->filter, how)))
        return;
    ledger_promise(new.copy->promised, added);
    new.copy->done = strcmp(how, "rescue") == 0 ? 2 : 1;
}

static int make_build(const char *path, const struct keys *keys, unsigned writer, unsigned count)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *b;
    params.bits = 1 << 20;
    int error = bloomfile_builder_new(&b, &params);
    for (unsigned i = 0; i < count && error == 0; i++)
        error = bloomfile_builder_add_digests(b, &keys_get(keys, writer, i)->digest, 1);
    if (error == 0)
        error = bloomfile_builder_write(b, TO_PATH(path, 0));
    bloomfile_builder_free(b);
    return error;
}

static void build(struct user *u)
{
    unsigned added[WRITERS] = { 0 };
    struct new_file new = new_file(u);
    added[u->writer] = u->ledger->added[u->writer];
    if (!ledger_count(u->ledger, make_build(new.path, u->keys, u->writer, added[u->writer])))
        return;
    ledger_promise(new.copy->promised, added);
    new.copy->done = 1;
}

static void drop(struct user *u)
{
    size_t size;
    if (u->filter != NULL) {
        const void *body = bloomfile_body(u->filter, &size);
        disk_drop_mapped(body, size);
    }
    disk_drop(u->path);
}

/* ---- threads and children */

static void *run_thread(void *run)
{
    run_script(run);
    free(run);
    return NULL;
}

static void start_thread(struct run *r, int script)
{
    struct run *other = calloc(1, sizeof *other);
    if (other == NULL || r->threads_count == CREW)
        errx(4, "thread=%d", script);
    *other = (struct run){ .user = r->user, .script = script };
    errno = pthread_create(&r->threads[r->threads_count++], NULL, run_thread, other);
    if (errno != 0)
        err(4, "thread=%d", script);
}

static void start_child(struct run *r, int script)
{
    if (r->children_count == CREW)
        errx(4, "fork=%d", script);
    pid_t pid = fork();
    if (pid < 0)
        err(4, "fork");
    if (pid > 0) {
        r->children[r->children_count++] = pid;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct user user = *r->user;
    user.writer++;
    struct run child = { .user = &user, .script = script };
    _exit(run_script(&child));
}

static void join(struct run *r)
{
    while (r->threads_count > 0)
        pthread_join(r->threads[--r->threads_count], NULL);
    while (r->children_count > 0)
        waitpid(r->children[--r->children_count], NULL, 0);
}

/* ---- scripts */

/* Returns whether the script continues. */
static bool run_word(struct run *r, const char *word, const char *argument)
{
    struct user *u = r->user;
    const int number = atoi(argument);
    if (strcmp(word, "create") == 0)
        return create(u, (unsigned)number);
    if (strcmp(word, "open") == 0)
        return open_filter(u, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_OVER_CAPACITY);
    if (strcmp(word, "read") == 0)
        return open_filter(u, 0);
    if (strcmp(word, "add") == 0)
        add(u, (unsigned)number);
    else if (strcmp(word, "sync") == 0)
        promising(u, sync_filter);
    else if (strcmp(word, "seal") == 0)
        seal(u);
    else if (strcmp(word, "finish") == 0)
        promising(u, bloomfile_finish);
    else if (strcmp(word, "close") == 0)
        bloomfile_close(u->filter);
    else if (strcmp(word, "copy") == 0)
        copy(u, argument);
    else if (strcmp(word, "build") == 0)
        build(u);
    else if (strcmp(word, "thread") == 0)
        start_thread(r, number);
    else if (strcmp(word, "fork") == 0)
        start_child(r, number);
    else if (strcmp(word, "join") == 0)
        join(r);
    else if (strcmp(word, "fail") == 0)
        disk_fail(u->ballast);
    else if (strcmp(word, "write-back") == 0)
        disk_write_back(u->path);
    else if (strcmp(word, "fsync") == 0)
        u->ledger->taken += disk_fsync(u->path);
    else if (strcmp(word, "drop") == 0)
        drop(u);
    else if (strcmp(word, "pause") == 0)
        usleep((useconds_t)number);
    else if (strcmp(word, "kill") == 0)
        raise(SIGKILL);
    else
        errx(4, "no such word: %s", word);
    return true;
}

static int run_script(struct run *r)
{
    if (r->script < 0 || r->script >= r->user->scripts_count)
        errx(4, "no script %d", r->script);
    char *rest = strdup(r->user->scripts[r->script]), *script = rest, *word;
    bool goes_on = script != NULL;
    while (goes_on && (word = strsep(&rest, " ")) != NULL) {
        char *argument = strchr(word, '=');
        if (argument != NULL)
            *argument++ = '\0';
        goes_on = run_word(r, word, argument != NULL ? argument : "");
    }
    free(script);
    join(r);
    return goes_on ? 0 : 1;
}

static int print_keys(struct keys *keys, unsigned writer, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        printf("key %u\n", keys_get(keys, writer, i)->number);
    free(keys);
    return fflush(stdout) == 0 ? 0 : 4;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct keys *keys = keys_new();
    if (argc == 5 && strcmp(argv[1], "keys") == 0)
        return print_keys(keys, (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
                          (unsigned)atoi(argv[4]));
    if (argc < 7)
        errx(4, "too few arguments");
    struct user user = {
        .path = argv[1],
        .copies = argv[2],
        .ballast = argv[3],
        .ledger = ledger_open(argv[4]),
        .keys = keys,
        .writer = (unsigned)atoi(argv[5]),
        .scripts = argv + 6,
        .scripts_count = argc - 6,
    };
    struct run run = { .user = &user };
    _exit(run_script(&run)); /* exits without closing the filter */
}
