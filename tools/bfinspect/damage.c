/* SPDX-License-Identifier: MIT
 * The verdict on a damaged filter, or on a file that is not a filter. */
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bfinspect/inspect.h"
#include "bfinspect/verdict.h"
#include "cli/cli.h"
#include "keys/input_type.h"

static const char rebuild[] = "restore the file from a copy, or rebuild it";
static const char newer_program[] = "read it with a newer release of bloomfile";

void verdict_no_bytes(struct inspect_report *r)
{
    switch (r->error) {
    case BLOOMFILE_EEMPTY:
        verdict_add(r, "empty file");
        verdict_advise(r, "%s", rebuild);
        break;
    case EISDIR:
        verdict_add(r, "a directory, not a filter file");
        break;
    case BLOOMFILE_ENOTREGULAR:
        verdict_add(r, "%s, not a regular file",
                    S_ISFIFO(r->stat.st_mode)  ? "a FIFO"
                    : S_ISCHR(r->stat.st_mode) ? "a character device"
                    : S_ISBLK(r->stat.st_mode) ? "a block device"
                                               : "a special file");
        verdict_advise(r, "copy it into a file first");
        break;
    default:
        verdict_add(r, "cannot read it: %s", bloomfile_strerror(r->error));
    }
}

/* --------------------------------------------------------------------------------------- header */

static bool has_fault(const struct inspect_report *r, int error)
{
    for (size_t i = 0; i < r->fault_count; i++)
        if (r->faults[i].error == error)
            return true;
    return false;
}

static void judge_flips(struct inspect_report *r)
{
    verdict_add(r, "damaged header: one flipped bit in ");
    for (size_t i = 0; i < r->flip_count; i++) {
        char field[64];
        inspect_field_at(r, r->flips[i].offset, field, sizeof(field));
        verdict_add(r, "%s%s (byte %" PRIu64 ")", i > 0 ? " and one in " : "", field,
                    r->flips[i].offset);
    }
    verdict_advise(r, "%s; turning the bit back makes the header valid", rebuild);
}

static void judge_version(struct inspect_report *r)
{
    if (r->info.version > 1) {
        verdict_add(r, "newer format (version %" PRIu32 ")", r->info.version);
        verdict_advise(r, "%s", newer_program);
    } else {
        verdict_add(r, "unknown format version %" PRIu32, r->info.version);
        verdict_advise(r, "%s", rebuild);
    }
}

static void judge_features(struct inspect_report *r)
{
    const uint32_t unknown = r->info.incompat & ~INSPECT_KNOWN_INCOMPAT;
    bool several = (unknown & (unknown - 1)) != 0;
    const char *before = several ? "bits " : "bit ";
    verdict_add(r, "needs a feature that this release does not know: incompat ");
    for (unsigned bit = 0; bit < 32; bit++) {
        if ((unknown >> bit & 1) == 0)
            continue;
        verdict_add(r, "%s%u", before, bit);
        before = ", ";
    }
    verdict_advise(r, "%s", newer_program);
}

static void judge_truncated(struct inspect_report *r)
{
    const bool is_whole = r->info.header_size > 0 && r->size >= r->info.header_size;
    bool is_known = (is_whole || r->fault_count == 1) && inspect_has_field(r, "body_size");
    uint64_t whole = is_known ? inspect_whole_size(&r->info) : 0;
    if (whole > r->size)
        verdict_add(r, "truncated: %" PRIu64 " of %" PRIu64 " bytes missing", whole - r->size,
                    whole);
    else
        verdict_add(r, "truncated: only %" PRIu64 " byte%s, not even a header", r->size,
                    cli_s(r->size));
    verdict_advise(r, "copy it again, or rebuild it");
}

static void judge_trailing(struct inspect_report *r)
{
    uint64_t extra = r->size - inspect_whole_size(&r->info);
    verdict_add(r, "%" PRIu64 " extra byte%s at the end", extra, cli_s(extra));
    if (r->is_stream)
        verdict_advise(r, "another filter follows; to merge them all: bfmerge DEST - <FILE");
    else
        verdict_advise(r, "copy it again, or extract the filter: head -c %" PRIu64 " FILE >COPY",
                       inspect_whole_size(&r->info));
}

