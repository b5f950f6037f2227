/* SPDX-License-Identifier: MIT
 * The progress line never mixes with a message. */
#include "shared/cli.h"
#include "shared/ending.h"

#include <bloomfile.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

enum {
    MESSAGE_SIZE = 3 * 4096,
    LINE_SIZE = 512,
    SHOW_EVERY_NS = 200 * 1000 * 1000
};

void (*cli_before_failing)(void);

static int shown_columns; /* of the progress line that stands on the terminal */

void cli_start(const char *argv0)
{
    setprogname(argv0 != NULL && argv0[0] != '\0' ? argv0 : "bloomfile");
    setlocale(LC_CTYPE, "");
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(CLI_TROUBLE);
    }
}

/* ---------------------------------------------------------------------------------- messages */

/* Copies text with everything a terminal might obey as \ooo. Returns the length, less than size. */
static size_t make_harmless(char *out, size_t size, const char *text)
{
    size_t used = 0;
    mbstate_t state = { 0 };
    for (size_t left = strlen(text); left > 0;) {
        wchar_t wide;
        size_t n = mbrtowc(&wide, text, left, &state);
        bool printable = n <= left && iswprint((wint_t)wide);
        if (n > left) {
            memset(&state, 0, sizeof(state));
            n = 1;
        }
        if (used + (printable ? n : 4 * n) >= size)
            break;
        for (size_t i = 0; i < n; i++) {
            if (printable)
                out[used++] = text[i];
            else
                used += (size_t)snprintf(out + used, 5, "\\%03o", (unsigned char)text[i]);
        }
        text += n;
        left -= n;
    }
    out[used] = '\0';
    return used;
}

static void erase_progress(void)
{
    if (shown_columns > 0)
        fprintf(stderr, "\r%*s\r", shown_columns, "");
    shown_columns = 0;
}

__attribute__((format(printf, 3, 0))) static void message(const char *reason, const char *hint,
                                                          const char *format, va_list arguments)
{
    char text[MESSAGE_SIZE], line[4 * MESSAGE_SIZE];
    int name = snprintf(text, LINE_SIZE, "%.200s: ", getprogname());
    if (vsnprintf(text + name, sizeof(text) - LINE_SIZE - (size_t)name, format, arguments) < 0)
        text[name] = '\0';
    size_t used = strlen(text);
    if (reason != NULL)
        snprintf(text + used, LINE_SIZE, ": %s", reason);
    if (hint != NULL)
        snprintf(text + used, LINE_SIZE, " (try '%.200s %s')", getprogname(), hint);

    size_t end = make_harmless(line, sizeof(line) - 1, text);
    line[end++] = '\n';
    (void)cli_flush_stdout();
    flockfile(stderr);
    erase_progress();
    fwrite(line, 1, end, stderr);
    funlockfile(stderr);
}

static char bus_error_line[LINE_SIZE], hole_line[LINE_SIZE];
static const char *written_path; /* NULL: the file is only read */
static off_t written_size;

/* Writing to a hole takes room on the disk. One that only shrank has no more holes than before. */
static bool is_hole(void)
{
    struct stat st;
    return written_path != NULL && stat(written_path, &st) == 0 && st.st_size >= written_size &&
           st.st_blocks < st.st_size / 512;
}

/* Returning repeats the access: other threads come back here until the first one has ended them. */
static void on_bus_error(int number)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    (void)number;
    if (atomic_flag_test_and_set(&is_said))
        return;
    const char *line = is_hole() ? hole_line : bus_error_line;
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
    _exit(CLI_TROUBLE);
}

static void put_line(char line[LINE_SIZE], const char *path, const char *words)
{
    char text[LINE_SIZE / 4];
    snprintf(text, sizeof(text), "%.20s: %.90s", getprogname(), path);
    make_harmless(line, LINE_SIZE - 150, text);
    strlcat(line, words, LINE_SIZE);
}

void cli_catch_bus_error(const char *path)
{
    put_line(bus_error_line, path, ": the file shrank or its disk failed while it was read\n");
    struct sigaction action = { .sa_handler = on_bus_error };
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) != 0)
        cli_fail(errno, "cannot watch %s", path);
}

void cli_catch_bus_error_of_writer(const char *path)
{
    struct stat st;
    cli_catch_bus_error(path);
    put_line(bus_error_line, path, ": the file shrank or its disk failed while it was in use\n");
    put_line(hole_line, path,
             ": its disk is full, and the file has holes that need room (make room, or copy it with"
             " 'cp --sparse=never')\n");
    written_size = stat(path, &st) == 0 ? st.st_size : 0;
    written_path = path;
}

static const char *words_for(int error)
{
    return error == 0 ? NULL : bloomfile_strerror(error);
}

void cli_warn(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(words_for(error), NULL, format, arguments);
    va_end(arguments);
}

void cli_fail(int error, const char *format, ...)
{
    va_list arguments;
    ending_check();
    if (cli_before_failing != NULL)
        cli_before_failing();
    va_start(arguments, format);
    message(words_for(error), NULL, format, arguments);
    va_end(arguments);
    exit(CLI_TROUBLE);
}

void cli_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(NULL, "--help", format, arguments);
    va_end(arguments);
    exit(CLI_TROUBLE);
}

/* ----------------------------------------------------------------------------------- progress */

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

/* The parts of a progress line, in their order; those that cannot be known are empty. */
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

/* "12.3 M keys, 45 % of 1.2 GiB, 6.7 M/s, 400.1 MiB/s, 0:02 left: urls.txt". Where that does not
 * fit into `columns`, the name is cut first, then go the parts that one can best do without, and
 * the time that is left goes last. */
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

    char text[LINE_SIZE], line[LINE_SIZE];
    int columns = terminal_columns() - 1;
    put_together(p, now, (size_t)columns, text, sizeof(text));
    flockfile(stderr);
    size_t size = columns < LINE_SIZE ? (size_t)columns + 1 : sizeof(line);
    int length = (int)make_harmless(line, size, text);
    int blanks = shown_columns > length ? shown_columns - length : 0;
    fprintf(stderr, "\r%s%*s", line, blanks, "");
    shown_columns = length + blanks;
    funlockfile(stderr);
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->shown_ns > 0)
        erase_progress();
    p->shown_ns = 0;
    p->started_ns = 0;
}
