/* SPDX-License-Identifier: MIT
 * The header, field by field, and as a hexdump. */
#include "bfinspect/inspect.h"

#include "shared/framing.h"

#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* format-spec.md, sections 4 and 5. Their checksums stand at the end, which depends on the header's
 * size. */
static const struct inspect_field static_fields[] = {
    { "magic", -1, 0, 8, INSPECT_RAW },        { "version", -1, 8, 4, INSPECT_U32 },
    { "header_size", -1, 12, 4, INSPECT_U32 }, { "compat", -1, 16, 4, INSPECT_U32 },
    { "ro_compat", -1, 20, 4, INSPECT_U32 },   { "incompat", -1, 24, 4, INSPECT_U32 },
    { "provenance", -1, 28, 4, INSPECT_U32 },  { "layout", -1, 32, 4, INSPECT_LAYOUT },
    { "hash_id", -1, 36, 4, INSPECT_U32 },     { "k", -1, 40, 4, INSPECT_U32 },
    { "framing", -1, 44, 4, INSPECT_FRAMING }, { "m", -1, 48, 8, INSPECT_U64 },
    { "seed", -1, 56, 8, INSPECT_HEX64 },      { "self_test", -1, 64, 8, INSPECT_HEX64 },
    { "body_offset", -1, 72, 8, INSPECT_U64 }, { "body_size", -1, 80, 8, INSPECT_U64 },
    { "capacity", -1, 88, 8, INSPECT_U64 },    { "fpr", -1, 96, 8, INSPECT_RATE },
    { "m_unfolded", -1, 104, 8, INSPECT_U64 }, { "tag", -1, 112, 16, INSPECT_RAW },
    { "label", -1, 128, 112, INSPECT_LABEL },
};
static const struct inspect_field record_fields[] = {
    { "sequence", 0, 0, 8, INSPECT_HEX64 },    { "state", 0, 8, 4, INSPECT_STATE },
    { "flags", 0, 12, 4, INSPECT_U32 },        { "n", 0, 16, 8, INSPECT_U64 },
    { "ones", 0, 24, 8, INSPECT_U64 },         { "overflow", 0, 32, 8, INSPECT_U64 },
    { "boot_id", 0, 40, 16, INSPECT_RAW },     { "body_crc", 0, 56, 4, INSPECT_HEX32 },
    { "header_crc", 0, 60, 4, INSPECT_HEX32 }, { "writers", 0, 64, 4, INSPECT_U32 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

uint64_t inspect_number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | bytes[size];
    return value;
}

/* A version that is not known has only these fields at known places. */
static bool keeps_place(const struct inspect_field *field)
{
    return field->offset < 16 || strcmp(field->name, "header_crc") == 0;
}

static void add(const struct inspect_report *r, struct inspect_field *fields, size_t *count,
                struct inspect_field field)
{
    bool foreign = r->error == BLOOMFILE_EVERSION && (field.record >= 0 || !keeps_place(&field));
    if (field.offset + field.size <= r->have && !foreign)
        fields[(*count)++] = field;
}

size_t inspect_fields(const struct inspect_report *r, struct inspect_field fields[INSPECT_FIELDS])
{
    const uint32_t size = r->info.header_size;
    size_t count = 0;
    for (size_t i = 0; i < COUNT(static_fields); i++)
        add(r, fields, &count, static_fields[i]);
    if (size != 512 && size != 4096)
        return count;
    add(r, fields, &count,
        (struct inspect_field){ "header_crc", -1, size / 2 - 4, 4, INSPECT_HEX32 });
    for (int record = 0; record < 2; record++) {
        uint32_t start = size / 2 + size / 4 * (uint32_t)record;
        for (size_t i = 0; i < COUNT(record_fields); i++) {
            struct inspect_field field = record_fields[i];
            field.record = record;
            field.offset += start;
            add(r, fields, &count, field);
        }
        add(r, fields, &count,
            (struct inspect_field){ "record_crc", record, start + size / 4 - 4, 4, INSPECT_HEX32 });
    }
    return count;
}

bool inspect_has_field(const struct inspect_report *r, const char *name)
{
    struct inspect_field fields[INSPECT_FIELDS];
    size_t count = inspect_fields(r, fields);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].record < 0 && strcmp(fields[i].name, name) == 0)
            return true;
    }
    return false;
}

char *inspect_field_at(const struct inspect_report *r, uint64_t offset, char *text, size_t size)
{
    struct inspect_field fields[INSPECT_FIELDS];
    size_t count = inspect_fields(r, fields);
    snprintf(text, size, "reserved bytes");
    for (size_t i = 0; i < count; i++) {
        const struct inspect_field *f = &fields[i];
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

char *inspect_field_text(const struct inspect_report *r, const struct inspect_field *field,
                         bool utf8, char *text, size_t size)
{
    const uint8_t *at = r->bytes + field->offset;
    uint64_t number = field->size <= 8 ? inspect_number(at, field->size) : 0;
    double rate;
    switch (field->kind) {
    case INSPECT_U32:
    case INSPECT_U64:
        snprintf(text, size, "%" PRIu64, number);
        break;
    case INSPECT_HEX32:
    case INSPECT_HEX64:
        snprintf(text, size, "0x%0*" PRIx64, 2 * (int)field->size, number);
        break;
    case INSPECT_RAW:
        raw_text(at, field->size, text, size);
        break;
    case INSPECT_RATE:
        memcpy(&rate, &number, sizeof(rate));
        text_double(text, size, rate);
        break;
    case INSPECT_LABEL:
        label_text(at, field->size, utf8, text, size);
        break;
    case INSPECT_LAYOUT:
        text_layout(text, size, (uint32_t)number);
        break;
    case INSPECT_STATE:
        text_state(text, size, (uint32_t)number);
        break;
    case INSPECT_FRAMING:
        framing_text(text, size, r->info.framing, r->info.framing_size);
        break;
    }
    return text;
}

const struct bloomfile_fault *inspect_field_fault(const struct inspect_report *r,
                                                  const struct inspect_field *field)
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
