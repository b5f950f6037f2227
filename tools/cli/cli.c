/* SPDX-License-Identifier: MIT
 * Messages and standard output. A message erases the progress line first, so the two never mix. */
#include "cli/cli.h"

#include <bloomfile.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "cli/fatal_signals.h"

enum {
    MESSAGE_SIZE = 3 * 4096,
    LINE_SIZE = 512,
    STDOUT_BUFFER = 1 << 16
};

void (*cli_before_failing)(void);

static int shown_columns; /* width of the progress line now on the terminal */

/* Whether a descriptor is a regular file that begins like a filter or a patch. */
static bool is_ours(int output)
{
    char path[32], start[4];
    struct stat st;
    if (fstat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", output);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is = fd >= 0 && pread(fd, start, sizeof(start), 0) == sizeof(start) &&
                    (memcmp(start,
                            "\xBF"
                            "BLM",
                            sizeof(start)) == 0 ||
                     memcmp(start,
                            "\xBF"
                            "DLT",
                            sizeof(start)) == 0);
    if (fd >= 0)
        close(fd); /* opened for reading: an error loses no data */
    return is;
}

void cli_check_stdout(void)
{
    if (is_ours(STDOUT_FILENO))
        cli_fail(0, "cannot write to standard output: it is a filter or a patch (write to another "
                    "file)");
}

void cli_start(const char *argv0)
{
    setprogname(argv0 != NULL && argv0[0] != '\0' ? argv0 : "bloomfile");
    setlocale(LC_CTYPE, "");
    signal(SIGXFSZ, SIG_IGN); /* makes a limit on file sizes an error, like a full disk */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(CLI_ERROR);
    }
    if (is_ours(STDERR_FILENO)) /* a message would damage it */
        exit(CLI_ERROR);
}

/* ---------------------------------------------------------------------------------- messages */

/* Copies text, and replaces control characters and escape sequences by \ooo. Returns the length,
 * which is less than size. */
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

/* The caller has locked stderr. */
static void erase_progress(void)
{
    if (shown_columns > 0)
        fprintf(stderr, "\r%*s\r", shown_columns, "");
    shown_columns = 0;
}

void cli_show_progress(const char *text, size_t columns)
{
    char line[LINE_SIZE];
    flockfile(stderr);
    const int length =
        (int)make_harmless(line, columns < LINE_SIZE ? columns + 1 : sizeof(line), text);
    if (length == 0) {
        erase_progress();
    } else {
        const int blanks = shown_columns > length ? shown_columns - length : 0;
        fprintf(stderr, "\r%s%*s", line, blanks, "");
        shown_columns = length + blanks;
    }
    funlockfile(stderr);
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

/* Writing to a hole allocates disk space. If the file shrank, the hole is not the cause. */
static bool is_hole(void)
{
    struct stat st;
    return written_path != NULL && stat(written_path, &st) == 0 && st.st_size >= written_size &&
           st.st_blocks < st.st_size / 512;
}

/* If the handler returned, the failed access would be repeated. Other threads that fault wait here
 * until the first has ended the process. */
static void on_bus_error(int number)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    (void)number;
    if (atomic_flag_test_and_set(&is_said))
        return;
    const char *line = is_hole() ? hole_line : bus_error_line;
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
    _exit(CLI_ERROR);
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

const char *cli_words(int error)
{
    static _Thread_local char words[80];
    if (error != BLOOMFILE_EVALUE && error != BLOOMFILE_EFLAGS)
        return error == 0 ? NULL : bloomfile_strerror(error);
    if (strcmp(bloomfile_invalid(), "label") == 0)
        return bloomfile_strerror(BLOOMFILE_ELABEL);
    snprintf(words, sizeof(words), "%s (%s)", bloomfile_strerror(error), bloomfile_invalid());
    return words;
}

void cli_note(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(cli_words(error), NULL, format, arguments);
    va_end(arguments);
}

void cli_fail(int error, const char *format, ...)
{
    va_list arguments;
    fatal_signals_check();
    if (cli_before_failing != NULL)
        cli_before_failing();
    va_start(arguments, format);
    message(cli_words(error), NULL, format, arguments);
    va_end(arguments);
    exit(CLI_ERROR);
}

void cli_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(NULL, "--help", format, arguments);
    va_end(arguments);
    exit(CLI_ERROR);
}

/* --------------------------------------------------------------------------- standard output
 *
 * This does not use stdio. If another program has made the descriptor non-blocking, stdio drops the
 * bytes that do not fit and forgets the error. */

static _Atomic int first_error; /* an errno */
static uint8_t stdout_buffer[STDOUT_BUFFER];
static size_t stdout_used;

static int note_error(int error)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(&first_error, &none, error);
    return first_error;
}

int cli_flush_stdout(void)
{
    const size_t size = stdout_used;
    stdout_used = 0;
    if (size > 0 && !await_write(STDOUT_FILENO, stdout_buffer, size))
        return note_error(errno);
    return first_error;
}

void cli_close_stdout(void)
{
    int error = cli_flush_stdout();
    if (close(STDOUT_FILENO) != 0 && error == 0)
        error = errno;
    if (error != 0)
        cli_fail(error, "cannot write to standard output");
}

static _Noreturn void cannot_write(int error)
{
    cli_fail(note_error(error), "cannot write to standard output");
}

void cli_write(const void *bytes, size_t size)
{
    static bool checked;
    if (!checked)
        cli_check_stdout();
    checked = true;
    if (size > STDOUT_BUFFER - stdout_used && cli_flush_stdout() != 0)
        cannot_write(first_error);
    if (size > STDOUT_BUFFER) {
        if (!await_write(STDOUT_FILENO, bytes, size))
            cannot_write(errno);
        return;
    }
    if (size > 0)
        memcpy(stdout_buffer + stdout_used, bytes, size);
    stdout_used += size;
}

void cli_print(const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    const int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        cli_fail(ENOMEM, "cannot continue");
    cli_write(text, (size_t)size);
    free(text);
}

void cli_version(void)
{
    cli_print("%s (bloomfile) %s\n", getprogname(), bloomfile_version());
    cli_close_stdout();
    exit(0);
}

void cli_page_start(struct cli_page *p)
{
    p->out = open_memstream(&p->text, &p->size);
    if (p->out == NULL)
        cli_fail(errno, "cannot continue");
}

void cli_page_print(struct cli_page *p)
{
    bool failed = ferror(p->out) != 0;
    if (fclose(p->out) != 0 || failed)
        cli_fail(ENOMEM, "cannot continue");
    cli_write(p->text, p->size);
    free(p->text);
    const int error = cli_flush_stdout();
    if (error != 0)
        cannot_write(error);
}

/* ---- read() and write() that wait, with poll(), even if the descriptor is non-blocking. */

ssize_t await_read(int fd, void *to, size_t size)
{
    ssize_t n;
    while ((n = read(fd, to, size)) < 0) {
        if (errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
        else if (errno != EINTR)
            return n;
    }
    return n;
}

bool await_write(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n == 0) /* another attempt might never end */
            errno = ENOSPC;
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}
