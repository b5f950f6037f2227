/* SPDX-License-Identifier: MIT
 * The report as text for people. */
#include "bfinspect/inspect.h"

#include "cli/cli.h"
#include "filters/key_kind.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 64
};

__attribute__((format(printf, 3, 4))) static void row(FILE *out, const char *name,
                                                      const char *format, ...)
{
    va_list arguments;
    fprintf(out, "  %-13s ", name);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fputc('\n', out);
}

/* ---------------------------------------------------------------------------------- the summary */

static bool is_solved(const struct inspect_report *r)
{
    return bloomfile_traits_of(r->info.layout)->solved;
}

/* Whether the file is damaged. An unknown hash function does not count as damage. */
static bool is_damaged(const struct inspect_report *r)
{
    return r->error != 0 && r->error != BLOOMFILE_EHASH;
}

static void put_keys(FILE *out, const struct inspect_report *r)
{
    char recorded[SHORT], capacity[SHORT], estimate[SHORT] = "more than can be";
    text_count(recorded, sizeof(recorded), r->info.keys);
    text_count(capacity, sizeof(capacity), r->info.capacity);
    if (isfinite(r->measure.keys_estimate))
        text_count(estimate, sizeof(estimate), (uint64_t)llround(r->measure.keys_estimate));
    const bool grows = r->layer_count > 0 && r->info.series != 0 && r->info.generations == 0;
    row(out, "keys", "%s%s recorded, %s%ssized for %s%s",
        r->info.keys_estimated != 0 ? "about " : "", recorded, r->measured ? estimate : "",
        !r->measured   ? ""
        : is_solved(r) ? " by its pages, "
                       : " estimated from the one bits, ",
        capacity,
        grows                      ? " so far"
        : r->info.whole_blocks > 0 ? " in all slices"
                                   : "");
}

static void put_rate(FILE *out, const struct inspect_report *r)
{
    char promised[SHORT] = "none", real[SHORT] = "not measured", fill[SHORT];
    bool estimate = (r->info.provenance & BLOOMFILE_PROVENANCE_INTERSECTION) != 0;
    if (r->info.fpr > 0)
        cli_percent(promised, sizeof(promised), r->info.fpr);
    if (r->measured && !is_solved(r))
        row(out, "fill", "%s", cli_percent(fill, sizeof(fill), r->measure.fill));
    if (r->measured)
        cli_percent(real, sizeof(real), r->measure.fpr);
    row(out, "actual rate", "%s%s", real,
        !r->measured    ? ""
        : is_damaged(r) ? ", of the damaged bits"
        : is_solved(r)  ? ", computed from the heads of all pages"
        : estimate      ? ", only an estimate: the filter is an intersection"
                        : ", computed from all bits");
    row(out, "target rate", "%s", promised);
}

static void put_body_state(FILE *out, const struct inspect_report *r)
{
    char place[SHORT] = "";
    if (r->fault_count > 0 && r->faults[0].page != UINT64_MAX)
        snprintf(place, sizeof(place), ", the first at byte %" PRIu64, r->faults[0].offset);
    if (r->depth < INSPECT_BODY)
        row(out, "body", "not read");
    else if (!is_damaged(r) && r->info.state == BLOOMFILE_STATE_LIVE)
        row(out, "body", "without checksums until it is sealed");
    else if (r->verified && r->info.pages == 1)
        row(out, "body", "verified, its only page is good");
    else if (r->verified)
        row(out, "body", "verified, all %" PRIu64 " pages good", r->info.pages);
    else if (r->info.bad_pages > 0 && r->error != BLOOMFILE_ECHANGED)
        row(out, "body", "%" PRIu64 " of %" PRIu64 " page%s bad%s", r->info.bad_pages,
            r->info.pages, cli_s(r->info.pages), place);
    else if (is_damaged(r))
        row(out, "body", "%s", bloomfile_strerror(r->error));
    else
        row(out, "body", "not verified (--verify reads and checks all of it)");
}

static void put_range(FILE *out, const char *name, const struct inspect_range *range,
                      const char *of)
{
    if (range->least == range->most)
        row(out, name, "%.0f of each %s", range->most, of);
    else
        row(out, name, "%.0f to %.0f of a %s, %.2f on average", range->least, range->most, of,
            range->mean);
}

static void put_solution(FILE *out, const struct inspect_solution *s)
{
    char text[SHORT], more[SHORT];
    if (s->pages > s->unsolved) {
        put_range(out, "groups", &s->groups, "page");
        put_range(out, "columns", &s->columns, "group");
        row(out, "retries", "%s page%s took another seed, %s more groups",
            text_count(text, sizeof(text), s->reseeded), cli_s(s->reseeded),
            text_count(more, sizeof(more), s->enlarged));
    }
    if (s->unsolved > 0)
        row(out, "not solved", "%s of %s page%s, which return%s maybe for every key",
            text_count(text, sizeof(text), s->unsolved), text_count(more, sizeof(more), s->pages),
            cli_s(s->pages), s->unsolved == 1 ? "s" : "");
}

