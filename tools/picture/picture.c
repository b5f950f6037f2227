/* SPDX-License-Identifier: MIT
 * Pictures of a filter's body: its cells, and colours by the distance of each cell
 * from the median. */
#include "picture/picture.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
    CELL_BITS = 512, /* smaller cells would show the places of single keys */
    PAGE_BITS = 8 * 4096,
    TERMINAL_ROWS = 16,
    IMAGE_COLUMNS = 128,
    IMAGE_ROWS = 64,
};

/* The standard deviation of the fill of `bits` bits, each set with probability `fill`. In the
 * layouts classic and counting the bits are independent. In the layout blocked a key sets k bits in
 * a single block. So the fill of a block varies with the number of keys in it, which is Poisson,
 * and with the places of their bits, as when balls are thrown into bins. */
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

/* Finds the median of the cells that have a bit set; 0 if no cell has. */
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

static int measure_bits(struct picture *p, const struct bloomfile_info *info,
                        const bloomfile_filter *f)
{
    static const struct picture_words words = { "fill", "emptier", "fuller", "no bit set", 1 };
    size_t cells = p->columns * p->rows;
    p->words = &words;
    p->unit = bloomfile_traits_of(info->layout)->cell;
    p->cell_size = (double)info->bits / (double)cells;
    int error = bloomfile_measure_map(f, p->fill, cells);
    if (error == 0)
        error = find_median(p);
    p->scatter = chance_scatter(info, p->median, p->cell_size);
    return error;
}

/* The sums over all pages of a solved layout. */
struct pages {
    double keys, groups, groups_more, solved;
};

/* The mean number of columns of the pages [first, end), weighted by their lines, because the last
 * page may be short. */
static double columns_of(const bloomfile_filter *f, uint64_t first, uint64_t end, struct pages *sum)
{
    struct bloomfile_solution page;
    double columns = 0, lines = 0;
    for (uint64_t i = first; i < end && bloomfile_measure_page(f, i, &page) == 0; i++) {
        columns += page.columns * page.lines;
        lines += page.lines;
        sum->keys += (double)page.keys;
        sum->groups += page.groups;
        sum->groups_more += page.groups_more;
        sum->solved += page.groups > 0;
    }
    return lines > 0 ? columns / lines : 0;
}

/* The relative standard deviation of the columns of a page. A page with fewer groups has more
 * columns. The number of groups follows from the number of keys, is a whole number, and grows if
 * no seed works. */
static double page_scatter(const struct pages *sum)
{
    const double solved = fmax(sum->solved, 1), groups = fmax(sum->groups / solved, 1);
    const double further = sum->groups_more / solved, keys = fmax(sum->keys / solved, 1);
    return sqrt(1 / keys + (1. / 12 + further * (1 + further)) / (groups * groups));
}

static int measure_pages(struct picture *p, const bloomfile_filter *f)
{
    static const struct picture_words words = { "columns", "less", "more", "not solved", 32 };
    const size_t cells = p->columns * p->rows;
    struct pages sum = { 0 };
    p->words = &words;
    p->unit = "page";
    p->cell_size = (double)p->pages / (double)cells;
    for (size_t i = 0; i < cells; i++)
        p->fill[i] = columns_of(f, p->pages * i / cells, p->pages * (i + 1) / cells, &sum);
    const int error = find_median(p);
    p->scatter = fmax(p->median, 1) * page_scatter(&sum) / sqrt(p->cell_size);
    return error;
}

static int measure(struct picture *p, const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    p->fill = calloc(p->columns * p->rows, sizeof(*p->fill));
    if (p->fill == NULL)
        return ENOMEM;
    p->pages = info.pages;
    return bloomfile_traits_of(info.layout)->solved ? measure_pages(p, f)
                                                    : measure_bits(p, &info, f);
}

static size_t most_cells(const bloomfile_filter *f, size_t wanted)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    const bool solved = bloomfile_traits_of(info.layout)->solved;
    uint64_t most = info.bits / (solved ? PAGE_BITS : CELL_BITS); /* a short page shares a cell */
    if (most < 1)
        return 1;
    return most < wanted ? (size_t)most : wanted;
}

unsigned picture_label_width(uint64_t pages)
{
    return (unsigned)snprintf(NULL, 0, "%" PRIu64, pages) + 2;
}

int picture_for_terminal(struct picture *p, const bloomfile_filter *f, size_t width)
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

int picture_for_image(struct picture *p, const bloomfile_filter *f)
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
    return fmin(fmax(p->median + limits * PICTURE_LIMIT * p->scatter, 0), p->words->most);
}

char *picture_fill_text(const struct picture *p, char *text, size_t size, double fill)
{
    if (p->words->most > 1)
        snprintf(text, size, "%.2f", fill);
    else
        snprintf(text, size, "%.4g%%", 100 * fill);
    return text;
}

char *picture_cells_text(const struct picture *p, char *text, size_t size)
{
    const bool is_whole = p->words->most == 1 || p->cell_size == floor(p->cell_size);
    snprintf(text, size, "%zu, %.*f %s%s each", p->columns * p->rows, is_whole ? 0 : 1,
             p->cell_size, p->unit, cli_s(is_whole ? (uint64_t)llround(p->cell_size) : 0));
    return text;
}

/* ---- The picture in block characters on a terminal. */

enum {
    GLYPHS = 8,
    GLYPH_SCATTERS = 2,
    MAX_WIDTH = 10000
};

size_t picture_terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    uint64_t wanted;
    if (columns != NULL && cli_parse_u64(columns, &wanted) && wanted >= 1 && wanted <= MAX_WIDTH)
        return (size_t)wanted;
    struct winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col;
    return 80;
}

/* The glyph of a cell: 0 is blank. A glyph spans two scatters, and the median lies between
 * the middle two. */
static int glyph_of(const struct picture *p, size_t cell)
{
    if (picture_is_blank(p, cell))
        return 0;
    double level = floor(picture_distance(p, cell) / GLYPH_SCATTERS) + GLYPHS / 2;
    return 1 + (int)fmin(fmax(level, 0), GLYPHS - 1);
}

const char *picture_glyph(int index, bool utf8)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
    return utf8 ? blocks[index] : ascii[index];
}

void picture_print(FILE *out, const struct picture *p, bool utf8)
{
    int label = (int)picture_label_width(p->pages);
    for (size_t row = 0; row < p->rows; row++) {
        double start = floor((double)p->pages * (double)row / (double)p->rows);
        fprintf(out, "%*.0f ", label, start);
        for (size_t column = 0; column < p->columns; column++)
            fputs(picture_glyph(glyph_of(p, row * p->columns + column), utf8), out);
        fputc('\n', out);
    }
}
