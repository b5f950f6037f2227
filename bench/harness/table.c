/* SPDX-License-Identifier: MIT
 * Tables, which are kept as text until they are complete, and the figures in them. */
#include "harness/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"

#define COLUMNS 32
#define NUMBERS 32

static struct {
    FILE *out;
    char *text;
    size_t size;
} table;
static bool missed;

__attribute__((format(printf, 1, 0))) static void append(const char *format, va_list arguments)
{
    if (vfprintf(table.out, format, arguments) < 0)
        bench_memory(NULL);
}

void table_start(const char *format, ...)
{
    va_list arguments;
    table.out = bench_memory(open_memstream(&table.text, &table.size));
    va_start(arguments, format);
    append(format, arguments);
    va_end(arguments);
    fputc('\n', table.out);
}

void table_cells(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(format, arguments);
    va_end(arguments);
}

void table_row(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(format, arguments);
    va_end(arguments);
    fputc('\n', table.out);
}

/* Returns the cell at *at, without spaces around it. Moves *at to the next cell. */
static char *next_cell(char **at)
{
    char *cell = strsep(at, "|");
    cell += strspn(cell, " ");
    for (size_t length = strlen(cell); length > 0 && cell[length - 1] == ' '; length--)
        cell[length - 1] = '\0';
    return cell;
}

static void print_rule(const unsigned *width, const bool *right, unsigned columns)
{
    for (unsigned c = 0; c < columns; c++) {
        fputs("|-", stdout);
        for (unsigned i = 0; i < width[c]; i++)
            putchar('-');
        putchar(right[c] ? ':' : '-');
    }
    puts("|");
}

/* Goes over the table. The first pass measures widths, the second prints. */
static void pass(unsigned *width, bool *right, bool print)
{
    char *copy = bench_memory(strdup(table.text)), *rest = copy;
    for (bool first = true; *rest != '\0'; first = false) {
        char *line = strsep(&rest, "\n");
        unsigned columns = 0;
        for (; line != NULL && columns < COLUMNS; columns++) {
            char *cell = next_cell(&line);
            if (first && *cell == '>')
                right[columns] = true, cell++;
            if (strlen(cell) > width[columns])
                width[columns] = (unsigned)strlen(cell);
            if (print)
                printf(right[columns] ? "| %*s " : "| %-*s ", (int)width[columns], cell);
        }
        if (print)
            puts("|");
        if (print && first)
            print_rule(width, right, columns);
    }
    free(copy);
}

void table_end(void)
{
    unsigned width[COLUMNS] = { 0 };
    bool right[COLUMNS] = { false };
    if (fclose(table.out) != 0)
        bench_memory(NULL);
    pass(width, right, false);
    pass(width, right, true);
    puts("");
    bench_flush();
    free(table.text);
}

const char *table_number(double value, int decimals)
{
    static char texts[NUMBERS][32];
    static unsigned next;
    char *text = texts[next++ % NUMBERS];
    snprintf(text, sizeof texts[0], "%.*f", decimals, value);
    return isnan(value) ? "" : text;
}

const char *table_verdict(bool kept)
{
    missed |= !kept;
    return kept ? "ok" : "MISSED";
}

int table_status(void)
{
    return missed ? BENCH_MISSED : 0;
}

/* ---- figures of all turns: an array by turn, row and figure */

struct turns turns_new(size_t rows, size_t figures, size_t turns)
{
    const size_t count = rows * figures * turns;
    struct turns t = { rows, figures, turns, bench_memory(calloc(count, sizeof *t.values)) };
    for (size_t i = 0; i < count; i++)
        t.values[i] = NAN;
    return t;
}

double *turns_at(const struct turns *t, size_t row, size_t figure, size_t turn)
{
    return &t->values[(turn * t->rows + row) * t->figures + figure];
}

struct turns turns_take(size_t rows, size_t figures, size_t turns,
                        void (*measure)(size_t row, double *figures))
{
    struct turns t = turns_new(rows, figures, turns);
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t row = 0; row < rows; row++)
            measure(row, turns_at(&t, row, 0, turn));
    return t;
}

double turns_ratio(const struct turns *t, size_t row, size_t to_row, size_t figure)
{
    double *ratios = bench_memory(malloc(t->turns * sizeof *ratios));
    size_t count = 0;
    for (size_t turn = 0; turn < t->turns; turn++) {
        const double to = to_row == SIZE_MAX ? 1 : *turns_at(t, to_row, figure, turn);
        ratios[count] = *turns_at(t, row, figure, turn) / to;
        count += !isnan(ratios[count]);
    }
    const double median = count > 0 ? bench_median(ratios, count) : NAN;
    free(ratios);
    return median;
}

double turns_median(const struct turns *t, size_t row, size_t figure)
{
    return turns_ratio(t, row, SIZE_MAX, figure);
}
