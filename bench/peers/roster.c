/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/bench.h"
#include "peers/peers.h"
#include "peers/process.h"

#define SMALL 1000 /* keys */

static const struct program programs[] = {
    { .file = "bench-limits", .is_limits = true },
    { .file = "bench-contender-bloomfile", .has_kernels = true },
    { .file = "bench-peer-libbloom", .needs = "libbloom-dev", .is_slow = true },
    { .file = "bench-peer-leveldb", .needs = "libleveldb-dev", .is_slow = true },
    { .file = "bench-peer-rocksdb", .needs = "librocksdb-dev" },
    { .file = "bench-peer-rocksdb-avx2", .needs = "-Drocksdb_avx2", .is_twin = true },
};

/* The widest first: it makes the files that all use. */
static const char *const kernels[] = {
#if defined __x86_64__ || defined __i386__
    "avx512",
    "avx2",
#elif defined __aarch64__
    "neon",
#endif
    "scalar",
};

static void find_folder(struct roster *r)
{
    const ssize_t length = readlink("/proc/self/exe", r->folder, sizeof r->folder - 1);
    if (length < 0)
        bench_fail(errno, "find the folder of this program; is /proc there?");
    r->folder[length] = '\0';
    *strrchr(r->folder, '/') = '\0';
}

/* Whether it can make a filter and knows the keys it was given. */
static bool works(struct process *p, unsigned index)
{
    struct reply reply;
    return process_ask(p, &reply, "create %u %u 10 %u", index, SMALL, KEYS_HASHED) == ANSWER_OK &&
           process_ask(p, &reply, "add %u one %u", index, SMALL) == ANSWER_OK &&
           process_ask(p, &reply, "finish %u", index) == ANSWER_OK &&
           process_ask(p, &reply, "lookup %u one present", index) == ANSWER_OK &&
           reply.number == SMALL && process_ask(p, &reply, "drop %u", index) == ANSWER_OK;
}

static void add_players(struct roster *r, const struct program *program, const char *path,
                        const char *kernel)
{
    struct process *p = process_start(path, kernel, r->core);
    struct reply reply;
    process_ask(p, &reply, "queries %u %u %u", KEYS_HASHED, SMALL, SMALL);
    for (unsigned i = 0; process_ask(p, &reply, "name %u", i) == ANSWER_OK; i++) {
        if (r->count == PEERS_MOST)
            bench_fail(0, "keep so many contenders");
        struct player *player = &r->players[r->count];
        *player = (struct player){ .program = program, .kernel = kernel, .index = i };
        sscanf(reply.text, "%39[^\t]\t%23[^\t]", player->name, player->version);
        if (program->is_limits || works(p, i))
            r->count++;
        else if (kernel == NULL)
            fprintf(stderr, "%s is left out: it cannot make a filter of %u keys\n", player->name,
                    SMALL);
    }
    process_end(p);
}

static void add_program(struct roster *r, const struct program *program)
{
    char path[sizeof r->folder + 64];
    snprintf(path, sizeof path, "%s/%s", r->folder, program->file);
    if (access(path, X_OK) != 0) {
        if (program->needs == NULL)
            bench_fail(errno, "find the programs that belong to this one, in its folder");
        const size_t length = strlen(r->absent);
        snprintf(r->absent + length, sizeof r->absent - length, "%s%s", length > 0 ? ", " : "",
                 program->needs);
    } else if (program->has_kernels) {
        for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
            add_players(r, program, path, kernels[i]);
    } else {
        add_players(r, program, path, NULL);
    }
}

bool player_is_live(const struct player *p)
{
    return strcmp(p->name, "bloomfile blocked, live") == 0;
}

/* Only the first, with the widest kernel: filling one takes longest of all, and kernels are
 * compared on sealed filters. */
static void keep_one_live(struct roster *r)
{
    unsigned kept = 0;
    bool has_live = false;
    for (unsigned i = 0; i < r->count; i++) {
        const bool is_live = player_is_live(&r->players[i]);
        if (!is_live || !has_live)
            r->players[kept++] = r->players[i];
        has_live |= is_live;
    }
    r->count = kept;
}

void roster_make(struct roster *r, int core)
{
    *r = (struct roster){ .core = core };
    find_folder(r);
    for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++)
        add_program(r, &programs[i]);
    keep_one_live(r);
}
