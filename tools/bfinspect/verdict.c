/* SPDX-License-Identifier: MIT
 * The one line that says what state a file is in, and the advice below it. */
#include "bfinspect/inspect.h"

#include "shared/cli.h"
#include "shared/say.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A real rate up to this many times the promised one is no broken promise. Nor is what chance does
 * to a filter of few keys, up to this many standard deviations, unless it has more keys than
 * planned. */
static const double tolerance = 1.1, deviations = 4;

static const char rebuild[] = "restore the file from a copy, or build it again";
static const char mend[] =
    "add the keys since the last sync again (bfadd --accept-unclean), or build it again";
static const char newer_program[] = "read it with a newer release of bloomfile";

__attribute__((format(printf, 2, 3))) static void verdict(struct inspect_report *r,
                                                          const char *format, ...)
{
    size_t used = strlen(r->verdict);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->verdict + used, sizeof(r->verdict) - used, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void advise(struct inspect_report *r,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->advice, sizeof(r->advice), format, arguments);
    va_end(arguments);
}

/* ------------------------------------------------------------------------------ no filter at all
 */

static void judge_no_bytes(struct inspect_report *r)
{
    switch (r->error) {
    case BLOOMFILE_EEMPTY:
        verdict(r, "empty file");
        advise(r, "%s", rebuild);
        break;
    case EISDIR:
        verdict(r, "a directory, not a filter file");
        break;
    case BLOOMFILE_ENOTREGULAR:
        verdict(r, "%s, not a regular file",
                S_ISFIFO(r->stat.st_mode)  ? "a FIFO"
                : S_ISCHR(r->stat.st_mode) ? "a character device"
                : S_ISBLK(r->stat.st_mode) ? "a block device"
                                           : "a special file");
        advise(r, "copy it into a file first");
        break;
    default:
        verdict(r, "cannot read it: %s", bloomfile_strerror(r->error));
    }
}

/* ------------------------------------------------------------------------------------ header */

static bool has_fault(const struct inspect_report *r, int error)
{
    for (size_t i = 0; i < r->fault_count; i++)
        if (r->faults[i].error == error)
            return true;
    return false;
}

static void judge_flips(struct inspect_report *r)
{
    verdict(r, "damaged header: one flipped bit in ");
    for (size_t i = 0; i < r->flip_count; i++) {
        char field[64];
        inspect_field_at(r, r->flips[i].offset, field, sizeof(field));
        verdict(r, "%s%s (byte %" PRIu64 ")", i > 0 ? " and one in " : "", field,
                r->flips[i].offset);
    }
    advise(r, "%s; turning the bit back makes the header valid", rebuild);
}

static void judge_version(struct inspect_report *r)
{
    if (r->info.version > 1) {
        verdict(r, "newer format (version %" PRIu32 ")", r->info.version);
        advise(r, "%s", newer_program);
    } else {
        verdict(r, "unknown format version %" PRIu32, r->info.version);
        advise(r, "%s", rebuild);
    }
}

static void judge_features(struct inspect_report *r)
{
    bool several = (r->info.incompat & (r->info.incompat - 1)) != 0;
    const char *before = several ? "bits " : "bit ";
    verdict(r, "needs a feature that this release does not know: incompat ");
    for (unsigned bit = 0; bit < 32; bit++) {
        if ((r->info.incompat >> bit & 1) == 0)
            continue;
        verdict(r, "%s%u", before, bit);
        before = ", ";
    }
    advise(r, "%s", newer_program);
}

static void judge_truncated(struct inspect_report *r)
{
    bool is_known = r->fault_count == 1 && inspect_has_field(r, "body_size");
    uint64_t whole = is_known ? r->info.image_size : 0;
    if (whole > r->size)
        verdict(r, "truncated: %" PRIu64 " of %" PRIu64 " bytes missing", whole - r->size, whole);
    else
        verdict(r, "truncated: only %" PRIu64 " byte%s, not even a header", r->size,
                cli_s(r->size));
    advise(r, "copy it again, or build it again");
}

