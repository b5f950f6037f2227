/* SPDX-License-Identifier: MIT
 *
 * A trial: all contenders get the same keys in the same order, and are asked for the same ones.
 * They take turns, so that a busy machine slows all alike.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/bench.h"
#include "peers/peers.h"
#include "peers/process.h"

#define FILL_TURNS 8
#define ENOUGH     ((uint64_t)2 << 20) /* keys a turn to time adding */

static const struct {
    const char *words;
    bool adds, present;
} requests[OPS] = {
    [OP_ADD_ONE] = { "one", true, false },
    [OP_ADD_BATCH] = { "batch", true, false },
    [OP_ONE_ABSENT] = { "one absent", false, false },
    [OP_ONE_PRESENT] = { "one present", false, true },
    [OP_BATCH_ABSENT] = { "batch absent", false, false },
    [OP_BATCH_PRESENT] = { "batch present", false, true },
};

/* Those that build at the end keep their keys until then: one after the other, so that memory
 * does. */
static bool builds_at_end(const struct entrant *e)
{
    return !entrant_is_limit(e) && !player_is_live(e->player);
}

/* ---- who takes part */

static bool is_wanted(const struct player *p, const struct trial_plan *plan)
{
    const bool is_blocked = strstr(p->name, "blocked") != NULL;
    return !(plan->hasty && p->program->is_slow) &&
           !(plan->blocked_only && p->program->has_kernels && !is_blocked);
}

static bool is_first_of_its_file(const struct trial *t, const struct entrant *e)
{
    for (const struct entrant *other = t->entrants; other < e; other++)
        if (!other->is_out && other->player->program == e->player->program &&
            strcmp(other->player->name, e->player->name) == 0)
            return false;
    return true;
}

/* The process of an earlier entrant that is the same program with the same kernel. */
static struct process *process_of(const struct trial *t, const struct player *p, enum key_form form,
                                  const struct roster *r)
{
    for (unsigned i = 0; i < t->count; i++) {
        const struct player *other = t->entrants[i].player;
        if (other->program == p->program && other->kernel == p->kernel &&
            t->entrants[i].form == form)
            return t->entrants[i].process;
    }
    char path[sizeof r->folder + 64];
    struct reply reply;
    snprintf(path, sizeof path, "%s/%s", r->folder, p->program->file);
    struct process *new = process_start(path, p->kernel, r->core);
    process_ask(new, &reply, "queries %u %" PRIu64 " %" PRIu64, form, t->plan.keys,
                t->plan.queries);
    return new;
}

static void enter(struct trial *t, const struct player *p, enum key_form form,
                  const struct roster *r)
{
    struct entrant *e = &t->entrants[t->count];
    struct reply reply;
    *e = (struct entrant){ .player = p, .form = form, .process = process_of(t, p, form, r) };
    if (process_ask(e->process, &reply, "create %u %" PRIu64 " %g %u", p->index, t->plan.keys,
                    t->plan.bits, form) != ANSWER_OK)
        e->is_out = true;
    e->is_filled = entrant_is_limit(e) || is_first_of_its_file(t, e);
    t->count++;
}

static void enter_all(struct trial *t, const struct roster *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        const struct player *p = &r->players[i];
        if (!is_wanted(p, &t->plan))
            continue;
        enter(t, p, t->plan.form, r);
        /* Limits of strings are those of digests, after hashing them. */
        if (p->program->is_limits && t->plan.form != KEYS_HASHED)
            enter(t, p, KEYS_HASHED, r);
    }
}

static void leave_all(struct trial *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        struct process *p = t->entrants[i].process;
        if (p == NULL)
            continue;
        process_end(p);
        for (unsigned j = i; j < t->count; j++)
            if (t->entrants[j].process == p)
                t->entrants[j].process = NULL;
    }
}

/* ---- one request */

static void note(struct series *s, double seconds, uint64_t keys)
{
    if (s->count < TURNS_MOST)
        s->ns[s->count++] = seconds * 1e9 / (double)keys;
}

static enum answer ask(struct entrant *e, enum op op, uint64_t keys, struct reply *reply)
{
    if (e->lacks[op])
        return ANSWER_NONE;
    const enum answer answer =
        requests[op].adds
            ? process_ask(e->process, reply, "add %u %s %" PRIu64, e->player->index,
                          requests[op].words, keys)
            : process_ask(e->process, reply, "lookup %u %s", e->player->index, requests[op].words);
    e->lacks[op] = answer == ANSWER_NONE;
    e->is_out = answer == ANSWER_NO;
    return answer;
}

