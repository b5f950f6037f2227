/* SPDX-License-Identifier: MIT
 * The fields of a header as text, and their faults. */
#include "bfinspect/inspect.h"

#include "filters/key_kind.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t inspect_number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | bytes[size];
    return value;
}

/* Whether the field is at the same place in every version, known or not. */
static bool keeps_place(const struct bloomfile_field *field)
{
    static const char *const names[] = { "magic", "version", "header_size", "header_crc" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (field->record < 0 && strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

void inspect_list_fields(struct inspect_report *r)
{
    const size_t all = bloomfile_fields(r->info.header_size, r->info.incompat, NULL, 0);
    r->fields = calloc(all, sizeof(*r->fields));
    if (r->fields == NULL)
        text_no_memory();
    bloomfile_fields(r->info.header_size, r->info.incompat, r->fields, all);
    r->field_count = 0;
    for (size_t i = 0; i < all; i++) {
        const struct bloomfile_field field = r->fields[i];
        const bool foreign = r->error == BLOOMFILE_EVERSION && !keeps_place(&field);
        if (field.offset + field.size <= r->have && !foreign)
            r->fields[r->field_count++] = field;
    }
}

bool inspect_has_field(const struct inspect_report *r, const char *name)
{
    for (size_t i = 0; i < r->field_count; i++)
        if (r->fields[i].record < 0 && strcmp(r->fields[i].name, name) == 0)
            return true;
    return false;
}

char *inspect_field_at(const struct inspect_report *r, uint64_t offset, char *text, size_t size)
{
    snprintf(text, size, "reserved bytes");
    for (size_t i = 0; i < r->field_count; i++) {
        const struct bloomfile_field *f = &r->fields[i];
        if (offset < f->offset || offset - f->offset >= f->size)
            continue;
        if (f->record < 0)
            snprintf(text, size, "%s", f->name);
        else
            snprintf(text, size, "%s of record %d", f->name, f->record);
    }
    return text;
}

static void raw_text(const uint8_t *bytes, size_t count, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%02X", i > 0 ? " " : "", bytes[i]);
}

size_t inspect_label_size(const uint8_t *label, size_t size)
{
    while (size > 0 && label[size - 1] == 0)
        size--;
    return size;
}

static void label_text(const uint8_t *bytes, size_t length, bool utf8, char *text, size_t size)
{
    char *safe = text_safe(bytes, inspect_label_size(bytes, length), utf8);
    snprintf(text, size, "%s", safe);
    free(safe);
}

char *inspect_field_text(const struct inspect_report *r, const struct bloomfile_field *field,
                         bool utf8, char *text, size_t size)
{
    const uint8_t *at = r->bytes + field->offset;
    uint64_t number = field->size <= 8 ? inspect_number(at, field->size) : 0;
    char kind[KEY_KIND_ROOM];
    double rate;
    switch (field->kind) {
    case BLOOMFILE_FIELD_HEX:
        snprintf(text, size, "0x%0*" PRIx64, 2 * (int)field->size, number);
        break;
    case BLOOMFILE_FIELD_LAYOUT:
        text_layout(text, size, (uint32_t)number);
        break;
    case BLOOMFILE_FIELD_STATE:
        text_state(text, size, (uint32_t)number);
        break;
    case BLOOMFILE_FIELD_KEY_KIND:
        snprintf(text, size, "%s", key_kind_text(kind, &r->info));
        break;
    case BLOOMFILE_FIELD_REAL:
        memcpy(&rate, &number, sizeof(rate));
        text_double(text, size, rate);
        break;
    case BLOOMFILE_FIELD_BYTES:
        raw_text(at, field->size, text, size);
        break;
    case BLOOMFILE_FIELD_TEXT:
        label_text(at, field->size, utf8, text, size);
        break;
    default:
        snprintf(text, size, "%" PRIu64, number);
    }
    return text;
}

const struct bloomfile_fault *inspect_field_fault(const struct inspect_report *r,
                                                  const struct bloomfile_field *field)
{
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct bloomfile_fault *fault = &r->faults[i];
        bool in_header =
            fault->error != BLOOMFILE_ETRUNCATED && fault->error != BLOOMFILE_ETRAILING;
        if (in_header && fault->offset >= field->offset &&
            fault->offset - field->offset < field->size)
            return fault;
    }
    return NULL;
}
