/* SPDX-License-Identifier: MIT
 * The identity of the running system's boot, read from /proc. */
#include "os/boot_id.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 16 bytes as hexadecimal digits, with dashes between some of them. */
static bool parse(const char *text, uint8_t id[BOOT_ID_SIZE])
{
    unsigned digits = 0;
    uint8_t any = 0;
    for (; digits < 2 * BOOT_ID_SIZE && *text != '\0'; text++) {
        int value = hex_value(*text);
        if (value < 0 && *text != '-')
            return false;
        if (value < 0)
            continue;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
        any |= (uint8_t)value;
        digits++;
    }
    return digits == 2 * BOOT_ID_SIZE && any != 0;
}

/* ENOENT here would be mistaken for the filter's. */
static int not_opened(int error)
{
    return error == ENOENT || error == ENOTDIR ? BLOOMFILE_ENOBOOT : error;
}

int boot_id(uint8_t id[BOOT_ID_SIZE])
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return not_opened(errno);
    size_t size = 0, more = 1;
    int error = 0;
    for (; error == 0 && more > 0 && size < sizeof text - 1; size += more) {
        more = 0;
        error = file_read_some(fd, text + size, sizeof text - 1 - size, &more);
    }
    close(fd);
    if (error != 0)
        return error;
    memset(id, 0, BOOT_ID_SIZE);
    return parse(text, id) ? 0 : BLOOMFILE_ENOBOOT;
}
