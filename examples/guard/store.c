/* SPDX-License-Identifier: MIT
 *
 * The slow store of the demonstration guard. */
#include "store.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct order order_from_number(uint64_t number)
{
    struct order order;
    char text[32];
    snprintf(text, sizeof text, "%0*" PRIu64 "\n", STORE_DIGITS, number);
    memcpy(&order, text, sizeof order);
    return order;
}

uint64_t order_to_number(struct order order)
{
    char text[STORE_DIGITS + 1] = { 0 };
    memcpy(text, order.digits, STORE_DIGITS);
    return strtoull(text, NULL, 10);
}

/* A power loss may leave zeros at the end, in place of orders whose append had not returned. */
static void cut_unwritten(const struct store *s)
{
    static const struct order unwritten;
    uint64_t count = store_count(s);
    struct order last;
    while (count > 0 &&
           pread(s->fd, &last, sizeof last, (off_t)((count - 1) * sizeof last)) == sizeof last &&
           memcmp(&last, &unwritten, sizeof last) == 0)
        count--;
    if (count < store_count(s) && ftruncate(s->fd, (off_t)(count * sizeof last)) == -1)
        err(2, "cannot shorten %s", s->path);
}

struct store store_open(const char *path, unsigned delay_us)
{
    const struct store s = { path, open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), delay_us };
    if (s.fd == -1)
        err(2, "cannot open %s", path);
    if (flock(s.fd, LOCK_EX | LOCK_NB) == -1) {
        if (errno == EWOULDBLOCK)
            errx(2, "cannot use %s: another process is at work with it", path);
        err(2, "cannot lock %s", path);
    }
    cut_unwritten(&s);
    return s;
}

/* A partial order at the end, left by a crash, does not count and is overwritten. */
uint64_t store_count(const struct store *s)
{
    struct stat status;
    if (fstat(s->fd, &status) == -1)
        err(2, "cannot find the size of %s", s->path);
    return (uint64_t)status.st_size / sizeof(struct order);
}

void store_read(const struct store *s, uint64_t first, struct order *orders, size_t count)
{
    const size_t size = count * sizeof *orders;
    const ssize_t got = pread(s->fd, orders, size, (off_t)(first * sizeof *orders));
    if (got == -1)
        err(2, "cannot read %s", s->path);
    if ((size_t)got != size)
        errx(2, "cannot read %s: it has been cut off", s->path);
    for (uint64_t i = 0; i < count; i++) {
        if (orders[i].newline != '\n')
            errx(2, "cannot use %s: it is no file of order numbers", s->path);
    }
}

bool store_has_among(const struct store *s, uint64_t count, struct order order)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        struct order found;
        store_read(s, middle, &found, 1);
        const int difference = memcmp(found.digits, order.digits, STORE_DIGITS);
        if (difference == 0)
            return true;
        if (difference < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool store_has(const struct store *s, struct order order)
{
    usleep(s->delay_us);
    return store_has_among(s, store_count(s), order);
}

void store_append(const struct store *s, const struct order *orders, size_t count)
{
    const size_t size = count * sizeof *orders;
    const ssize_t put = pwrite(s->fd, orders, size, (off_t)(store_count(s) * sizeof *orders));
    if (put != -1 && (size_t)put != size)
        errno = ENOSPC;
    if (put == -1 || (size_t)put != size || fdatasync(s->fd) == -1)
        err(2, "cannot write to %s", s->path);
}

void store_make_orders(const struct store *s, struct order *orders, size_t count)
{
    const uint64_t stored = store_count(s);
    uint64_t number = 0;
    if (stored > 0) {
        store_read(s, stored - 1, orders, 1);
        number = order_to_number(*orders);
    }
    for (size_t i = 0; i < count; i++) {
        number += 1 + (uint64_t)random() % 19;
        orders[i] = order_from_number(number);
    }
}
