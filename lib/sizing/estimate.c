/* SPDX-License-Identifier: MIT
 * How much of an intersection's fill is common to its sources. */
#include "sizing/sizing.h"

#include <math.h>

/* By how much the intersection's fill exceeds what this common fill explains. */
static double excess(double common, const double *fill, size_t count, double both)
{
    double by_chance = 1;
    for (size_t i = 0; i < count; i++)
        by_chance *= fmax(0, fill[i] - common) / (1 - common);
    return common + (1 - common) * by_chance - both;
}

double sizing_common_fill(const double *fill, size_t count, double both)
{
    if (both >= 1)
        return 1;
    double low = 0, high = both;
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (excess(middle, fill, count, both) > 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}
