/* SPDX-License-Identifier: MIT
 *
 * What the C library says of files: DifferentialTest.java compares it with the library for Java.
 * Standard input has digests in hexadecimal, a line each, an empty line, and the names of files.
 * For each, one line: the error with which it is refused; or 0, the answers, four to a hexadecimal
 * digit, the error of verifying it, and the answers after that.
 */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGESTS 4096

static uint64_t digests[DIGESTS];
static size_t count;

static const char *name_of(int error)
{
    return error < 0 ? bloomfile_errname(error) : error > 0 ? strerror(error) : "0";
}

static void print_answers(const bloomfile_filter *f)
{
    for (size_t i = 0; i < count; i += 4) {
        unsigned four = 0;
        for (unsigned j = 0; j < 4 && i + j < count; j++)
            four |= (unsigned)bloomfile_contains_digest(f, digests[i + j]) << j;
        printf("%x", four);
    }
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL && line[0] != '\n' && count < DIGESTS)
        digests[count++] = strtoull(line, NULL, 16);
    while (fgets(line, sizeof line, stdin) != NULL) {
        bloomfile_filter *f;
        line[strcspn(line, "\n")] = '\0';
        int error = bloomfile_open(&f, line, 0);
        if (error == 0) {
            printf("0 ");
            print_answers(f);
            printf(" %s ", name_of(bloomfile_verify(f, 1, NULL)));
            print_answers(f);
            bloomfile_close(f);
        } else {
            printf("%s", name_of(error));
        }
        printf("\n");
        fflush(stdout);
    }
    return ferror(stdin) || ferror(stdout) ? 1 : 0;
}
