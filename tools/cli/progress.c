/* SPDX-License-Identifier: MIT
 * The progress line: the current work, how much of it is done, and the time left. */
#include "cli/cli.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_SIZE = 512,
    SHOW_EVERY_NS = 200 * 1000 * 1000
};

static int64_t now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000 * 1000 * 1000 + t.tv_nsec;
}

static int terminal_columns(void)
{
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col < 20)
        return 80;
    return window.ws_col;
}

/* "0:07", "12:34", "1:23:45". Returns buffer. */
static char *time_left(char *buffer, size_t size, double seconds)
{
    unsigned long long left = seconds < 1e12 ? (unsigned long long)seconds : 1000000000000;
    unsigned long long hours = left / 3600, minutes = left / 60 % 60;
    if (hours > 0)
        snprintf(buffer, size, "%llu:%02llu:%02llu", hours, minutes, left % 60);
    else
        snprintf(buffer, size, "%llu:%02llu", minutes, left % 60);
    return buffer;
}

/* The parts of a progress line, in order. A part that is not known is empty. */
enum {
    PART_KEYS,
    PART_DONE,
    PART_TOTAL,
    PART_KEY_RATE,
    PART_BYTE_RATE,
    PART_LEFT,
    PARTS
};
typedef char parts[PARTS][64];

static void describe(const struct cli_progress *p, int64_t now, parts part)
{
    char text[32];
    double seconds = (double)(now - p->started_ns) / 1e9;
    bool measured = seconds > 0.1, known = p->total >= p->bytes && p->bytes > 0;
    const size_t size = sizeof(part[0]);
    memset(part, 0, sizeof(parts));
    snprintf(part[PART_KEYS], size, "%.1f M keys", (double)p->keys / 1e6);
    if (known) {
        snprintf(part[PART_DONE], size, ", %d%%",
                 (int)(100.0 * (double)p->bytes / (double)p->total));
        snprintf(part[PART_TOTAL], size, " of %s", cli_bytes(text, sizeof(text), p->total));
    } else {
        snprintf(part[PART_DONE], size, ", %s", cli_bytes(text, sizeof(text), p->bytes));
    }
    if (!measured)
        return;
    snprintf(part[PART_KEY_RATE], size, ", %.1f M/s", (double)p->keys / seconds / 1e6);
    snprintf(part[PART_BYTE_RATE], size, ", %s/s",
             cli_bytes(text, sizeof(text), (uint64_t)((double)p->bytes / seconds)));
    if (known)
        snprintf(part[PART_LEFT], size, ", %s left",
                 time_left(text, sizeof(text),
                           seconds * (double)(p->total - p->bytes) / (double)p->bytes));
}

static size_t length_of(parts part)
{
    size_t length = 0;
    for (int i = 0; i < PARTS; i++)
        length += strlen(part[i]);
    return length;
}

/* "12.3 M keys, 45% of 1.2 GiB, 6.7 M/s, 400.1 MiB/s, 0:02 left: urls.txt". If the line does not
 * fit `columns`, the name is cut first. Then parts are dropped in the order of `expendable`. The
 * time left is always kept. */
static void put_together(const struct cli_progress *p, int64_t now, size_t columns, char *text,
                         size_t size)
{
    static const int expendable[] = { PART_BYTE_RATE, PART_KEY_RATE, PART_TOTAL, PART_KEYS,
                                      PART_DONE };
    parts part;
    if (p->bytes == 0 && p->keys == 0) {
        snprintf(text, size, "%s", p->doing);
        return;
    }
    describe(p, now, part);
    for (size_t i = 0; length_of(part) > columns && i < sizeof(expendable) / sizeof(int); i++)
        part[expendable[i]][0] = '\0';
    text[0] = '\0';
    for (int i = 0; i < PARTS; i++)
        strlcat(text, text[0] == '\0' && part[i][0] == ',' ? part[i] + 2 : part[i], size);
    if (strlen(text) + strlen(": ") < columns) {
        strlcat(text, ": ", size);
        strlcat(text, p->doing, size);
    }
}

void cli_progress_step(struct cli_progress *p)
{
    if (p->shown_ns < 0)
        return;
    int64_t now = now_ns();
    if (p->started_ns == 0) {
        p->started_ns = now;
        if (!isatty(STDERR_FILENO)) {
            p->shown_ns = -1;
            return;
        }
    }
    if (p->shown_ns != 0 && now - p->shown_ns < SHOW_EVERY_NS)
        return;
    p->shown_ns = now;

    char text[LINE_SIZE];
    int columns = terminal_columns() - 1;
    put_together(p, now, (size_t)columns, text, sizeof(text));
    cli_show_progress(text, (size_t)columns);
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->shown_ns > 0)
        cli_show_progress("", 0);
    p->shown_ns = 0;
    p->started_ns = 0;
}
