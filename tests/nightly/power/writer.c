/* SPDX-License-Identifier: MIT
 * power-writer PATH create|replace|open|accept LABEL LAYOUT BITS FIRST STEP SYNCS SESSIONS
 * close|seal
 *
 * LAYOUT 0 is a series that grows repeatedly for any BITS; it is not sealed.
 *
 * Uses a live filter until the power fails. One thread adds keys FIRST, FIRST + 1, ... while
 * another one syncs, SYNCS times in each of SESSIONS sessions, about every STEP keys. Each line on
 * standard output is an event and its number of keys; "synced 500" promises that keys 0 to 499
 * outlive the machine. Ends when killed, or with status 3 after an error. */
#include <bloomfile.h>
#include <bloomfile_live.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define GROWS 0 /* as a LAYOUT */

struct writer {
    const char *path, *start, *label;
    uint32_t layout;
    uint64_t bits, step;
    unsigned syncs, sessions;
    bool seals;
    bool unclean; /* it was accepted as unclean, and not synced since */
    bloomfile_filter *filter;
    _Atomic uint64_t added;  /* keys below this one have been added */
    _Atomic uint64_t synced; /* and are on disk */
    atomic_bool stop;
};

static _Noreturn void fail(const char *operation, int error)
{
    dprintf(STDOUT_FILENO, "failed %s: %s\n", operation, bloomfile_errname(error));
    _exit(3);
}

static void say(const char *event, uint64_t keys)
{
    if (dprintf(STDOUT_FILENO, "%s %" PRIu64 "\n", event, keys) < 0)
        _exit(4);
}

/* Leaves processor time to other machines. */
static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/* Stays at most two steps ahead of the last sync. */
static void *add(void *argument)
{
    struct writer *w = argument;
    while (!w->stop) {
        uint64_t key = w->added;
        if (key >= w->synced + 2 * w->step) {
            rest();
            continue;
        }
        int error = bloomfile_add(w->filter, &key, sizeof key, NULL);
        if (error != 0)
            fail("add", error);
        w->added = key + 1;
    }
    return NULL;
}

static void await_step(const struct writer *w)
{
    while (w->added < w->synced + w->step)
        rest();
}

static void sync_once(struct writer *w)
{
    await_step(w);
    uint64_t keys = w->added;
    say("syncing", keys);
    uint8_t watermark[BLOOMFILE_WATERMARK_SIZE] = { 0 };
    memcpy(watermark, &keys, sizeof keys);
    int error = bloomfile_sync(w->filter, watermark);
    if (error != 0)
        fail("sync", error);
    say("synced", keys);
    w->unclean = false;
    w->synced = keys;
}

static void session(struct writer *w)
{
    pthread_t adder;
    w->stop = false;
    int error = pthread_create(&adder, NULL, add, w);
    if (error != 0)
        fail("pthread_create", error);
    for (unsigned i = 0; i < w->syncs; i++)
        sync_once(w);
    await_step(w);
    w->stop = true;
    pthread_join(adder, NULL);
}

static int create(struct writer *w, unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.label = w->label;
    if (w->layout == GROWS) {
        params.series = BLOOMFILE_SERIES_GROW;
        params.capacity = w->bits / 2000;
    } else {
        params.layout = w->layout;
        params.bits = w->bits;
        params.hashes = 4;
    }
    return bloomfile_create(&w->filter, w->path, &params, flags | BLOOMFILE_OPEN_OVER_CAPACITY);
}

static void start(struct writer *w)
{
    bool replaces = strcmp(w->start, "replace") == 0;
    bool creates = replaces || strcmp(w->start, "create") == 0;
    unsigned accepts = strcmp(w->start, "accept") == 0 ? BLOOMFILE_OPEN_ACCEPT_UNCLEAN : 0;
    say(creates ? "creating" : "opening", w->added);
    int error = creates
                    ? create(w, replaces ? BLOOMFILE_TO_REPLACE : 0)
                    : bloomfile_open(&w->filter, w->path,
                                     BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_OVER_CAPACITY | accepts);
    if (error != 0)
        fail("start", error);
    say(creates ? "created" : "opened", w->added);
    w->unclean = accepts != 0;
}

static void leave(struct writer *w)
{
    say("closing", w->added);
    bloomfile_close(w->filter);
    say("closed", w->added);
    w->synced = w->added;
}

static void seal(struct writer *w)
{
    say("sealing", w->added);
    int error = bloomfile_seal(w->filter, NULL);
    if (error != 0)
        fail("seal", error);
    say("sealed", w->added);
}

int main(int argc, char **argv)
{
    if (argc != 11)
        return 2;
    struct writer w = { .path = argv[1], .start = argv[2], .label = argv[3] };
    w.layout = (uint32_t)strtoul(argv[4], NULL, 10);
    w.bits = strtoull(argv[5], NULL, 10);
    w.added = w.synced = strtoull(argv[6], NULL, 10);
    w.step = strtoull(argv[7], NULL, 10);
    w.syncs = (unsigned)strtoul(argv[8], NULL, 10);
    w.sessions = (unsigned)strtoul(argv[9], NULL, 10);
    w.seals = strcmp(argv[10], "seal") == 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start(&w);
    session(&w);
    for (unsigned i = 1; i < w.sessions; i++) {
        leave(&w);
        w.start = w.unclean ? "accept" : "open";
        start(&w);
        session(&w);
    }
    if (w.seals)
        seal(&w);
    else
        leave(&w);
    for (;;)
        pause();
}