static void judge_trailing(struct inspect_report *r)
{
    uint64_t extra = r->size - r->info.image_size;
    verdict(r, "%" PRIu64 " extra byte%s at the end", extra, cli_s(extra));
    advise(r, "copy it again, or cut them off: truncate --size=%" PRIu64, r->info.image_size);
}

/* The fields whose values are wrong, or what else the header's checksum lets one say. */
static void judge_fields(struct inspect_report *r)
{
    bool damaged = has_fault(r, BLOOMFILE_EHEADER) || has_fault(r, BLOOMFILE_EMAGIC) ||
                   has_fault(r, BLOOMFILE_ERECORD) || has_fault(r, BLOOMFILE_EHEADERSIZE);
    const char *before = damaged ? "damaged header: " : "invalid header: ";
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct bloomfile_fault *f = &r->faults[i];
        bool again = i > 0 && f->field == r->faults[i - 1].field;
        if (f->error == BLOOMFILE_EHEADER || again)
            continue;
        verdict(r, "%s%s", before, f->field);
        before = ", ";
    }
    if (strcmp(before, ", ") != 0)
        verdict(r, "%schecksum mismatch, though every field is plausible", before);
    else if (r->fault_count == 1)
        verdict(r, " (%s)", bloomfile_strerror(r->error));
    advise(r, "%s", rebuild);
}

/* If the file is something else, a list of wrong fields is useless. */
static bool is_damaged_filter(const struct inspect_report *r)
{
    return r->info.version == 1 && (r->info.header_size == 4096 || r->info.header_size == 512);
}

static void judge_header(struct inspect_report *r)
{
    if (r->flip_count > 0) {
        judge_flips(r);
        return;
    }
    switch (r->error) {
    case BLOOMFILE_EMAGIC:
        if (is_damaged_filter(r))
            judge_fields(r);
        else
            verdict(r, "not a filter file");
        break;
    case BLOOMFILE_ETEXTMODE:
        verdict(r, "damaged by a text-mode transfer: %s",
                r->bytes[0] < 0x80 ? "the top bit of every byte was stripped"
                                   : "line ends were changed");
        advise(r, "copy it again in binary mode");
        break;
    case BLOOMFILE_EVERSION:
        judge_version(r);
        break;
    case BLOOMFILE_EFEATURE:
        judge_features(r);
        break;
    case BLOOMFILE_ESELFTEST:
        verdict(r, "%s", bloomfile_strerror(r->error));
        advise(r, "read it with the build of bloomfile that wrote it");
        break;
    case BLOOMFILE_ETRUNCATED:
        judge_truncated(r);
        break;
    case BLOOMFILE_ETRAILING:
        judge_trailing(r);
        break;
    default:
        judge_fields(r);
    }
}

static const char *why_unclean(const struct inspect_report *r)
{
    uint8_t no_boot[sizeof(r->info.boot_id)]; /* of files made by bloomfile_rescue() */
    memset(no_boot, 0xFF, sizeof(no_boot));
    return memcmp(r->info.boot_id, no_boot, sizeof(no_boot)) == 0
               ? "rescued from a file that could not be written to disk"
               : bloomfile_strerror(BLOOMFILE_EUNCLEAN);
}

static void judge_state(struct inspect_report *r)
{
    if (r->error == BLOOMFILE_EUNCLEAN) {
        verdict(r, "unclean: %s", why_unclean(r));
        advise(r, "%s", mend);
    } else if (r->error == BLOOMFILE_EPOISONED) {
        verdict(r, "poisoned: a write to the disk failed");
        advise(r, "build it again from its keys; do not trust this file");
    } else {
        verdict(r, "cannot be opened: %s", bloomfile_strerror(r->error));
    }
}

/* -------------------------------------------------------------------------------------- body */

static const struct bloomfile_fault *last_fault(const struct inspect_report *r)
{
    return r->fault_count > 0 ? &r->faults[r->fault_count - 1] : NULL;
}

