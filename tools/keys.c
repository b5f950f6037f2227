/* SPDX-License-Identifier: MIT */
#include "keys.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_SIZE = 1 << 20
};

struct keys {
    struct keys_options options;
    char *const *paths;
    int count, next;
    const char *path; /* of the open input, as the user named it */
    int fd;           /* -1: none is open */
    bool at_end;
    uint8_t *buffer;
    size_t size;                /* of the buffer */
    size_t start, scanned, end; /* in it: bytes not handed out, of these free of ends, all */
    uint64_t bytes, total;
    unsigned errors;
};

static char *const standard_input[] = { (char[]){ "-" } };

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *name_of(const char *path)
{
    return is_standard_input(path) ? "standard input" : path;
}

bool keys_take_option(struct keys_options *options, int returned, const char *value)
{
    uint64_t size;
    switch (returned) {
    case '0':
        if (options->form == KEYS_RECORDS || options->crlf)
            break;
        options->form = KEYS_NUL;
        return true;
    case 'x':
        if (options->form == KEYS_NUL || options->crlf)
            break;
        if (!cli_parse_count(value, &size) || size == 0 || size > PTRDIFF_MAX)
            cli_usage("-x/--fixed takes a number of bytes from 1, not '%s'", value);
        options->form = KEYS_RECORDS;
        options->record_size = (size_t)size;
        return true;
    case KEYS_OPTION_CRLF:
        if (options->form != KEYS_LINES)
            break;
        options->crlf = true;
        return true;
    default:
        return false;
    }
    cli_usage("-0/--null, -x/--fixed and --crlf exclude one another");
}

/* ------------------------------------------------------------------------------------- inputs */

static void trouble(struct keys *k, const char *what, const char *path, const char *reason)
{
    if (!k->options.keep_going)
        cli_fail(0, "cannot %s %s: %s", what, name_of(path), reason);
    cli_warn(0, "cannot %s %s: %s", what, name_of(path), reason);
    k->errors++;
}

