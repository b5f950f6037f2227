/* SPDX-License-Identifier: MIT
 * Cells of a body, and colours by how far each is from the median. */
#include "picture/picture.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    CELL_BITS = 512, /* smaller cells would show the places of single keys */
    TERMINAL_ROWS = 16,
    IMAGE_COLUMNS = 128,
    IMAGE_ROWS = 64,
};

/* The standard deviation of the fill of `bits` bits in which each was set with chance `fill`.
 * classic, counting: the bits are independent. blocked: keys come to a block k bits at a time, so
 * the number of keys in the block adds to what their places inside it do. */
static double chance_scatter(const struct bloomfile_info *info, double fill, double bits)
{
    if (fill <= 0 || fill >= 1)
        return 1 / bits;
    const double block = bloomfile_traits_of(info->layout)->unit_cells;
    if (block == 1)
        return sqrt(fill * (1 - fill) / bits);
    double per_bit = -log1p(-fill);
    double keys_in_block = per_bit * block / info->hashes;
    double by_a_key = info->hashes * (1 - fill) / block;
    double by_place = (1 - fill) * (1 - (1 + per_bit) * (1 - fill)) / block;
    return sqrt((by_a_key * by_a_key * keys_in_block + by_place) * block / bits);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the cells with a bit set; 0 if there is none. */
static int find_median(struct picture *p)
{
    size_t cells = p->columns * p->rows, count = 0;
    double *sorted = calloc(cells, sizeof(*sorted));
    if (sorted == NULL)
        return ENOMEM;
    for (size_t i = 0; i < cells; i++) {
        if (p->fill[i] > 0)
            sorted[count++] = p->fill[i];
    }
    qsort(sorted, count, sizeof(*sorted), by_size);
    p->median = count > 0 ? sorted[count / 2] : 0;
    free(sorted);
    return 0;
}

static int measure(struct picture *p, const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    size_t cells = p->columns * p->rows;
    p->fill = calloc(cells, sizeof(*p->fill));
    if (p->fill == NULL)
        return ENOMEM;
    p->pages = info.pages;
    p->unit = bloomfile_traits_of(info.layout)->cell;
    p->cell_size = (double)info.bits / (double)cells;
    int error = bloomfile_measure_map(f, p->fill, cells);
    if (error == 0)
        error = find_median(p);
    p->scatter = chance_scatter(&info, p->median, p->cell_size);
    return error;
}

static size_t most_cells(const bloomfile *f, size_t wanted)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    uint64_t most = info.bits / CELL_BITS;
    if (most < 1)
        return 1;
    return most < wanted ? (size_t)most : wanted;
}

unsigned picture_label_width(uint64_t pages)
{
    return (unsigned)snprintf(NULL, 0, "%" PRIu64, pages) + 2;
}

int picture_for_terminal(struct picture *p, const bloomfile *f, size_t width)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    size_t taken = picture_label_width(info.pages) + 1;
    size_t columns = width > taken ? width - taken : 1;
    size_t cells = most_cells(f, columns * TERMINAL_ROWS);
    p->columns = cells < columns ? cells : columns;
    p->rows = cells / p->columns;
    return measure(p, f);
}

int picture_for_image(struct picture *p, const bloomfile *f)
{
    size_t cells = most_cells(f, IMAGE_COLUMNS * IMAGE_ROWS);
    p->columns = (size_t)ceil(sqrt((double)cells * IMAGE_COLUMNS / IMAGE_ROWS));
    if (p->columns > cells)
        p->columns = cells;
    p->rows = cells / p->columns;
    return measure(p, f);
}

void picture_free(struct picture *p)
{
    free(p->fill);
    p->fill = NULL;
}

double picture_distance(const struct picture *p, size_t cell)
{
    return (p->fill[cell] - p->median) / p->scatter;
}

bool picture_is_blank(const struct picture *p, size_t cell)
{
    return p->fill[cell] <= 0 && picture_distance(p, cell) < -PICTURE_LIMIT;
}

size_t picture_outliers(const struct picture *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->columns * p->rows; i++)
        count += fabs(picture_distance(p, i)) > PICTURE_LIMIT;
    return count;
}

void picture_range(const struct picture *p, double *low, double *high)
{
    *low = *high = p->fill[0];
    for (size_t i = 1; i < p->columns * p->rows; i++) {
        *low = fmin(*low, p->fill[i]);
        *high = fmax(*high, p->fill[i]);
    }
}

double picture_fill_at(const struct picture *p, double limits)
{
    return fmin(fmax(p->median + limits * PICTURE_LIMIT * p->scatter, 0), 1);
}

char *picture_fill_text(char *text, size_t size, double fill)
{
    snprintf(text, size, "%.4g %%", 100 * fill);
    return text;
}
