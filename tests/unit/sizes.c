/* SPDX-License-Identifier: MIT
 *
 * The m and k that the C library chooses: tests compare it with the library for Java and with the
 * second implementation in Python. Each line of standard input has a layout, n, a rate, m if that
 * is 0, and k or 0. For each, one line: m, k, the rate to expect, and how far single filters
 * scatter; or "none".
 */
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
        else if (k == 0)
            k = bloomfile_hashes_for(layout, m, n);
        if (m != 0)
            printf("%" PRIu64 " %" PRIu32 " %a %a\n", m, k, bloomfile_fpr_for(layout, m, k, n),
                   bloomfile_fpr_spread(layout, m, k, n));
        else
            printf("none\n");
        fflush(stdout);
    }
    return ferror(stdin) || ferror(stdout) ? 1 : 0;
}