static void judge_damaged_body(struct inspect_report *r)
{
    const struct bloomfile_fault *fault = last_fault(r);
    advise(r, "%s", rebuild);
    if (r->interrupted) {
        verdict(r, "unreadable: the file shrank or its disk failed while it was read");
        advise(r, "look at the kernel's log (dmesg), and inspect it again");
    } else if (r->error == BLOOMFILE_ECHANGED) {
        verdict(r, "overwritten while it was read: what is said here is true of neither file");
        advise(r, "inspect it again; to replace a filter, rename a new file over it");
    } else if (r->error == BLOOMFILE_EPAGE && fault != NULL) {
        verdict(r, "damaged: page %" PRIu64 " of %" PRIu64, fault->page, r->info.pages);
        if (r->info.bad_pages > 1)
            verdict(r, " (%" PRIu64 " pages bad)", r->info.bad_pages);
    } else if (r->error == BLOOMFILE_EPAGE) {
        verdict(r, "damaged: %" PRIu64 " bad page%s met while looking up keys", r->info.bad_pages,
                cli_s(r->info.bad_pages));
        advise(r, "%s; --verify finds all bad pages", rebuild);
    } else if (r->error == BLOOMFILE_EBODY && fault != NULL) {
        bool padding = strcmp(fault->field, "padding") == 0;
        verdict(r, "damaged: the body %s%s",
                padding ? "has ones beyond m" : "contradicts the header's ",
                padding ? "" : fault->field);
        if (strcmp(fault->field, "ones") == 0 && r->measured)
            verdict(r, " (%" PRIu64 " recorded, %" PRIu64 " there)", r->info.ones, r->measure.ones);
    } else if (r->error == BLOOMFILE_EHASH) {
        verdict(r, "cannot check keys: only the application that made it can look them up");
        advise(r, "leave away --keys");
    } else {
        verdict(r, "cannot read the body: %s", bloomfile_strerror(r->error));
        advise(r, "%s", "");
    }
}

/* ------------------------------------------------------------------------------------ promises */

/* Between two things there are to say. */
static void also(struct inspect_report *r)
{
    if (r->verdict[0] != '\0')
        verdict(r, "; ");
}

/* The relative standard deviation of the rate of filters with as many random keys: how far the ones
 * scatter, and for blocked how far the number of keys in a block does, times the slope of the rate.
 */
static double chance_of_rate(const struct bloomfile_info *info, double fill)
{
    const double block = bloomfile_traits_of(info->layout)->unit_cells, k = info->hashes;
    if (fill <= 0 || fill >= 1)
        return 0;
    double per_bit = -log1p(-fill), slope = k / fill;
    double place = (1 - fill) * (1 - (1 + per_bit) * (1 - fill));
    double bits = (double)info->bits;
    if (block == 1)
        return slope * sqrt(place / bits);
    double key = k * (1 - fill) / block, keys_in_block = per_bit * block / k;
    return slope * sqrt((place / block + key * key * keys_in_block) * block / bits);
}

/* Rates of small filters scatter about as a log-normal variable does. */
static bool rate_is_kept(const struct inspect_report *r, bool crowded)
{
    double chance = crowded ? 0 : deviations * chance_of_rate(&r->info, r->measure.fill);
    return r->measure.fpr <= r->info.fpr * tolerance * exp(chance);
}

/* An overfull live filter takes most new keys for old ones, and does not count these. */
static uint64_t keys_to_plan_for(const struct inspect_report *r, uint64_t recorded)
{
    const uint64_t estimate = r->measured ? say_estimate(&r->info, &r->measure) : 0;
    return estimate > recorded + recorded / 10 ? estimate : recorded;
}

static void judge_rate(struct inspect_report *r)
{
    char keys[32], capacity[32], real[32], promised[32];
    const struct bloomfile_info *info = &r->info;
    bool estimated = info->keys_estimated != 0 && r->measured;
    uint64_t n = estimated ? say_estimate(info, &r->measure) : info->keys;
    bool crowded = n > info->capacity;
    bool can_tell = r->measured && info->fpr > 0;
    text_count(keys, sizeof(keys), n);
    text_count(capacity, sizeof(capacity), info->capacity);
    cli_percent(real, sizeof(real), r->measure.fpr);
    cli_percent(promised, sizeof(promised), info->fpr);

    if (can_tell ? rate_is_kept(r, crowded) : !crowded)
        return;
    r->status = INSPECT_PROMISE_BROKEN;
    also(r);
    if (crowded) {
        verdict(r, "over capacity: %s keys in a filter sized for %s", keys, capacity);
        advise(r, "build it again for %" PRIu64 " keys or more (bfcreate --capacity)",
               keys_to_plan_for(r, n));
    } else {
        verdict(r, "rate not kept");
        advise(r, "build it again, or fold it less");
    }
    if (r->measured)
        verdict(r, "; real rate %s", real);
    if (can_tell)
        verdict(r, ", promised %s", promised);
}

