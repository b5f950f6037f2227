/* SPDX-License-Identifier: MIT
 * Standard output, without stdio: that drops what a descriptor of another program's making does not
 * take at once, and forgets errors. */
#include "shared/await.h"
#include "shared/cli.h"

#include <bloomfile.h>

#include <bsd/stdlib.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROOM = 1 << 16
};

static _Atomic int first_error; /* an errno */
static uint8_t buffer[ROOM];
static size_t used;

static int note_error(int error)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(&first_error, &none, error);
    return first_error;
}

int cli_flush_stdout(void)
{
    const size_t size = used;
    used = 0;
    if (size > 0 && !await_write(STDOUT_FILENO, buffer, size))
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
    if (size > ROOM - used && cli_flush_stdout() != 0)
        cannot_write(first_error);
    if (size > ROOM) {
        if (!await_write(STDOUT_FILENO, bytes, size))
            cannot_write(errno);
        return;
    }
    if (size > 0)
        memcpy(buffer + used, bytes, size);
    used += size;
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
