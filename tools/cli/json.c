/* SPDX-License-Identifier: MIT
 * JSON objects, built with json-c. */
#include "cli/json.h"
#include "cli/text.h"

#include <bloomfile.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json *checked(json *value)
{
    if (value == NULL)
        text_no_memory();
    return value;
}

json *json_new(void)
{
    return checked(json_object_new_object());
}

json *json_new_array(void)
{
    return checked(json_object_new_array());
}

json *json_new_text(const char *text)
{
    return checked(json_object_new_string(text));
}

void json_put(json *object, const char *key, json *value)
{
    if (json_object_object_add(object, key, value) != 0)
        text_no_memory();
}

void json_append(json *array, json *value)
{
    if (json_object_array_add(array, value) != 0)
        text_no_memory();
}

void json_put_null(json *object, const char *key)
{
    json_put(object, key, NULL);
}

void json_put_text(json *object, const char *key, const char *text)
{
    json_put(object, key, json_new_text(text));
}

void json_put_count(json *object, const char *key, uint64_t count)
{
    json_put(object, key, checked(json_object_new_uint64(count)));
}

void json_put_bool(json *object, const char *key, bool value)
{
    json_put(object, key, checked(json_object_new_boolean(value)));
}

/* JSON cannot represent infinity or NaN. */
void json_put_double(json *object, const char *key, double value)
{
    char text[40];
    json *number = NULL;
    if (isfinite(value))
        number = checked(json_object_new_double_s(value, text_double(text, sizeof(text), value)));
    json_put(object, key, number);
}

void json_put_hex(json *object, const char *key, const uint8_t *bytes, size_t size)
{
    char text[2 * BLOOMFILE_WATERMARK_SIZE + 1] = ""; /* the longest field */
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    json_put_text(object, key, text);
}

void json_put_crc(json *object, const char *key, uint32_t crc)
{
    char text[9];
    snprintf(text, sizeof(text), "%08" PRIx32, crc);
    json_put_text(object, key, text);
}

void json_put_name(json *object, const char *key, const char *name)
{
    char *text = text_reversible(name, strlen(name));
    json_put_text(object, key, text);
    free(text);
}

char *json_line(json *object, size_t *size)
{
    char *line;
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE);
    const int n = text != NULL ? asprintf(&line, "%s\n", text) : -1;
    if (n < 0)
        text_no_memory();
    json_object_put(object);
    *size = (size_t)n;
    return line;
}
