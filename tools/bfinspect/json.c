/* SPDX-License-Identifier: MIT
 * The report as JSON. */
#include "bfinspect/inspect.h"
#include "filters/key_kind.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct json_object json;

/* ------------------------------------------------------------- values; `value` becomes the
 * parent's */

static json *checked(json *value)
{
    if (value == NULL)
        text_no_memory();
    return value;
}

static void put(json *object, const char *key, json *value)
{
    if (json_object_object_add(object, key, value) != 0)
        text_no_memory();
}

static void append(json *array, json *value)
{
    if (json_object_array_add(array, value) != 0)
        text_no_memory();
}

static void put_null(json *object, const char *key)
{
    put(object, key, NULL);
}

static void put_text(json *object, const char *key, const char *text)
{
    put(object, key, checked(json_object_new_string(text)));
}

static void put_count(json *object, const char *key, uint64_t count)
{
    put(object, key, checked(json_object_new_uint64(count)));
}

static void put_bool(json *object, const char *key, bool value)
{
    put(object, key, checked(json_object_new_boolean(value)));
}

/* JSON has no word for infinity and NaN. */
static void put_double(json *object, const char *key, double value)
{
    char text[40];
    if (!isfinite(value))
        put_null(object, key);
    else
        put(object, key,
            checked(json_object_new_double_s(value, text_double(text, sizeof(text), value))));
}

static void put_hex(json *object, const char *key, const uint8_t *bytes, size_t size)
{
    char text[2 * BLOOMFILE_WATERMARK_SIZE + 1] = ""; /* no field is longer */
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    put_text(object, key, text);
}

/* Of a file: different names are different texts, whatever bytes they have. */
static void put_name(json *object, const char *key, const char *name)
{
    char *text = text_reversible(name, strlen(name));
    put_text(object, key, text);
    free(text);
}

/* As it is, but for the bytes of one that is not UTF-8. */
static void put_words(json *object, const char *key, const char *words)
{
    char *safe = text_is_utf8(words, strlen(words)) ? NULL : text_safe(words, strlen(words), true);
    put_text(object, key, safe != NULL ? safe : words);
    free(safe);
}

static void put_label(json *object, const char *key, const uint8_t *label, size_t size)
{
    char *text = text_reversible(label, inspect_label_size(label, size));
    put_text(object, key, text);
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
        put_text(object, field->name, text);
        break;
    case BLOOMFILE_FIELD_LAYOUT:
    case BLOOMFILE_FIELD_STATE:
        put_text(object, field->name, inspect_field_text(r, field, true, text, sizeof(text)));
        break;
    case BLOOMFILE_FIELD_KEY_KIND:
        put_text(object, "key_kind", key_kind_name(&r->info));
        put_count(object, "key_size", r->info.key_size);
        break;
    case BLOOMFILE_FIELD_REAL:
        memcpy(&rate, &number, sizeof(rate));
        put_double(object, field->name, rate);
        break;
    case BLOOMFILE_FIELD_BYTES:
        put_hex(object, field->name, at, field->size);
        break;
    case BLOOMFILE_FIELD_TEXT:
        put_label(object, field->name, at, field->size);
        break;
    default:
        put_count(object, field->name, number);
    }
}

static void put_header(json *object, const struct inspect_report *r)
{
    json *header = checked(json_object_new_object());
    json *records = checked(json_object_new_array());
    json *into = header;
    for (size_t i = 0; i < r->field_count; i++) {
        const struct bloomfile_field *field = &r->fields[i];
        if (field->record >= 0 && field[-1].record != field->record) {
            into = checked(json_object_new_object());
            append(records, into);
        }
        put_field(into, r, field);
    }
    put(object, "header", header);
    put(object, "records", records);
}

/* The commit record in force. */
static void put_record(json *object, const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    char text[40];
    if (r->depth < INSPECT_HEADER) {
        put_null(object, "record");
        return;
    }
    json *record = checked(json_object_new_object());
    snprintf(text, sizeof(text), "%016" PRIx64, info->sequence);
    put_text(record, "sequence", text);
    put_text(record, "state", text_state(text, sizeof(text), info->state));
    put_bool(record, "n_estimated", info->keys_estimated != 0);
    put_count(record, "n", info->keys);
    put_count(record, "ones", info->ones);
    put_count(record, "overflow", info->overflow);
    put_hex(record, "boot_id", info->boot_id, sizeof(info->boot_id));
    put_hex(record, "identity", info->identity, sizeof(info->identity));
    put_hex(record, "watermark", info->watermark, sizeof(info->watermark));
    put_count(record, "writers", info->writers);
    snprintf(text, sizeof(text), "%08" PRIx32, info->body_crc);
    put_text(record, "body_crc", text);
    put(object, "record", record);
}

static void put_live(json *object, const struct inspect_report *r)
{
    if (r->depth < INSPECT_HEADER || r->info.state != BLOOMFILE_STATE_LIVE) {
        put_null(object, "live");
        return;
    }
    json *live = checked(json_object_new_object());
    put_bool(live, "in_use", r->in_use);
    put_bool(live, "unclean", r->unclean);
    put(object, "live", live);
}

