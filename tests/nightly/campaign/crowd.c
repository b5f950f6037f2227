/* SPDX-License-Identifier: MIT
 * crowd NAME=NUMBER...: runs a plan (crowd.h) in the current directory, which must be empty, and
 * prints the numbers of their actions. On a finding, the status is 1 and the message goes to
 * stderr. */
#include "crowd.h"
#include "../../unit/places.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include "jitter.h"

enum {
    HANGS = 600 /* seconds without an end; the machine may be busy */
};

static const char *const names[TALLIES] = {
    "adds",     "removes", "lookups", "syncs",       "grows",   "seals",
    "copies",   "folds",   "merges",  "projections", "deltas",  "rescues",
    "replaces", "reloads", "kills",   "unclean",     "checked",
};

/* clang-format off */
#define FIELDS(X) \
    X(milliseconds) X(layout) X(series) X(writers) X(threads) X(queriers) X(copiers) X(capacity) \
    X(total) X(exact) X(batch) X(syncs) X(kills) X(stops) X(seals) X(last_kill) X(jitter) \
    X(report) X(leak)
/* clang-format on */

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define FIELD(name) { #name, offsetof(struct plan, name) },
    FIELDS(FIELD)
};

static _Noreturn void usage(const char *argument)
{
    (void)fprintf(stderr, "crowd: '%s' is none of seed", argument);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        (void)fprintf(stderr, ", %s", fields[i].name);
    (void)fprintf(stderr, "\n");
    exit(2);
}

static void parse(struct plan *plan, const char *argument)
{
    char *end = NULL;
    const char *equals = strchr(argument, '=');
    if (equals == NULL)
        usage(argument);
    const unsigned long long value = strtoull(equals + 1, &end, 10);
    const size_t length = (size_t)(equals - argument);
    if (*end != '\0' || end == equals + 1)
        usage(argument);
    if (length == 4 && memcmp(argument, "seed", 4) == 0) {
        plan->seed = value;
        return;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strlen(fields[i].name) == length && memcmp(argument, fields[i].name, length) == 0) {
            const unsigned number = (unsigned)value;
            memcpy((char *)plan + fields[i].at, &number, sizeof number);
            return;
        }
    usage(argument);
}

static unsigned processes(void)
{
    const struct plan *p = &crowd->plan;
    return p->writers + p->queriers + p->copiers + !forgets();
}

/* ------------------------------------------------------------------ the processes */

/* A child dies with its parent. */
static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

static _Noreturn void live(unsigned i)
{
    const struct plan *p = &crowd->plan;
    alarm(HANGS + p->milliseconds / 1000);
    here = &crowd->places[i];
    tally = here->tallies[0];
    chance_begin(p->seed ^ (uint64_t)(i + 1) << 32 ^ (uint64_t)here->life << 48);
    jitter_begin(chance(), p->jitter, &crowd->over);
    if (i < p->writers)
        write_for_ever(i);
    else if (i < p->writers + p->queriers)
        query_for_ever();
    else if (i < p->writers + p->queriers + p->copiers)
        copy_for_ever(i);
    else
        make_for_ever();
    _exit(0);
}

static void start(unsigned i)
{
    struct place *place = &crowd->places[i];
    place->syncing = 0;
    place->opening = 0;
    place->descriptors = place->mappings = -1;
    place->life++;
    const pid_t me = getpid(), child = fork();
    if (child < 0)
        found("fork: %s", strerror(errno));
    if (child == 0) {
        die_with(me);
        live(i);
    }
    place->pid = child;
}

/* Notes effects of a kill that the remaining processes may see. */
static void account_for(const struct place *place)
{
    unsigned first = place->epoch, last = first;
    if (place->opening) { /* from the filter that it meant to open to the next */
        first -= first > 0;
        last = crowd->epoch + 1;
    }
    for (unsigned e = first; e <= last; e++) {
        atomic_fetch_add(&era(e)->killed, 1);
        if (place->syncing > 0)
            atomic_fetch_add(&era(e)->unclean, 1);
    }
}

