/* SPDX-License-Identifier: MIT
 * The report's section about a series: its kind, and a line for each layer. */
#include "bfinspect/inspect.h"

#include "cli/cli.h"
#include "filters/series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SHORT = 64
};

/* "7 days", "90 seconds". Returns text. */
static char *duration(char *text, size_t size, uint64_t seconds)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
    size_t i = 0;
    while (seconds % units[i].seconds != 0)
        i++;
    const uint64_t count = seconds / units[i].seconds;
    snprintf(text, size, "%" PRIu64 " %s%s", count, units[i].name, cli_s(count));
    return text;
}

static void put_period(FILE *out, const struct bloomfile_info *newest)
{
    char text[SHORT], began[SHORT] = "some time";
    const time_t time = (time_t)newest->began;
    struct tm utc;
    if (newest->period == 0)
        return;
    if (gmtime_r(&time, &utc) != NULL)
        strftime(began, sizeof(began), "%Y-%m-%d %H:%M:%S UTC", &utc);
    fprintf(out, "  %-13s %s at most, the last one since %s\n", "a generation",
            duration(text, sizeof(text), newest->period), began);
}

void table_kind(FILE *out, const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    if (info->series == 0 && info->layers == 0)
        return;
    fprintf(out, "  %-13s ", "series");
    if (r->layer_count == 0) {
        fprintf(out, "the rest describes layer %" PRIu64 " only", info->layer);
        if (info->series == 0)
            fprintf(out, ", of %" PRIu32, info->layers);
    } else if (info->series == 0) {
        fprintf(out, "%zu layer%s, sealed", r->layer_count, cli_s(r->layer_count));
    } else if (info->generations == 0) {
        fprintf(out, "it grows, %zu layer%s so far", r->layer_count, cli_s(r->layer_count));
    } else {
        fprintf(out, "it forgets, %zu of %" PRIu32 " generations, number %" PRIu64 " to %" PRIu64,
                r->layer_count, info->generations, r->layers[0].info.layer,
                r->layers[r->layer_count - 1].info.layer);
    }
    fputc('\n', out);
    if (r->layer_count > 0)
        put_period(out, &r->layers[r->layer_count - 1].info);
}

char *table_hashes(char *text, size_t size, const struct inspect_report *r)
{
    uint32_t least = r->info.hashes, most = least;
    for (size_t i = 0; i < r->layer_count; i++) {
        const uint32_t k = r->layers[i].info.hashes;
        least = k < least ? k : least;
        most = k > most ? k : most;
    }
    if (least == most)
        snprintf(text, size, "%" PRIu32, least);
    else
        snprintf(text, size, "%" PRIu32 " to %" PRIu32, least, most);
    return text;
}

/* The place of a layer: its file's name without the folder, or its offset. */
static const char *place(const struct inspect_layer *l, char text[SHORT])
{
    if (l->name == NULL) {
        snprintf(text, SHORT, "%" PRIu64, l->at);
        return text;
    }
    const char *slash = strrchr(l->name, '/');
    return slash != NULL ? slash + 1 : l->name;
}

static const char *state(const struct inspect_layer *l, char text[SHORT])
{
    if (l->info.state == BLOOMFILE_STATE_POISONED)
        return "poisoned";
    if (l->info.bad_pages > 0)
        snprintf(text, SHORT, "%" PRIu64 " of %" PRIu64 " page%s bad", l->info.bad_pages,
                 l->info.pages, cli_s(l->info.pages));
    else if (l->error != 0)
        snprintf(text, SHORT, "damaged");
    else if (l->info.state == BLOOMFILE_STATE_LIVE)
        return l->in_use ? "open for writing" : inspect_is_clean(&l->info) ? "clean" : "not clean";
    else
        return l->verified ? "good" : "not verified";
    return text;
}

static void put_layer(FILE *out, const struct inspect_layer *l, const char *name, int width)
{
    char keys[SHORT], capacity[SHORT], fill[SHORT] = "-", real[SHORT] = "-", promised[SHORT] = "-";
    char size[SHORT], text[SHORT];
    if (l->measured) {
        cli_percent(fill, sizeof(fill), l->measure.fill);
        cli_percent(real, sizeof(real), l->measure.fpr);
    }
    if (l->info.fpr > 0)
        cli_percent(promised, sizeof(promised), l->info.fpr);
    fprintf(out, "  %5" PRIu64 "  %-*s %14s %14s %7s %11s %10s %3" PRIu32 " %11s  %s\n",
            l->info.layer, width, name, text_count(keys, sizeof(keys), l->info.keys),
            text_count(capacity, sizeof(capacity), l->info.capacity), fill, real, promised,
            l->info.hashes, cli_bytes(size, sizeof(size), l->info.image_size), state(l, text));
}

void table_layers(FILE *out, const struct inspect_report *r, bool utf8)
{
    char text[SHORT];
    const bool live = r->layer_count > 0 && r->layers[0].name != NULL;
    const char *title = live ? "file" : "at byte";
    size_t width = strlen(title);
    if (r->layer_count == 0)
        return;
    for (int print = 0; print < 2; print++) {
        if (print)
            fprintf(out, "\n  layer  %-*s %14s %14s %7s %11s %10s %3s %11s  %s\n", (int)width,
                    title, "keys", "sized for", "fill", "actual rate", "target", "k", "size",
                    live ? "state" : "body");
        for (size_t i = 0; i < r->layer_count; i++) {
            const struct inspect_layer *l = &r->layers[i];
            const char *name = place(l, text);
            char *safe = text_safe(name, strlen(name), utf8);
            if (print)
                put_layer(out, l, safe, (int)width);
            else
                width = strlen(safe) > width ? strlen(safe) : width;
            free(safe);
        }
    }
}
