/* SPDX-License-Identifier: MIT
 * The report as JSON. */
#include "bfinspect/inspect.h"
#include "filters/key_kind.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Adds text unchanged if it is UTF-8, and otherwise with escapes. */
static void put_words(json *object, const char *key, const char *words)
{
    char *safe = text_is_utf8(words, strlen(words)) ? NULL : text_safe(words, strlen(words), true);
    json_put_text(object, key, safe != NULL ? safe : words);
    free(safe);
}

static void put_label(json *object, const char *key, const uint8_t *label, size_t size)
{
    char *text = text_reversible(label, inspect_label_size(label, size));
    json_put_text(object, key, text);
    free(text);
}

/* ------------------------------------------------------------------------------------ the parts */

static void put_field(json *object, const struct inspect_report *r,
                      const struct bloomfile_field *field)
{
    const uint8_t *at = r->bytes + field->offset;
    uint64_t number = field->size <= 8 ? inspect_number(at, field->size) : 0;
    char text[512];
    double rate;
    switch (field->kind) {
    case BLOOMFILE_FIELD_HEX:
        snprintf(text, sizeof(text), "%0*" PRIx64, 2 * (int)field->size, number);
        json_put_text(object, field->name, text);
        break;
    case BLOOMFILE_FIELD_LAYOUT:
    case BLOOMFILE_FIELD_STATE:
        json_put_text(object, field->name, inspect_field_text(r, field, true, text, sizeof(text)));
        break;
    case BLOOMFILE_FIELD_KEY_KIND:
        json_put_text(object, "key_kind", key_kind_name(&r->info));
        json_put_count(object, "key_size", r->info.key_size);
        break;
    case BLOOMFILE_FIELD_REAL:
        memcpy(&rate, &number, sizeof(rate));
        json_put_double(object, field->name, rate);
        break;
    case BLOOMFILE_FIELD_BYTES:
        json_put_hex(object, field->name, at, field->size);
        break;
    case BLOOMFILE_FIELD_TEXT:
        put_label(object, field->name, at, field->size);
        break;
    default:
        json_put_count(object, field->name, number);
    }
}

static void put_header(json *object, const struct inspect_report *r)
{
    json *header = json_new();
    json *records = json_new_array();
    json *into = header;
    for (size_t i = 0; i < r->field_count; i++) {
        const struct bloomfile_field *field = &r->fields[i];
        if (field->record >= 0 && field[-1].record != field->record) {
            into = json_new();
            json_append(records, into);
        }
        put_field(into, r, field);
    }
    json_put(object, "header", header);
    json_put(object, "records", records);
}

/* The commit record in force. */
static void put_record(json *object, const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    char text[40];
    if (r->depth < INSPECT_HEADER) {
        json_put_null(object, "record");
        return;
    }
    json *record = json_new();
    snprintf(text, sizeof(text), "%016" PRIx64, info->sequence);
    json_put_text(record, "sequence", text);
    json_put_text(record, "state", text_state(text, sizeof(text), info->state));
    json_put_bool(record, "n_estimated", info->keys_estimated != 0);
    json_put_count(record, "n", info->keys);
    json_put_count(record, "ones", info->ones);
    json_put_count(record, "overflow", info->overflow);
    json_put_hex(record, "boot_id", info->boot_id, sizeof(info->boot_id));
    json_put_hex(record, "identity", info->identity, sizeof(info->identity));
    json_put_hex(record, "watermark", info->watermark, sizeof(info->watermark));
    json_put_count(record, "writers", info->writers);
    json_put_crc(record, "body_crc", info->body_crc);
    json_put(object, "record", record);
}

static void put_live(json *object, const struct inspect_report *r)
{
    if (r->depth < INSPECT_HEADER || r->info.state != BLOOMFILE_STATE_LIVE) {
        json_put_null(object, "live");
        return;
    }
    json *live = json_new();
    json_put_bool(live, "in_use", r->in_use);
    json_put_bool(live, "unclean", r->unclean);
    json_put(object, "live", live);
}

static void put_faults(json *object, const struct inspect_report *r)
{
    json *faults = json_new_array();
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct bloomfile_fault *f = &r->faults[i];
        json *fault = json_new();
        json_put_text(fault, "error", bloomfile_errname(f->error));
        json_put_text(fault, "field", f->field);
        json_put_count(fault, "offset", f->offset);
        if (f->page != UINT64_MAX)
            json_put_count(fault, "page", f->page);
        json_put_text(fault, "text", bloomfile_strerror(f->error));
        json_append(faults, fault);
    }
    json_put(object, "faults", faults);
}