static void put_faults(json *object, const struct inspect_report *r)
{
    json *faults = checked(json_object_new_array());
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct bloomfile_fault *f = &r->faults[i];
        json *fault = checked(json_object_new_object());
        put_text(fault, "error", bloomfile_errname(f->error));
        put_text(fault, "field", f->field);
        put_count(fault, "offset", f->offset);
        if (f->page != UINT64_MAX)
            put_count(fault, "page", f->page);
        put_text(fault, "text", bloomfile_strerror(f->error));
        append(faults, fault);
    }
    put(object, "faults", faults);
}

static void put_flips(json *object, const struct inspect_report *r)
{
    json *flips = checked(json_object_new_array());
    for (size_t i = 0; i < r->flip_count; i++) {
        char field[64];
        json *flip = checked(json_object_new_object());
        put_count(flip, "offset", r->flips[i].offset);
        put_count(flip, "bit", r->flips[i].bit);
        put_text(flip, "field", inspect_field_at(r, r->flips[i].offset, field, sizeof(field)));
        append(flips, flip);
    }
    put(object, "flipped_bits", flips);
}

static void put_measure(json *object, const struct bloomfile_measurement *m, bool measured)
{
    if (!measured) {
        put_null(object, "measure");
        return;
    }
    json *measure = checked(json_object_new_object());
    put_count(measure, "ones", m->ones);
    put_double(measure, "fill", m->fill);
    put_double(measure, "fpr", m->fpr);
    put_double(measure, "keys_estimate", m->keys_estimate);
    put(object, "measure", measure);
}

static void put_range(json *object, const char *key, const struct inspect_range *range)
{
    json *three = checked(json_object_new_object());
    put_double(three, "least", range->least);
    put_double(three, "most", range->most);
    put_double(three, "mean", range->mean);
    put(object, key, three);
}

static void put_solution(json *object, const struct inspect_solution *s)
{
    if (s->pages == 0) {
        put_null(object, "solution");
        return;
    }
    json *solution = checked(json_object_new_object());
    put_count(solution, "pages", s->pages);
    put_count(solution, "lines", s->lines);
    put_count(solution, "unsolved", s->unsolved);
    put_count(solution, "reseeded", s->reseeded);
    put_count(solution, "enlarged", s->enlarged);
    put_range(solution, "groups", &s->groups);
    put_range(solution, "columns", &s->columns);
    put(object, "solution", solution);
}

static void put_layer(json *array, const struct inspect_layer *l)
{
    json *layer = checked(json_object_new_object());
    put_count(layer, "layer", l->info.layer);
    if (l->name != NULL)
        put_name(layer, "file", l->name);
    else
        put_null(layer, "file");
    put_count(layer, "offset", l->at);
    put_count(layer, "size", l->info.image_size);
    put_count(layer, "capacity", l->info.capacity);
    put_double(layer, "fpr", l->info.fpr);
    put_count(layer, "m", l->info.bits);
    put_count(layer, "k", l->info.hashes);
    put_count(layer, "n", l->info.keys);
    put_bool(layer, "n_estimated", l->info.keys_estimated != 0);
    put_count(layer, "ones", l->info.ones);
    put_bool(layer, "in_use", l->in_use);
    put_measure(layer, &l->measure, l->measured);
    put_bool(layer, "verified", l->verified);
    put_count(layer, "bad_pages", l->info.bad_pages);
    if (l->error != 0)
        put_text(layer, "error", bloomfile_errname(l->error));
    else
        put_null(layer, "error");
    append(array, layer);
}

static void put_layers(json *object, const struct inspect_report *r)
{
    if (r->layer_count == 0) {
        put_null(object, "layers");
        return;
    }
    json *layers = checked(json_object_new_array());
    for (size_t i = 0; i < r->layer_count; i++)
        put_layer(layers, &r->layers[i]);
    put(object, "layers", layers);
}

static void put_keys(json *object, const struct inspect_report *r)
{
    if (!r->keys_checked) {
        put_null(object, "keys");
        return;
    }
    json *keys = checked(json_object_new_object());
    json *first = checked(json_object_new_array());
    put_count(keys, "checked", r->keys_count);
    put_count(keys, "own", r->keys_own);
    put_count(keys, "missing", r->keys_missing);
    for (size_t i = 0; i < INSPECT_MISSING && r->missing[i] != NULL; i++)
        append(first, checked(json_object_new_string(r->missing[i])));
    put(keys, "first_missing", first);
    put(object, "keys", keys);
}

static void put_verdict(json *object, const struct inspect_report *r)
{
    put_name(object, "file", r->path);
    put_words(object, "verdict", r->verdict);
    put_bool(object, "ok", r->status == INSPECT_HEALTHY);
    put_count(object, "status", (uint64_t)r->status);
    if (r->error != 0)
        put_text(object, "error", bloomfile_errname(r->error));
    else
        put_null(object, "error");
    put_words(object, "advice", r->advice);
}

void inspect_json(FILE *out, const struct inspect_report *r)
{
    json *object = checked(json_object_new_object());
    put_verdict(object, r);
    put_faults(object, r);
    put_flips(object, r);
    put_count(object, "size", r->size);
    put_header(object, r);
    put_record(object, r);
    put_live(object, r);
    put_measure(object, &r->measure, r->measured);
    put_solution(object, &r->solution);
    put_bool(object, "verified", r->verified);
    put_count(object, "bad_pages", r->info.bad_pages);
    put_keys(object, r);
    put_layers(object, r);
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text == NULL)
        text_no_memory();
    fprintf(out, "%s\n", text);
    json_object_put(object);
}
