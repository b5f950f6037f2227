/* SPDX-License-Identifier: MIT
 *
 * The description of a filter as JSON, in the names of bfinspect --report.
 *
 * SQL_PRINT(to, format, ...) is the database's own printf, which does not depend on the locale.
 */
#ifndef BLOOMFILE_SQL_INFO_H
#define BLOOMFILE_SQL_INFO_H

#include "filter.h"

/* Returns the kind of a filter's keys; unknown if a later version defines it. */
static inline uint32_t sql_kind(const struct bloomfile_info *info)
{
    return info->key_kind <= BLOOMFILE_KEYS_BYTES ? info->key_kind : BLOOMFILE_KEYS_UNKNOWN;
}

static inline const char *sql_kind_name(const struct bloomfile_info *info)
{
    return bloomfile_check_keys(info, BLOOMFILE_KEYS_TEXT, 0) == BLOOMFILE_EFEATURE
               ? "newer"
               : bloomfile_key_kind_name(info->key_kind);
}

/* Prints a label, which has no control characters. */
static inline void sql_print_label(SQL_OUTPUT *to, const char *label)
{
    for (; *label; label++)
        SQL_PRINT(to, *label == '"' || *label == '\\' ? "\\%.1s" : "%.1s", label);
}

static inline void sql_print_sizes(SQL_OUTPUT *to, const struct bloomfile_info *info)
{
    SQL_PRINT(to, "\"n\":%llu,\"m\":%llu,\"k\":%u", (unsigned long long)info->keys,
              (unsigned long long)info->bits, info->hashes);
}

/* Prints the layers of a series, the oldest first; null for another filter. */
static inline void sql_print_layers(SQL_OUTPUT *to, const bloomfile_filter *f)
{
    const size_t count = bloomfile_layers(f);
    SQL_PRINT(to, count > 0 ? ",\"layers\":[" : ",\"layers\":null");
    for (size_t i = 0; i < count; i++) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        if (bloomfile_get_info(bloomfile_layer(f, i), &info) != 0)
            continue;
        SQL_PRINT(to, i > 0 ? ",{" : "{");
        sql_print_sizes(to, &info);
        SQL_PRINT(to, "}");
    }
    if (count > 0)
        SQL_PRINT(to, "]");
}

static inline void sql_print_info(SQL_OUTPUT *to, const struct sql_filter *f)
{
    const struct bloomfile_info *info = &f->info;
    SQL_PRINT(to, "{\"layout\":\"%s\",", bloomfile_layout_name(info->layout));
    sql_print_sizes(to, info);
    SQL_PRINT(to, ",\"capacity\":%llu,\"fpr\":%.15g", (unsigned long long)info->capacity,
              info->fpr);
    SQL_PRINT(to, ",\"key_kind\":\"%s\",\"key_size\":%u", sql_kind_name(info), info->key_size);
    SQL_PRINT(to, ",\"seed\":\"%016llx\",\"header_size\":%u,\"size\":%llu",
              (unsigned long long)info->seed, info->header_size,
              (unsigned long long)info->image_size);
    SQL_PRINT(to, ",\"label\":\"");
    sql_print_label(to, info->label);
    SQL_PRINT(to, "\"");
    sql_print_layers(to, f->handle);
    SQL_PRINT(to, "}");
}

#endif