/* Untimed: what others have put into the cache meanwhile is nobody's fault. */
static void warm_up(struct entrant *e)
{
    struct reply reply;
    if (ask(e, OP_BATCH_ABSENT, 0, &reply) == ANSWER_NONE)
        ask(e, OP_ONE_ABSENT, 0, &reply);
}

/* ---- adding */

static uint64_t share_of_turn(const struct entrant *e, const struct trial_plan *plan, unsigned turn)
{
    const uint64_t share = plan->keys * (turn + 1) / FILL_TURNS - plan->keys * turn / FILL_TURNS;
    return share > ENOUGH && !entrant_gets_all(e, plan) ? ENOUGH : share;
}

static enum answer add(struct entrant *e, enum op op, uint64_t keys)
{
    struct reply reply;
    const enum answer answer = ask(e, op, keys, &reply);
    if (answer == ANSWER_OK) {
        note(&e->series[op], reply.seconds, keys);
        e->build_seconds += reply.seconds;
    }
    return answer;
}

/* Every other turn adds in a batch; if there is no such call, one by one, for keys must be added.
 */
static void add_turn(struct entrant *e, const struct trial_plan *plan, unsigned turn)
{
    const enum op op = turn % 2 == 0 ? OP_ADD_ONE : OP_ADD_BATCH;
    const uint64_t keys = share_of_turn(e, plan, turn);
    if (e->is_out || !e->is_filled || keys == 0 || (entrant_is_limit(e) && e->lacks[op]))
        return;
    if (!builds_at_end(e))
        warm_up(e);
    if (!e->is_out && add(e, op, keys) == ANSWER_NONE && !entrant_is_limit(e))
        add(e, op == OP_ADD_ONE ? OP_ADD_BATCH : OP_ADD_ONE, keys);
}

static void finish(struct entrant *e)
{
    struct reply reply;
    if (e->is_out)
        return;
    e->is_out = process_ask(e->process, &reply, "finish %u", e->player->index) != ANSWER_OK;
    e->bytes = reply.number;
    if (e->is_filled)
        e->build_seconds += reply.seconds;
}

static void fill_all(struct trial *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (!builds_at_end(&t->entrants[i]))
            continue;
        for (unsigned turn = 0; turn < FILL_TURNS; turn++)
            add_turn(&t->entrants[i], &t->plan, turn);
        finish(&t->entrants[i]);
    }
    for (unsigned turn = 0; turn < FILL_TURNS; turn++)
        for (unsigned i = 0; i < t->count; i++)
            if (!builds_at_end(&t->entrants[i]))
                add_turn(&t->entrants[i], &t->plan, turn);
    for (unsigned i = 0; i < t->count; i++)
        if (!builds_at_end(&t->entrants[i]))
            finish(&t->entrants[i]);
}

/* ---- looking up */

static void look_up(struct entrant *e, const struct trial_plan *plan, enum op op)
{
    struct reply reply;
    if (e->is_out || ask(e, op, 0, &reply) != ANSWER_OK)
        return;
    note(&e->series[op], reply.seconds, plan->queries);
    if (!requests[op].present)
        e->false_hits = reply.number;
    else if (plan->queries - reply.number > e->lost && !entrant_is_limit(e))
        e->lost = plan->queries - reply.number;
}

static void look_up_turn(struct entrant *e, const struct trial_plan *plan)
{
    if (e->is_out || !(entrant_is_limit(e) || entrant_gets_all(e, plan)))
        return;
    warm_up(e);
    for (unsigned op = OP_ONE_ABSENT; op < OPS; op++)
        look_up(e, plan, (enum op)op);
}

void trial_run(struct trial *t, const struct trial_plan *plan, const struct roster *r)
{
    *t = (struct trial){ .plan = *plan };
    enter_all(t, r);
    fill_all(t);
    for (unsigned turn = 0; turn < plan->turns; turn++)
        for (unsigned i = 0; i < t->count; i++)
            look_up_turn(&t->entrants[i], plan);
    leave_all(t);
}