/* Names the fields with wrong values, or else reports the wrong checksum. */
static void judge_fields(struct inspect_report *r)
{
    bool damaged = has_fault(r, BLOOMFILE_EHEADER) || has_fault(r, BLOOMFILE_EMAGIC) ||
                   has_fault(r, BLOOMFILE_ERECORD) || has_fault(r, BLOOMFILE_EFORM);
    const char *before = damaged ? "damaged header: " : "invalid header: ";
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct bloomfile_fault *f = &r->faults[i];
        bool again = i > 0 && f->field == r->faults[i - 1].field;
        if (f->error == BLOOMFILE_EHEADER || again)
            continue;
        verdict_add(r, "%s%s", before, f->field);
        before = ", ";
    }
    if (strcmp(before, ", ") != 0)
        verdict_add(r, "%schecksum mismatch, though every field is plausible", before);
    else if (r->fault_count == 1)
        verdict_add(r, " (%s)", bloomfile_strerror(r->error));
    verdict_advise(r, "%s", rebuild);
}

/* Whether the file is a damaged filter. If it is something else, a list of wrong
 * fields is useless. */
static bool is_damaged_filter(const struct inspect_report *r)
{
    return r->info.version == 1 && (r->info.header_size == 4096 || r->info.header_size == 512);
}

static void judge_stranger(struct inspect_report *r)
{
    struct input_type_text is;
    verdict_add(r, "not a filter file");
    if (input_type_describe(r->bytes, r->have, r->size, r->path, &is))
        verdict_advise(r, "%s (%s)", is.what, is.remedy);
}

void verdict_header(struct inspect_report *r)
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
            judge_stranger(r);
        break;
    case BLOOMFILE_ETEXTMODE:
        verdict_add(r, "damaged by a text-mode transfer: %s",
                    r->bytes[0] < 0x80 ? "the top bit of every byte was stripped"
                                       : "line ends were changed");
        verdict_advise(r, "copy it again in binary mode");
        break;
    case BLOOMFILE_EVERSION:
        judge_version(r);
        break;
    case BLOOMFILE_EFEATURE:
        judge_features(r);
        break;
    case BLOOMFILE_ESELFTEST:
        verdict_add(r, "%s", bloomfile_strerror(r->error));
        verdict_advise(r, "read it with the build of bloomfile that wrote it");
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

/* ----------------------------------------------------------------------------------------- body */

/* The first layer with a damaged body; NULL if it is not a series or all layers are sound. */
static const struct inspect_layer *bad_layer(const struct inspect_report *r)
{
    for (size_t i = 0; i < r->layer_count; i++)
        if (r->layers[i].error != 0)
            return &r->layers[i];
    return NULL;
}

/* Names the first damaged page, from 0, and the layer of a series. */
static void judge_page(struct inspect_report *r, const struct bloomfile_fault *fault)
{
    const struct inspect_layer *bad = bad_layer(r);
    verdict_add(r, "damaged: page %" PRIu64, fault->page);
    if (bad != NULL)
        verdict_add(r, " of layer %" PRIu64, bad->info.layer);
    verdict_add(r, " (%" PRIu64 " of %" PRIu64 " page%s bad)", r->info.bad_pages, r->info.pages,
                cli_s(r->info.pages));
}

/* All checksums of pages are right, but the body contradicts the header. */
static void judge_contradiction(struct inspect_report *r, const char *field)
{
    const struct inspect_layer *bad = bad_layer(r);
    verdict_add(r, "damaged: the body ");
    if (bad != NULL)
        verdict_add(r, "of layer %" PRIu64 " ", bad->info.layer);
    if (strcmp(field, "padding") == 0)
        verdict_add(r, "has one bits beyond m");
    else if (strcmp(field, "head") == 0)
        verdict_add(r, "has a page with an invalid head");
    else
        verdict_add(r, "contradicts the header's %s", field);
    if (strcmp(field, "ones") == 0 && r->measured)
        verdict_add(r, " (%" PRIu64 " recorded, %" PRIu64 " there)",
                    bad != NULL ? bad->info.ones : r->info.ones,
                    bad != NULL ? bad->measure.ones : r->measure.ones);
    if (strcmp(field, "n") == 0 && r->measured)
        verdict_add(r, " (%" PRIu64 " keys recorded, %.0f by the heads of its pages)", r->info.keys,
                    r->measure.keys_estimate);
}

static const struct bloomfile_fault *the_fault(const struct inspect_report *r)
{
    return r->fault_count > 0 ? &r->faults[0] : NULL;
}

