/* SPDX-License-Identifier: MIT
 * The heads of a ribbon body's pages, in sum. */
#include "bfinspect/inspect.h"

#include <math.h>

/* Of `count` values so far. */
static void widen(struct inspect_range *range, uint64_t count, double least, double most)
{
    range->least = count == 0 ? least : fmin(range->least, least);
    range->most = count == 0 ? most : fmax(range->most, most);
}

void inspect_solution(struct inspect_solution *s, const bloomfile *f)
{
    struct bloomfile_solution page;
    uint64_t solved = 0;
    double blocks = 0, columns = 0, further = 0;
    *s = (struct inspect_solution){ 0 };
    for (; bloomfile_measure_page(f, s->pages, &page) == 0; s->pages++) {
        s->lines += page.lines;
        if (page.blocks == 0) {
            s->unsolved++;
            continue;
        }
        s->reseeded += page.seed > 0;
        s->enlarged += page.blocks_more > 0;
        further += page.blocks_more;
        blocks += page.blocks;
        columns += page.columns * page.blocks;
        widen(&s->blocks, solved, page.blocks, page.blocks);
        widen(&s->columns, solved++, floor(page.columns), ceil(page.columns));
    }
    if (solved == 0)
        return;
    s->further = further / (double)solved;
    s->blocks.mean = blocks / (double)solved;
    s->columns.mean = columns / blocks;
}
