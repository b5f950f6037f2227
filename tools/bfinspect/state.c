/* SPDX-License-Identifier: MIT
 * The verdict on a file: the choice of the part that applies, and the text for live and
 * sound filters. */
#include "bfinspect/verdict.h"
#include "cli/cli.h"
#include "filters/series.h"

#include <bloomfile_combine.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char mend[] =
    "add the keys since the last sync again (bfadd --accept-unclean), or rebuild it";

static const char *why_unclean(const struct inspect_report *r)
{
    uint8_t no_boot[sizeof(r->info.boot_id)]; /* marks files made by bloomfile_rescue() */
    memset(no_boot, 0xFF, sizeof(no_boot));
    if (r->explanation[0] != '\0')
        return r->explanation;
    return memcmp(r->info.boot_id, no_boot, sizeof(no_boot)) == 0
               ? "rescued from a file that could not be written to disk"
               : bloomfile_strerror(BLOOMFILE_EUNCLEAN);
}

/* A later file of a series that was named on the command line. */
static void judge_part(struct inspect_report *r)
{
    char *series = series_name(r->path, series_slot(&r->info));
    verdict_add(r, "layer %" PRIu64 " of a %s series of files, not a filter by itself",
                r->info.layer, r->info.generations > 0 ? "forgetting" : "growing");
    if (series != NULL)
        verdict_advise(r, "inspect the first file of the series: bfinspect %s", series);
    else
        verdict_advise(r, "restore its name: that of the first file, and .%" PRIu64,
                       series_slot(&r->info));
    free(series);
}

static void judge_state(struct inspect_report *r)
{
    if (inspect_is_part(r)) {
        judge_part(r);
    } else if (r->is_explained) {
        verdict_add(r, "cannot be opened: %s", r->explanation);
    } else if (r->error == BLOOMFILE_EUNCLEAN) {
        verdict_add(r, "unclean: %s", why_unclean(r));
        verdict_advise(r, "%s", mend);
    } else if (r->error == BLOOMFILE_EPOISONED) {
        verdict_add(r, "poisoned: a write to the disk failed, or damage was found");
        verdict_advise(r, "rebuild it from its keys; do not trust this file");
    } else {
        verdict_add(r, "cannot be opened: %s", bloomfile_strerror(r->error));
    }
}

static bool all_are_clean(const struct inspect_report *r)
{
    bool clean = r->layer_count > 0 || inspect_is_clean(&r->info);
    for (size_t i = 0; i < r->layer_count; i++)
        clean &= inspect_is_clean(&r->layers[i].info);
    return clean;
}

/* The number of programs that are adding: each has at least one layer open for writing. */
static uint32_t most_writers(const struct inspect_report *r)
{
    uint32_t most = r->info.writers;
    for (size_t i = 0; i < r->layer_count; i++)
        most = r->layers[i].info.writers > most ? r->layers[i].info.writers : most;
    return most;
}

/* Whether the newest generation begins too far in the future (doc/format/live.md 9.4). */
static bool began_ahead(const struct inspect_report *r)
{
    struct timespec now;
    if (r->layer_count == 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    const struct bloomfile_info *newest = &r->layers[r->layer_count - 1].info;
    const uint64_t tenth = newest->period / 10 + (newest->period % 10 != 0);
    const uint64_t seconds = now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0;
    return newest->period > 0 && newest->began > seconds && newest->began - seconds > tenth;
}

static void judge_live(struct inspect_report *r, bool verify)
{
    const uint32_t writers = most_writers(r);
    verdict_advise(r,
                   r->layer_count > 0
                       ? "to ship or verify it, seal a copy (bfseal FILE COPY)"
                       : "seal it once all keys are added (bfseal FILE); then it can be verified");
    if (r->unclean) {
        r->status = INSPECT_PROMISE_BROKEN;
        verdict_add(r, "live, unclean: %s", why_unclean(r));
        verdict_advise(r, "%s", mend);
    } else if (r->in_use) {
        verdict_add(r, "live: open for writing by %" PRIu32 " program%s", writers, cli_s(writers));
    } else if (all_are_clean(r)) {
        verdict_add(r, "live, clean");
    } else {
        r->status = INSPECT_PROMISE_BROKEN;
        verdict_add(r, "live: its last writer was killed");
        verdict_advise(r,
                       "nothing is lost; have it on disk before the machine goes down: bfadd FILE"
                       " </dev/null");
    }
    if (began_ahead(r)) {
        r->status = INSPECT_PROMISE_BROKEN;
        verdict_add(r, "; its newest generation starts in the future");
        verdict_advise(r,
                       "check the clock; if the clock is right, the next add ends this generation");
    }
    if (verify) {
        r->status = INSPECT_PROMISE_BROKEN;
        verdict_add(r, "; not verified, it has no checksums");
    }
}

static void judge_sound(struct inspect_report *r, bool verify)
{
    const bool live = r->info.state == BLOOMFILE_STATE_LIVE;
    if (live)
        judge_live(r, verify);
    verdict_promises(r);
    if (live || r->status != INSPECT_HEALTHY)
        return;
    verdict_add(r, "%s",
                r->verified   ? "healthy"
                : r->measured ? "healthy header and fill, body not verified"
                              : "healthy header, body not read");
    if ((r->info.provenance & BLOOMFILE_PROVENANCE_INTERSECTION) != 0)
        verdict_add(r, "; an intersection, so its rate is only an estimate");
}

void inspect_verdict(struct inspect_report *r, bool verify)
{
    r->status = INSPECT_UNUSABLE;
    if (r->depth == INSPECT_NOTHING) {
        verdict_no_bytes(r);
    } else if (r->depth == INSPECT_BYTES) {
        verdict_header(r);
    } else if (r->depth == INSPECT_HEADER || r->error == BLOOMFILE_EPOISONED) {
        judge_state(r);
    } else if (r->error != 0) {
        verdict_body(r);
    } else {
        r->status = INSPECT_HEALTHY;
        judge_sound(r, verify);
    }
}