void verdict_body(struct inspect_report *r)
{
    const struct bloomfile_fault *fault = the_fault(r);
    verdict_advise(r, "%s", rebuild);
    if (r->interrupted) {
        verdict_add(r, "unreadable: the file shrank or its disk failed while it was read");
        verdict_advise(r, "look at the kernel's log (dmesg), and inspect it again");
    } else if (r->error == BLOOMFILE_ECHANGED) {
        verdict_add(
            r, "overwritten or touched while it was read: this report may mix old and new data");
        verdict_advise(r, "inspect it again; to replace a filter, rename a new file over it");
    } else if (r->error == BLOOMFILE_EPAGE && fault != NULL) {
        judge_page(r, fault);
    } else if (r->error == BLOOMFILE_EPAGE) {
        verdict_add(r, "damaged: %" PRIu64 " bad page%s met while looking up keys",
                    r->info.bad_pages, cli_s(r->info.bad_pages));
        verdict_advise(r, "%s; --verify finds all bad pages", rebuild);
    } else if (r->error == BLOOMFILE_EBODY && fault != NULL) {
        judge_contradiction(r, fault->field);
    } else if (r->error == BLOOMFILE_EHASH) {
        verdict_add(r, "cannot check keys: only the application that made it can look them up");
        verdict_advise(r, "leave out --keys");
    } else {
        verdict_add(r, "cannot read the body: %s", bloomfile_strerror(r->error));
        verdict_advise(r, "%s", "");
    }
}

/* ---- The search for flipped bits. A CRC-32 over a few thousand bytes can also locate a flipped
 * bit: each bit changes the checksum by a pattern of its own. So the difference between the stored
 * and the computed checksum identifies the bit. */

#define CRC_POLYNOMIAL 0xEDB88320u

/* The remainder after another zero byte. */
static uint32_t crc_step(uint32_t crc)
{
    for (int i = 0; i < 8; i++)
        crc = crc >> 1 ^ (CRC_POLYNOMIAL & (0 - (crc & 1)));
    return crc;
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        crc = crc_step(crc ^ bytes[i]);
    return ~crc;
}

/* Finds the flipped bit. `difference` is not 0. The checksum's own four bytes follow the `size`
 * bytes that it covers: if they differ in a single bit, that bit was flipped. Otherwise the search
 * goes backwards from the last byte: with each byte further from the end, the effect of a flipped
 * bit goes through another step of the CRC. */
static bool locate(uint32_t difference, size_t size, struct inspect_flip *flip)
{
    if ((difference & (difference - 1)) == 0) {
        unsigned bit = (unsigned)__builtin_ctz(difference);
        *flip = (struct inspect_flip){ size + bit / 8, bit % 8 };
        return true;
    }
    uint32_t effect[8];
    for (unsigned bit = 0; bit < 8; bit++)
        effect[bit] = crc_step(1u << bit);
    for (size_t at = size; at-- > 0;) {
        for (unsigned bit = 0; bit < 8; bit++) {
            if (effect[bit] == difference) {
                *flip = (struct inspect_flip){ at, bit };
                return true;
            }
            effect[bit] = crc_step(effect[bit]);
        }
    }
    return false;
}

/* Restores a flipped bit, if that is the cause, in a range whose last four bytes are
 * its checksum. */
static void repair(uint8_t *bytes, size_t start, size_t size, struct inspect_report *r)
{
    struct inspect_flip flip;
    uint8_t *range = bytes + start;
    uint32_t stored = (uint32_t)inspect_number(range + size - 4, 4);
    uint32_t difference = crc_of(range, size - 4) ^ stored;
    if (difference == 0 || r->flip_count == INSPECT_FLIPS || !locate(difference, size - 4, &flip))
        return;
    range[flip.offset] ^= (uint8_t)(1u << flip.bit);
    flip.offset += start;
    r->flips[r->flip_count++] = flip;
}

static bool repair_all(struct inspect_report *r, size_t header_size)
{
    uint8_t bytes[INSPECT_HEADER_SIZE];
    if (r->have < header_size)
        return false;
    memcpy(bytes, r->bytes, r->have);
    r->flip_count = 0;
    repair(bytes, 0, header_size / 2, r);
    repair(bytes, header_size / 2, header_size / 4, r);
    repair(bytes, header_size / 4 * 3, header_size / 4, r);
    if (r->flip_count > 0 && bloomfile_inspect(bytes, r->size, NULL, NULL, NULL) == 0)
        return true;
    r->flip_count = 0;
    return false;
}

void inspect_find_flips(struct inspect_report *r)
{
    if (!repair_all(r, 4096))
        repair_all(r, 512);
}