static void put_flips(json *object, const struct inspect_report *r)
{
    json *flips = json_new_array();
    for (size_t i = 0; i < r->flip_count; i++) {
        char field[64];
        json *flip = json_new();
        json_put_count(flip, "offset", r->flips[i].offset);
        json_put_count(flip, "bit", r->flips[i].bit);
        json_put_text(flip, "field", inspect_field_at(r, r->flips[i].offset, field, sizeof(field)));
        json_append(flips, flip);
    }
    json_put(object, "flipped_bits", flips);
}

static void put_range(json *object, const char *key, const struct inspect_range *range)
{
    json *three = json_new();
    json_put_double(three, "least", range->least);
    json_put_double(three, "most", range->most);
    json_put_double(three, "mean", range->mean);
    json_put(object, key, three);
}

static void put_solution(json *object, const struct inspect_solution *s)
{
    if (s->pages == 0) {
        json_put_null(object, "solution");
        return;
    }
    json *solution = json_new();
    json_put_count(solution, "pages", s->pages);
    json_put_count(solution, "lines", s->lines);
    json_put_count(solution, "unsolved", s->unsolved);
    json_put_count(solution, "reseeded", s->reseeded);
    json_put_count(solution, "enlarged", s->enlarged);
    put_range(solution, "groups", &s->groups);
    put_range(solution, "columns", &s->columns);
    json_put(object, "solution", solution);
}

static void put_layer(json *array, const struct inspect_layer *l)
{
    json *layer = json_new();
    json_put_count(layer, "layer", l->info.layer);
    if (l->name != NULL)
        json_put_name(layer, "file", l->name);
    else
        json_put_null(layer, "file");
    json_put_count(layer, "offset", l->at);
    json_put_count(layer, "size", l->info.image_size);
    json_put_count(layer, "capacity", l->info.capacity);
    json_put_double(layer, "fpr", l->info.fpr);
    json_put_count(layer, "m", l->info.bits);
    json_put_count(layer, "k", l->info.hashes);
    json_put_count(layer, "n", l->info.keys);
    json_put_bool(layer, "n_estimated", l->info.keys_estimated != 0);
    json_put_count(layer, "ones", l->info.ones);
    json_put_bool(layer, "in_use", l->in_use);
    report_put_measure(layer, l->measured ? &l->measure : NULL);
    json_put_bool(layer, "verified", l->verified);
    json_put_count(layer, "bad_pages", l->info.bad_pages);
    if (l->error != 0)
        json_put_text(layer, "error", bloomfile_errname(l->error));
    else
        json_put_null(layer, "error");
    json_append(array, layer);
}

static void put_layers(json *object, const struct inspect_report *r)
{
    if (r->layer_count == 0) {
        json_put_null(object, "layers");
        return;
    }
    json *layers = json_new_array();
    for (size_t i = 0; i < r->layer_count; i++)
        put_layer(layers, &r->layers[i]);
    json_put(object, "layers", layers);
}

static void put_keys(json *object, const struct inspect_report *r)
{
    if (!r->keys_checked) {
        json_put_null(object, "keys");
        return;
    }
    json *keys = json_new();
    json *first = json_new_array();
    json_put_count(keys, "checked", r->keys_count);
    json_put_count(keys, "own", r->keys_own);
    json_put_count(keys, "missing", r->keys_missing);
    for (size_t i = 0; i < INSPECT_MISSING && r->missing[i] != NULL; i++)
        json_append(first, json_new_text(r->missing[i]));
    json_put(keys, "first_missing", first);
    json_put(object, "keys", keys);
}

static void put_verdict(json *object, const struct inspect_report *r)
{
    json_put_name(object, "file", r->path);
    put_words(object, "verdict", r->verdict);
    json_put_bool(object, "ok", r->status == INSPECT_HEALTHY);
    json_put_count(object, "status", (uint64_t)r->status);
    if (r->error != 0)
        json_put_text(object, "error", bloomfile_errname(r->error));
    else
        json_put_null(object, "error");
    put_words(object, "advice", r->advice);
}

json *inspect_json(const struct inspect_report *r)
{
    json *object = json_new();
    put_verdict(object, r);
    put_faults(object, r);
    put_flips(object, r);
    json_put_count(object, "size", r->size);
    put_header(object, r);
    put_record(object, r);
    put_live(object, r);
    report_put_measure(object, r->measured ? &r->measure : NULL);
    put_solution(object, &r->solution);
    json_put_bool(object, "verified", r->verified);
    json_put_count(object, "bad_pages", r->info.bad_pages);
    put_keys(object, r);
    put_layers(object, r);
    return object;
}