/* A filter with the same answer for all is not damaged, but useless. The promised rate, if there is
 * one, says how bad the real one may be. */
static void judge_use(struct inspect_report *r)
{
    static const double useless = 0.5; /* half of all strangers are "maybe" */
    const struct bloomfile_info *info = &r->info;
    char real[32];
    double rate =
        r->measured ? r->measure.fpr : pow((double)info->ones / (double)info->bits, info->hashes);
    if (info->ones == 0 && (!r->measured || r->measure.ones == 0)) {
        verdict(r, "empty: it answers no to everything");
        advise(r, "build it again if there should be keys: did the program that writes them fail?");
    } else if (info->fpr <= 0 && rate >= useless) {
        verdict(r, "overfull: its real rate is %s%s", r->measured ? "" : "about ",
                cli_percent(real, sizeof(real), rate));
        advise(r, "build it again, larger");
    } else {
        return;
    }
    r->status = INSPECT_PROMISE_BROKEN;
}

static void judge_keys(struct inspect_report *r)
{
    char missing[32], count[32];
    if (r->keys_missing == 0)
        return;
    text_count(missing, sizeof(missing), r->keys_missing);
    text_count(count, sizeof(count), r->keys_count);
    also(r);
    verdict(r, "%s of %s key%s missing", missing, count, cli_s(r->keys_count));
    advise(r, "this filter was made from other keys, or from other bytes (line ends? -0? --crlf?)");
    r->status = INSPECT_PROMISE_BROKEN;
}

static void judge_live(struct inspect_report *r)
{
    r->status = INSPECT_PROMISE_BROKEN;
    advise(r, "seal it when no more keys are to be added (bfseal): then it can be verified");
    if (r->in_use) {
        verdict(r, "live: open for writing by %" PRIu32 " program%s", r->info.writers,
                cli_s(r->info.writers));
    } else if (r->unclean) {
        verdict(r, "live, unclean: %s", why_unclean(r));
        advise(r, "%s", mend);
    } else if (inspect_is_clean(&r->info)) {
        verdict(r, "live, clean");
    } else {
        verdict(r, "live: its last writer was killed");
        advise(r, "nothing is lost; have it on disk before the machine goes down: bfadd FILE"
                  " </dev/null");
    }
}

static void judge_sound(struct inspect_report *r)
{
    if (r->info.state == BLOOMFILE_LIVE)
        judge_live(r);
    judge_keys(r);
    if (r->keys_missing == 0)
        judge_rate(r);
    if (r->status == INSPECT_HEALTHY)
        judge_use(r);
    if (r->status != INSPECT_HEALTHY)
        return;
    verdict(r, "%s",
            r->verified   ? "healthy"
            : r->measured ? "healthy header and fill, body not verified"
                          : "healthy header, body not read");
    if ((r->info.provenance & BLOOMFILE_FROM_INTERSECTION) != 0)
        verdict(r, "; an intersection, so its rate is only an estimate");
}

void inspect_verdict(struct inspect_report *r)
{
    r->status = INSPECT_UNUSABLE;
    if (r->depth == INSPECT_NOTHING) {
        judge_no_bytes(r);
    } else if (r->depth == INSPECT_BYTES) {
        judge_header(r);
    } else if (r->depth == INSPECT_HEADER || r->error == BLOOMFILE_EPOISONED) {
        judge_state(r);
    } else if (r->error != 0) {
        judge_damaged_body(r);
    } else {
        r->status = INSPECT_HEALTHY;
        judge_sound(r);
    }
}
