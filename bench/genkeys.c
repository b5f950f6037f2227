/* SPDX-License-Identifier: MIT
 *
 * bench-genkeys - lines that look like URLs, about 60 bytes each; equal numbers give equal lines
 *
 * The lines are composed without printf(), so that a measured program at the other end of a pipe
 * waits less for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/bench.h"

#define BUFFER       (1u << 18)
#define PIPE         (1 << 20) /* bytes: the most for an unprivileged process */
#define LONGEST_LINE 128

#define SITES      9973
#define WORDS      16
#define WORD_BYTES 16

static const char words[WORDS][WORD_BYTES] = {
    "archive", "blog",   "catalogue", "docs",    "en",      "forum",   "images", "index",
    "library", "market", "news",      "picture", "release", "science", "travel", "wiki",
};
static size_t word_length[WORDS];

static char *put(char *end, const char *text, size_t length)
{
    memcpy(end, text, length);
    return end + length;
}

#define PUT(end, literal) put(end, literal, sizeof(literal) - 1)

/* Copies a fixed number of bytes, of which the next copy overwrites those after the word. */
static char *put_word(char *end, uint64_t n)
{
    memcpy(end, words[n % WORDS], WORD_BYTES);
    return end + word_length[n % WORDS];
}

static char *put_decimal(char *end, unsigned n)
{
    const unsigned digits = n < 10 ? 1 : n < 100 ? 2 : n < 1000 ? 3 : 4;
    for (unsigned i = digits; i > 0; i--, n /= 10)
        end[i - 1] = (char)('0' + n % 10);
    return end + digits;
}

/* Writes at least 8 digits. */
static char *put_hexadecimal(char *end, uint64_t n)
{
    unsigned digits = 8;
    while (digits < 16 && n >> 4 * digits != 0)
        digits++;
    for (unsigned i = digits; i > 0; i--, n >>= 4)
        end[i - 1] = "0123456789abcdef"[n % 16];
    return end + digits;
}

static char *put_line(char *end, uint64_t number)
{
    const uint64_t r = bloomfile_hash(0, &number, sizeof number);
    end = PUT(end, "https://www.site-");
    end = put_decimal(end, (unsigned)(r % SITES));
    end = PUT(end, ".example/");
    end = put_word(end, r >> 16);
    end = PUT(end, "/");
    end = put_word(end, r >> 24);
    end = PUT(end, "/");
    end = put_word(end, r >> 32);
    end = PUT(end, "-");
    end = put_hexadecimal(end, number);
    if ((r >> 40) % 2 == 0)
        end = PUT(end, ".html");
    return PUT(end, "\n");
}

static void write_all(const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written < 0)
            bench_fail(errno, "write to standard output");
        bytes += written;
        size -= (size_t)written;
    }
}

int main(int argc, char **argv)
{
    static char buffer[BUFFER + LONGEST_LINE];
    if (argc < 2 || argc > 4) {
        fputs("usage: bench-genkeys COUNT [FIRST [STEP]]\n"
              "Print COUNT lines, those number FIRST (1), FIRST + STEP (1) and so on; different\n"
              "numbers, different lines.\n",
              stderr);
        return BENCH_TROUBLE;
    }
    const uint64_t count = bench_number_in(argv[1], 1, UINT64_MAX),
                   first = argc > 2 ? bench_number_in(argv[2], 1, UINT64_MAX) : 1,
                   step = argc > 3 ? bench_number_in(argv[3], 1, UINT64_MAX) : 1;
    for (unsigned i = 0; i < WORDS; i++)
        word_length[i] = strlen(words[i]);
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE); /* fails if standard output is not a pipe */

    char *end = buffer;
    for (uint64_t i = 0; i < count; i++) {
        end = put_line(end, first + i * step);
        if (end >= buffer + BUFFER) {
            write_all(buffer, (size_t)(end - buffer));
            end = buffer;
        }
    }
    write_all(buffer, (size_t)(end - buffer));
    return 0;
}