/* Looks at an input before any is read. Returns its size, 0 if that is not known. */
static uint64_t survey(struct keys *k, const char *path)
{
    struct stat st;
    bool standard = is_standard_input(path);
    int error = 0;
    if ((standard ? fstat(STDIN_FILENO, &st) : stat(path, &st)) != 0)
        error = errno;
    else if (S_ISDIR(st.st_mode))
        error = EISDIR;
    else if (!standard && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
        error = errno;
    if (error != 0 && !k->options.keep_going)
        trouble(k, "read", path, bloomfile_strerror(error));
    if (error != 0 || !S_ISREG(st.st_mode))
        return 0;
    off_t at = standard ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    return at >= 0 && at < st.st_size ? (uint64_t)(st.st_size - at) : 0;
}

struct keys *keys_new(const struct keys_options *options, char *const *paths, int count)
{
    struct keys *k = calloc(1, sizeof(*k));
    if (k == NULL)
        cli_fail(ENOMEM, "cannot start reading keys");
    k->options = *options;
    k->paths = count > 0 ? paths : standard_input;
    k->count = count > 0 ? count : 1;
    k->path = k->paths[0];
    k->fd = -1;
    k->size = FIRST_SIZE;
    k->buffer = malloc(k->size);
    if (k->buffer == NULL)
        cli_fail(ENOMEM, "cannot start reading keys");

    bool known = true;
    for (int i = 0; i < k->count; i++) {
        uint64_t size = survey(k, k->paths[i]);
        known = known && size > 0;
        k->total += size;
    }
    if (!known)
        k->total = 0;
    return k;
}

static void close_input(struct keys *k)
{
    if (k->fd > STDIN_FILENO)
        close(k->fd); /* read only: nothing can be lost */
    k->fd = -1;
    k->start = k->scanned = k->end = 0;
}

static void give_up(struct keys *k, const char *what, const char *reason)
{
    trouble(k, what, k->path, reason);
    close_input(k);
}

/* Opens the next input that can be opened; false if there is none. */
static bool open_next(struct keys *k)
{
    while (k->next < k->count) {
        k->path = k->paths[k->next++];
        k->fd = is_standard_input(k->path) ? STDIN_FILENO
                                           : open(k->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (k->fd < 0) {
            give_up(k, "open", bloomfile_strerror(errno));
            continue;
        }
        (void)posix_fadvise(k->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        k->at_end = false;
        return true;
    }
    return false;
}

/* Makes room behind the bytes that have not been handed out, which move to the front. */
static void make_room(struct keys *k)
{
    size_t left = k->end - k->start;
    if (k->start > 0)
        memmove(k->buffer, k->buffer + k->start, left);
    k->scanned -= k->start;
    k->start = 0;
    k->end = left;
    if (left < k->size)
        return;
    uint8_t *bigger = reallocarray(k->buffer, k->size, 2);
    if (bigger == NULL)
        cli_fail(ENOMEM, "cannot hold a key of more than %zu bytes from %s", k->size,
                 name_of(k->path));
    k->buffer = bigger;
    k->size *= 2;
}

static bool is_stopped(const struct keys *k)
{
    return k->options.stop != NULL && *k->options.stop != 0;
}

/* Waits until something can be read, or `stop` is set. Signals are let in only while it waits, so
 * that none slips in between looking at `stop` and waiting. */
static void wait_for_input(const struct keys *k)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (!is_stopped(k))
        (void)ppoll(&(struct pollfd){ .fd = k->fd, .events = POLLIN }, 1, NULL, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void read_piece(struct keys *k)
{
    make_room(k);
    if (k->options.before_read != NULL)
        k->options.before_read();
    if (k->options.stop != NULL)
        wait_for_input(k);
    if (is_stopped(k))
        return;
    ssize_t n;
    do
        n = read(k->fd, k->buffer + k->end, k->size - k->end);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        give_up(k, "read", bloomfile_strerror(errno));
        return;
    }
    k->at_end = n == 0;
    k->end += (size_t)n;
    k->bytes += (uint64_t)n;
}

/* --------------------------------------------------------------------------------------- keys */

/* Whole records from the buffer; an incomplete one at the end of the input is trouble. */
static size_t take_records(struct keys *k, struct bloomfile_key *keys, size_t max)
{
    size_t n = 0, size = k->options.record_size;
    for (; n < max && k->end - k->start >= size; n++) {
        keys[n] = (struct bloomfile_key){ k->buffer + k->start, size };
        k->start += size;
    }
    k->scanned = k->start;
    if (n == 0 && k->at_end && k->start < k->end) {
        char reason[128];
        snprintf(reason, sizeof(reason), "its last record has %zu of %zu bytes", k->end - k->start,
                 size);
        give_up(k, "read", reason);
    }
    return n;
}

static struct bloomfile_key make_key(const struct keys *k, const uint8_t *from, const uint8_t *to)
{
    if (k->options.crlf && to > from && to[-1] == '\r')
        to--;
    return (struct bloomfile_key){ from, (size_t)(to - from) };
}

static size_t take_text(struct keys *k, struct bloomfile_key *keys, size_t max)
{
    int mark = k->options.form == KEYS_NUL ? '\0' : '\n';
    const uint8_t *start = k->buffer + k->start, *end = k->buffer + k->end;
    const uint8_t *scan = k->buffer + k->scanned;
    size_t n = 0;
    while (n < max) {
        const uint8_t *stop = memchr(scan, mark, (size_t)(end - scan));
        if (stop != NULL) {
            keys[n++] = make_key(k, start, stop);
            start = scan = stop + 1;
            continue;
        }
        if (k->at_end && start < end) {
            keys[n++] = make_key(k, start, end);
            start = end;
        }
        scan = end;
        break;
    }
    k->start = (size_t)(start - k->buffer);
    k->scanned = (size_t)(scan - k->buffer);
    return n;
}

size_t keys_next(struct keys *k, struct bloomfile_key *keys, size_t max)
{
    for (;;) {
        bool records = k->options.form == KEYS_RECORDS;
        size_t n = records ? take_records(k, keys, max) : take_text(k, keys, max);
        if (n > 0)
            return n;
        if (is_stopped(k))
            return 0;
        if (k->fd >= 0 && !k->at_end) {
            read_piece(k);
            continue;
        }
        close_input(k);
        if (!open_next(k))
            return 0;
    }
}

bool keys_print(const struct keys *k, const struct bloomfile_key *key)
{
    const uint8_t *after = (const uint8_t *)key->data + key->size;
    bool has_cr = k->options.crlf && after < k->buffer + k->end && *after == '\r';
    size_t size = key->size + (has_cr ? 1 : 0);
    if (fwrite_unlocked(key->data, 1, size, stdout) != size)
        return false;
    if (k->options.form == KEYS_RECORDS)
        return true;
    return putc_unlocked(k->options.form == KEYS_NUL ? '\0' : '\n', stdout) != EOF;
}

unsigned keys_errors(const struct keys *k)
{
    return k->errors;
}

uint64_t keys_bytes(const struct keys *k)
{
    return k->bytes;
}

uint64_t keys_total(const struct keys *k)
{
    return k->total;
}

const char *keys_path(const struct keys *k)
{
    return name_of(k->path);
}

void keys_free(struct keys *k)
{
    close_input(k);
    free(k->buffer);
    free(k);
}