static void put_slice(FILE *out, const struct bloomfile_info *info, uint64_t blocks)
{
    char first[SHORT], last[SHORT], whole[SHORT];
    if (info->whole_blocks > 0)
        row(out, "slice", "blocks %s to %s of %s; lookups of other blocks return maybe",
            text_count(first, sizeof(first), info->first_block),
            text_count(last, sizeof(last), info->first_block + blocks - 1),
            text_count(whole, sizeof(whole), info->whole_blocks));
    if (info->whole_blocks > 0)
        row(out, "made from", "%s key%s, of which %s %s to other slices",
            text_count(first, sizeof(first), info->keys_read), cli_s(info->keys_read),
            text_count(last, sizeof(last), info->keys_elsewhere),
            info->keys_elsewhere == 1 ? "belongs" : "belong");
}

static void put_shape(FILE *out, const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    const struct bloomfile_traits *traits = bloomfile_traits_of(info->layout);
    const uint64_t units = info->bits / traits->unit_cells;
    char m[SHORT], count[SHORT], of[SHORT] = "", in_units[2 * SHORT] = "", body[SHORT];
    char whole[SHORT];
    text_count(m, sizeof(m), info->bits);
    if (!traits->solved)
        snprintf(of, sizeof(of), " of %" PRIu32, traits->unit_cells);
    if (traits->unit_cells > 1)
        snprintf(in_units, sizeof(in_units), ", %s %s%s%s", text_count(count, sizeof(count), units),
                 traits->unit, cli_s(units), of);
    cli_bytes(body, sizeof(body), info->body_size);
    cli_bytes(whole, sizeof(whole), r->size);
    row(out, "layout", "%s", traits->name);
    row(out, "m", "%s %s%s%s", m, traits->cell, cli_s(info->bits), in_units);
    put_slice(out, info, units);
    if (traits->solved)
        put_solution(out, &r->solution);
    else
        row(out, "k", "%s", table_hashes(count, sizeof(count), r));
    if (info->keys > 0)
        row(out, "bits per key", "%.2f",
            traits->cell_bits * (double)info->bits / (double)info->keys);
    row(out, "size", "%s, body %s in %" PRIu64 " page%s", whole, body, info->pages,
        cli_s(info->pages));
    if (info->bits_unfolded != info->bits)
        row(out, "folded", "by %" PRIu64 ", from m = %s", info->bits_unfolded / info->bits,
            text_count(m, sizeof(m), info->bits_unfolded));
    if (info->overflow > 0)
        row(out, "overflow", "%s counter%s stuck at 15", text_count(m, sizeof(m), info->overflow),
            cli_s(info->overflow));
}

static void put_hex(FILE *out, const char *name, const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++)
        any |= bytes[i];
    if (any == 0)
        return;
    fprintf(out, "  %-13s ", name);
    for (size_t i = 0; i < size; i++)
        fprintf(out, "%02x", bytes[i]);
    fputc('\n', out);
}

/* Prints the watermark as text if it is text padded with zero bytes, otherwise in hexadecimal. */
static void put_watermark(FILE *out, const struct bloomfile_info *info, bool utf8)
{
    char text[sizeof(info->watermark) + 1] = "";
    memcpy(text, info->watermark, sizeof(info->watermark));
    const size_t length = strlen(text);
    char *safe = text_safe(text, length, utf8);
    bool is_text = strcmp(safe, text) == 0;
    for (size_t i = length; i < sizeof(info->watermark); i++)
        is_text = is_text && info->watermark[i] == 0;
    if (!is_text)
        put_hex(out, "watermark", info->watermark, sizeof(info->watermark));
    else if (length > 0)
        row(out, "watermark", "%s", text);
    free(safe);
}

static void put_origin(FILE *out, const struct bloomfile_info *info)
{
    static const char *const names[] = { "intersection of filters", "union of filters",
                                         "projection of a counting filter" };
    const char *before = "";
    if ((info->provenance & 7) == 0)
        return;
    fprintf(out, "  %-13s ", "made as");
    for (unsigned bit = 0; bit < 3; bit++) {
        if ((info->provenance >> bit & 1) == 0)
            continue;
        fprintf(out, "%s%s", before, names[bit]);
        before = ", ";
    }
    fputc('\n', out);
}

