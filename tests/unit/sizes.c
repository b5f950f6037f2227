/* SPDX-License-Identifier: MIT
 * Program that prints the m and k chosen by the C library. Tests compare it with the Java
 * library and with the second implementation in Python. Each line of standard input has a
 * layout, n, a rate, m (used only if the rate is 0) and k (0: choose it). It prints a line for
 * each: m, k, the expected rate and the scatter of single filters; or "none". */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdio.h>

#include "sizing/sizing.h"

int main(void)
{
    uint32_t layout, k;
    uint64_t n, m;
    double p;
    while (scanf("%" SCNu32 " %" SCNu64 " %lf %" SCNu64 " %" SCNu32, &layout, &n, &p, &m, &k) ==
           5) {
        if (p != 0)
            m = sizing_bits(layout, n, p, &k);
        struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
        size.layout = layout;
        size.hashes = k;
        size.keys = n;
        size.bits = m;
        size.want_spread = 1;
        if (m != 0 && bloomfile_size_for(&size) == 0)
            printf("%" PRIu64 " %" PRIu32 " %a %a\n", m, size.hashes, size.fpr, size.spread);
        else
            printf("none\n");
        fflush(stdout);
    }
    return ferror(stdin) || ferror(stdout) ? 1 : 0;
}