static void bury(unsigned i)
{
    struct place *place = &crowd->places[i];
    int status;
    if (waitpid(place->pid, &status, 0) != place->pid)
        found("waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        _exit(3);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        found("process %u ended with status %x (alarm: it hangs)", i, (unsigned)status);
    account_for(place);
    tally[KILLS]++;
}

static void slay(unsigned i)
{
    kill(crowd->places[i].pid, SIGKILL);
    bury(i);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t later(unsigned about)
{
    return about == 0 ? UINT64_MAX : now() + below(2 * (uint64_t)about) + 1;
}

static void watch(void)
{
    for (unsigned i = 0; i < processes(); i++) {
        int status;
        if (waitpid(crowd->places[i].pid, &status, WNOHANG) == 0)
            continue;
        if (!crowd->found)
            found("process %u ended with status %x, unasked", i, (unsigned)status);
        _exit(3);
    }
}

/* Stops a random process for a while, at any point. */
static void hold_back(uint64_t *until, unsigned *who)
{
    if (*until != UINT64_MAX) {
        kill(crowd->places[*who].pid, SIGCONT);
        *until = UINT64_MAX;
    } else {
        *who = (unsigned)below(processes());
        kill(crowd->places[*who].pid, SIGSTOP);
        *until = now() + below(60);
    }
}

/* ---- reports, for a soak */

static const char *role_of(unsigned i)
{
    const struct plan *p = &crowd->plan;
    return i < p->writers                              ? "writer"
           : i < p->writers + p->queriers              ? "querier"
           : i < p->writers + p->queriers + p->copiers ? "copier"
                                                       : "maker";
}

/* The median and the 99th percentile of all times since the last call, in nanoseconds. */
static void percentiles(bool add, uint64_t *median, uint64_t *most)
{
    static uint64_t before[2][TIMES];
    uint64_t counts[TIMES] = { 0 }, all = 0, sum = 0;
    for (unsigned at = 0; at < TIMES; at++) {
        for (unsigned i = 0; i < PROCESSES; i++)
            for (unsigned t = 0; t < THREADS; t++)
                counts[at] += crowd->places[i].times[t][add][at];
        all += counts[at] - before[add][at];
    }
    *median = *most = 0;
    for (unsigned at = 0; at < TIMES; at++) {
        const uint64_t nanoseconds = (8 + at % 8) * ((uint64_t)1 << at / 8) / 8;
        const bool below_median = sum * 2 < all, below_most = sum * 100 < all * 99;
        sum += counts[at] - before[add][at];
        if (below_median && sum * 2 >= all)
            *median = nanoseconds;
        if (below_most && sum * 100 >= all * 99)
            *most = nanoseconds;
        before[add][at] = counts[at];
    }
}

static void report(void)
{
    uint64_t median, most;
    printf("report");
    for (unsigned i = 0; i < processes(); i++)
        printf(" %s:%d:%d:%d", role_of(i), crowd->places[i].pid, crowd->places[i].descriptors,
               crowd->places[i].mappings);
    for (unsigned add = 0; add < 2; add++) {
        percentiles(add, &median, &most);
        printf(" %llu %llu", (unsigned long long)median, (unsigned long long)most);
    }
    printf("\n");
    (void)fflush(stdout);
}

static void rule(void)
{
    const struct plan *p = &crowd->plan;
    const uint64_t end = now() + p->milliseconds;
    uint64_t next_kill = later(p->kills), next_stop = later(p->stops), until = UINT64_MAX;
    uint64_t next_report = p->report != 0 ? now() + p->report : UINT64_MAX;
    unsigned held = 0;
    while (now() < end) {
        usleep(1000);
        watch();
        if (now() >= next_report) {
            report();
            next_report += p->report;
        }
        if (until != UINT64_MAX ? now() >= until : now() >= next_stop) {
            hold_back(&until, &held);
            next_stop = later(p->stops);
        }
        if (now() < next_kill)
            continue;
        const unsigned victim = (unsigned)below(processes());
        if (until != UINT64_MAX && victim == held)
            hold_back(&until, &held);
        slay(victim);
        start(victim);
        next_kill = later(p->kills);
    }
    if (until != UINT64_MAX)
        hold_back(&until, &held);
}

static void end_all(void)
{
    if (crowd->plan.last_kill) {
        for (unsigned i = 0; i < processes(); i++)
            kill(crowd->places[i].pid, SIGKILL);
        for (unsigned i = 0; i < processes(); i++)
            bury(i);
        return;
    }
    crowd->over = true;
    for (unsigned i = 0; i < processes(); i++) {
        int status = 0;
        for (unsigned waits = 0; waitpid(crowd->places[i].pid, &status, WNOHANG) == 0; waits++) {
            if (waits == 1000 * HANGS)
                found("process %u does not end", i);
            usleep(1000);
        }
        if (status != 0)
            found("process %u ended with status %x, at the end", i, (unsigned)status);
    }
}

/* ------------------------------------------------------------------ afterwards */

static void expect(const char *what, int error)
{
    if (error != 0)
        found("%s: %s", what, bloomfile_errname(error));
}

static void no_temporary_files(void)
{
    DIR *directory = opendir(".");
    if (directory == NULL)
        found("opendir: %s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] == '.' && strlen(entry->d_name) > 2)
            found("%s was left behind", entry->d_name);
    closedir(directory);
}

/* The next writer continues. */
static void go_on(bloomfile_filter *f, unsigned epoch)
{
    const struct told told = told_now(epoch);
    bool was_new;
    expect("adding afterwards", bloomfile_add(f, "next", 4, &was_new));
    expect("syncing afterwards", bloomfile_sync(f, NULL));
    if (!bloomfile_contains(f, "next", 4))
        found("LOST: a key that was added afterwards");
    era(epoch)->progress[0].fresh += was_new;
    if (crowd->plan.series == 0) {
        expect("sealing afterwards", bloomfile_seal(f, NULL));
        check_counts("the filter afterwards", f, epoch);
    }
    check_all("the filter afterwards", f, f, epoch, &told);
}

static void check_end(void)
{
    bloomfile_filter *f;
    unsigned epoch;
    crowd->over = false; /* from now on, every error is a finding */
    f = open_present(0, &epoch);
    if (f == NULL)
        found("the filter cannot be opened at the end");
    atomic_store(&crowd->epoch, epoch);
    const struct told told = told_now(epoch);
    check_all("the filter at the end", f, f, epoch, &told);
    for (unsigned i = 0; i < 1000; i++)
        look(f, epoch);
    expect("the status at the end", bloomfile_check(f));
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    expect("bloomfile_get_info", bloomfile_get_info(f, &info));
    tally[GROWS] += info.layer;
    if (!crowd->plan.last_kill)
        check_counts("the filter at the end", f, epoch);
    bloomfile_close(f);
    f = open_present(BLOOMFILE_OPEN_WRITE, &epoch);
    if (f != NULL) {
        go_on(f, epoch);
        bloomfile_close(f);
    }
    f = open_present(0, &epoch);
    if (f == NULL)
        found("the filter cannot be opened after the end");
    expect("a copy at the end", bloomfile_copy_sealed(TO_PATH("last", 0), f, NULL));
    bloomfile_close(f);
    expect("opening the last copy", bloomfile_open(&f, "last", BLOOMFILE_OPEN_VERIFY_FULL));
    if (!forgets())
        check_all("the last copy", f, f, epoch, &told);
    bloomfile_close(f);
    no_temporary_files();
}

static void print(void)
{
    for (enum tally which = 0; which < TALLIES; which++) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < PROCESSES; i++)
            for (unsigned t = 0; t < THREADS; t++)
                sum += crowd->places[i].tallies[t][which];
        printf("%s %llu\n", names[which], (unsigned long long)sum);
    }
}

/* Runs in a process of its own, which found() ends. */
static _Noreturn void oversee(void)
{
    bloomfile_filter *f;
    here = &crowd->places[PROCESSES - 1];
    tally = here->tallies[0];
    chance_begin(crowd->plan.seed);
    const struct bloomfile_params params = params_of(0);
    expect("bloomfile_create", bloomfile_create(&f, path_of(0), &params, 0));
    bloomfile_close(f);
    for (unsigned i = 0; i < processes(); i++)
        start(i);
    rule();
    end_all();
    check_end();
    _exit(0);
}

int main(int count, char **arguments)
{
    crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crowd == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    crowd->plan = (struct plan){
        .seed = 1,
        .milliseconds = 2000,
        .layout = BLOOMFILE_LAYOUT_BLOCKED,
        .writers = 2,
        .threads = 2,
        .queriers = 1,
        .copiers = 1,
        .total = 200000,
        .batch = 200,
        .syncs = 100,
        .kills = 30,
        .stops = 50,
        .seals = 1,
        .jitter = 100000,
    };
    for (int i = 1; i < count; i++)
        parse(&crowd->plan, arguments[i]);
    if (crowd->plan.capacity == 0)
        crowd->plan.capacity = crowd->plan.total + COMMON_KEYS + workers() * crowd->plan.batch;
    if (processes() >= PROCESSES || workers() > WORKERS || workers() == 0 ||
        crowd->plan.threads > THREADS || crowd->plan.batch > BATCH_MOST || crowd->plan.batch == 0) {
        (void)fprintf(stderr, "crowd: too many, or none\n");
        return 2;
    }
    const pid_t me = getpid(), overseer = fork();
    if (overseer == 0) {
        die_with(me);
        oversee();
    }
    int status;
    if (overseer < 0 || waitpid(overseer, &status, 0) != overseer) {
        perror("crowd");
        return 2;
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        if (status != 0 && crowd->places[i].pid > 0)
            kill(crowd->places[i].pid, SIGKILL);
    print();
    if (status == 0 && !crowd->found)
        return 0;
    (void)fprintf(stderr, "%s\n",
                  crowd->message[0] != '\0' ? crowd->message : "the overseer was killed");
    return 1;
}