static void put_identity(FILE *out, const struct inspect_report *r, bool utf8)
{
    const struct bloomfile_info *info = &r->info;
    char state[SHORT], kind[KEY_KIND_ROOM];
    if (info->label[0] != '\0') {
        char *label = text_safe(info->label, strlen(info->label), utf8);
        row(out, "label", "%s", label);
        free(label);
    }
    put_hex(out, "tag", info->tag, sizeof(info->tag));
    put_watermark(out, info, utf8);
    if (info->seed != 0)
        row(out, "seed", "0x%016" PRIx64, info->seed);
    else
        row(out, "seed", "0");
    if (inspect_hash_is_applications(r))
        row(out, "hash", "an application's own: id 0x%08" PRIx32 ", self-test 0x%016" PRIx64,
            info->hash_id, info->self_test);
    if ((info->key_kind | info->key_size) != 0)
        row(out, "key kind", "%s", key_kind_text(kind, info));
    put_origin(out, info);
    row(out, "state", "%s", text_state(state, sizeof(state), info->state));
    if (info->state == BLOOMFILE_STATE_LIVE)
        row(out, "writers", "%" PRIu32 "%s", info->writers,
            info->writers > 0 && !r->in_use ? ", killed" : "");
    put_hex(out, "boot id", info->boot_id, sizeof(info->boot_id));
    put_hex(out, "identity", info->identity, sizeof(info->identity));
    if (((info->compat & ~INSPECT_KNOWN_COMPAT) | info->ro_compat |
         (info->incompat & ~INSPECT_KNOWN_INCOMPAT)) != 0)
        row(out, "features",
            "compat 0x%08" PRIx32 ", ro_compat 0x%08" PRIx32 ", incompat 0x%08" PRIx32,
            info->compat, info->ro_compat, info->incompat);
}

static void put_checked_keys(FILE *out, const struct inspect_report *r)
{
    char count[SHORT], missing[SHORT], own[SHORT], of[2 * SHORT] = "";
    if (!r->keys_checked)
        return;
    text_count(count, sizeof(count), r->keys_count);
    text_count(missing, sizeof(missing), r->keys_missing);
    text_count(own, sizeof(own), r->keys_own);
    if (r->info.whole_blocks > 0)
        snprintf(of, sizeof(of), " (%s belong to this slice)", own);
    if (r->keys_missing == 0)
        row(out, "keys checked", "%s%s, all present", count, of);
    else
        row(out, "keys checked", "%s%s, %s missing", count, of, missing);
    for (size_t i = 0; i < INSPECT_MISSING && r->missing[i] != NULL; i++)
        row(out, i == 0 ? "missing" : "", "%s", r->missing[i]);
    if (r->keys_missing > INSPECT_MISSING)
        row(out, "", "and %s more",
            text_count(count, sizeof(count), r->keys_missing - INSPECT_MISSING));
}

static void put_summary(FILE *out, const struct inspect_report *r, bool utf8)
{
    table_kind(out, r);
    put_keys(out, r);
    put_rate(out, r);
    put_body_state(out, r);
    put_checked_keys(out, r);
    put_shape(out, r);
    put_identity(out, r, utf8);
}

/* ----------------------------------------------------------------------------------- the header */

static void put_flips(FILE *out, const struct inspect_report *r)
{
    for (size_t i = 0; i < r->flip_count; i++) {
        const struct inspect_flip *flip = &r->flips[i];
        char field[SHORT];
        uint8_t now = r->bytes[flip->offset];
        inspect_field_at(r, flip->offset, field, sizeof(field));
        row(out, "flipped bit", "byte %" PRIu64 " is 0x%02x, was 0x%02x (%s)", flip->offset, now,
            now ^ (1u << flip->bit), field);
    }
}

static void put_field(FILE *out, const struct inspect_report *r,
                      const struct bloomfile_field *field, bool utf8)
{
    const struct bloomfile_fault *fault = inspect_field_fault(r, field);
    char value[512];
    inspect_field_text(r, field, utf8, value, sizeof(value));
    if (fault == NULL)
        fprintf(out, "    %6" PRIu32 "  %-11s  %s\n", field->offset, field->name, value);
    else
        fprintf(out, "  ! %6" PRIu32 "  %-11s  %-24s  <- %s\n", field->offset, field->name, value,
                bloomfile_strerror(fault->error));
}

static void put_fields(FILE *out, const struct inspect_report *r, bool utf8)
{
    fprintf(out, "\n    offset  field        value%s\n",
            r->fault_count > 0 ? "  (! is wrong)" : "");
    for (size_t i = 0; i < r->field_count; i++) {
        const struct bloomfile_field *field = &r->fields[i];
        if (field->record >= 0 && (i == 0 || field[-1].record != field->record))
            fprintf(out, "            commit record %d\n", field->record);
        put_field(out, r, field, utf8);
    }
}

/* -------------------------------------------------------------------------------------- the map */

static const char *fill_text(const struct picture *p, char text[SHORT], double fill)
{
    return p->words->most > 1 ? picture_fill_text(p, text, SHORT, fill)
                              : cli_percent(text, SHORT, fill);
}

static void put_map(FILE *out, const struct picture *p, bool utf8)
{
    double low, high;
    char text[4][SHORT];
    picture_range(p, &low, &high);
    fprintf(out, "\n%*s page\n", (int)picture_label_width(p->pages) - 5, "");
    picture_print(out, p, utf8);
    fputc('\n', out);
    row(out, "cells", "%s, %s %s to %s", picture_cells_text(p, text[0], SHORT), p->words->fill,
        fill_text(p, text[1], low), fill_text(p, text[2], high));
    row(out, "glyphs", "%s%s the median, %s; %s below %s, %s above %s; blank: %s",
        picture_glyph(4, utf8), picture_glyph(5, utf8), fill_text(p, text[0], p->median),
        picture_glyph(1, utf8), fill_text(p, text[1], picture_fill_at(p, -1)),
        picture_glyph(8, utf8), fill_text(p, text[2], picture_fill_at(p, 1)), p->words->blank);
    row(out, "unlikely", "cells further from the median than chance explains: %zu",
        picture_outliers(p));
}

/* ----------------------------------------------------------------------------- the whole report */

/* Whether to print the header's fields. They are meaningless if the file is not a filter. */
static bool fields_matter(const struct inspect_report *r)
{
    return r->depth == INSPECT_BYTES && r->error != BLOOMFILE_ETRAILING &&
           (r->error != BLOOMFILE_EMAGIC || r->info.version == 1 || r->flip_count > 0);
}

static bool summary_matters(const struct inspect_report *r)
{
    bool cut_or_long = r->error == BLOOMFILE_ETRUNCATED || r->error == BLOOMFILE_ETRAILING;
    bool whole = r->info.header_size > 0 && r->have >= r->info.header_size;
    return r->depth >= INSPECT_HEADER || (cut_or_long && r->fault_count == 1 && whole);
}

/* The verdict and the advice may contain a file's name, so they are made safe too. */
static void put_verdict(FILE *out, const struct inspect_report *r, bool utf8)
{
    char *name = text_safe(r->path, strlen(r->path), utf8);
    char *verdict = text_safe(r->verdict, strlen(r->verdict), utf8);
    char *advice = text_safe(r->advice, strlen(r->advice), utf8);
    fprintf(out, "%s: %s\n", name, verdict);
    if (advice[0] != '\0')
        row(out, "advice", "%s", advice);
    free(name);
    free(verdict);
    free(advice);
}

void inspect_page(FILE *out, const struct inspect_report *r, const struct inspect_options *options)
{
    put_verdict(out, r, options->utf8);
    put_flips(out, r);
    if (summary_matters(r))
        put_summary(out, r, options->utf8);
    table_layers(out, r, options->utf8);
    if (options->fields || (fields_matter(r) && !summary_matters(r)))
        put_fields(out, r, options->utf8);
    if (r->map.fill != NULL)
        put_map(out, &r->map, options->utf8);
    for (size_t i = 0; i < r->layer_count; i++) {
        const struct inspect_layer *l = &r->layers[i];
        if (l->map.fill == NULL)
            continue;
        fprintf(out, "\n  layer %" PRIu64 "\n", l->info.layer);
        put_map(out, &l->map, options->utf8);
    }
}

void inspect_caption(char *text, size_t size, const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    const struct bloomfile_traits *traits = bloomfile_traits_of(info->layout);
    char m[SHORT], keys[SHORT], fill[2 * SHORT], real[SHORT], promised[SHORT] = "none";
    if (info->fpr > 0)
        cli_percent(promised, sizeof(promised), info->fpr);
    if (traits->solved)
        snprintf(fill, sizeof(fill), "%.2f columns", r->solution.columns.mean);
    else
        snprintf(fill, sizeof(fill), "k = %" PRIu32 ", fill %s", info->hashes,
                 cli_percent(real, sizeof(real), r->measure.fill));
    snprintf(text, size, "%s, %s %s%s, %s key%s; %s, actual rate %s, target %s", traits->name,
             text_count(m, sizeof(m), info->bits), traits->cell, cli_s(info->bits),
             text_count(keys, sizeof(keys), info->keys), cli_s(info->keys), fill,
             cli_percent(real, sizeof(real), r->measure.fpr), promised);
}
