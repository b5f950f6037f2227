/* SPDX-License-Identifier: MIT
 *
 * bfcreate_mpi - make a filter of the lines of a file, on many machines
 *
 * Each rank adds its share of the lines (shard.h) to a filter in its memory. All of these have the
 * same size, so the union is the OR of their bodies, which MPI_Reduce() computes; rank 0 makes the
 * file of it. A filter that lacks the keys of one rank would deny them. So after each step all
 * ranks agree on whether it was done everywhere, and if not, none goes on.
 */
#include "../shared.h"
#include "shard.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 1024
#define CHUNK (64 << 20) /* MPI counts with an int, so a large body goes piece by piece */

struct job {
    const char *path, *input;
    struct bloomfile_params params;
    bool force;
    int chunk, rank, ranks;

    struct shard shard;
    struct stat input_status;
    bloomfile *filter;
    uint8_t *body;      /* of the result; rank 0 only */
    char trouble[1024]; /* what this rank failed at */
};

/* --------------------------------------------------------------------------------- agreement */

__attribute__((format(printf, 3, 4))) static bool failed(struct job *j, int error,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(j->trouble, sizeof j->trouble, format, arguments);
    va_end(arguments);
    if (error != 0 && size >= 0 && (size_t)size < sizeof j->trouble)
        snprintf(j->trouble + size, sizeof j->trouble - (size_t)size, ": %s",
                 bloomfile_strerror(error));
    return false;
}

/* Whether all ranks have done it. If not, the first that has not says why. */
static bool all_done(struct job *j, bool done)
{
    const int mine = done ? j->ranks : j->rank;
    int first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == j->rank)
        warnx("rank %d: %s", j->rank, j->trouble);
    return first == j->ranks;
}

/* ------------------------------------------------------------------------------------- steps */

/* What would be found out at the end only, after all the work. */
static bool check_path(struct job *j)
{
    struct stat status;
    if (stat(j->path, &status) == -1)
        return true;
    if (status.st_dev == j->input_status.st_dev && status.st_ino == j->input_status.st_ino)
        return failed(j, 0, "cannot create %s: it is the file to read keys from", j->path);
    if (!j->force)
        return failed(j, EEXIST, "cannot create %s", j->path);
    return true;
}

static bool prepare(struct job *j)
{
    int error = shard_open(&j->shard, j->input, &j->input_status);
    if (error != 0)
        return failed(j, error, "cannot open %s", j->input);
    if (j->rank == 0 && !check_path(j))
        return false;
    error = bloomfile_create_memory(&j->filter, &j->params, 0);
    if (error != 0)
        return failed(j, error, "cannot make a filter in memory");
    if (j->rank != 0)
        return true;
    size_t size;
    bloomfile_body(j->filter, &size);
    j->body = malloc(size);
    return j->body != NULL || failed(j, ENOMEM, "cannot get memory for the result");
}

/* All ranks must divide the same bytes, or lines might belong to none. */
static bool choose_lines(struct job *j)
{
    const uint64_t own_size = (uint64_t)j->input_status.st_size;
    uint64_t size = own_size;
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (own_size != size)
        return failed(j, 0, "%s has %" PRIu64 " bytes here, but %" PRIu64 " where rank 0 runs",
                      j->input, own_size, size);
    const int error = shard_choose(&j->shard, size, (unsigned)j->rank, (unsigned)j->ranks);
    return error == 0 || failed(j, error, "cannot read %s", j->input);
}

static bool add_lines(struct job *j)
{
    bloomfile_digest digests[BATCH];
    size_t count;
    do {
        int error = shard_read(&j->shard, j->params.seed, digests, BATCH, &count);
        if (error != 0)
            return failed(j, error, "cannot read %s", j->input);
        error = bloomfile_add_digests(j->filter, digests, count, NULL, NULL);
        if (error != 0)
            return failed(j, error, "cannot add keys");
    } while (count > 0);
    return true;
}

static void reduce(struct job *j)
{
    size_t size;
    const uint8_t *body = bloomfile_body(j->filter, &size);
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < (size_t)j->chunk ? size - at : (size_t)j->chunk;
        MPI_Reduce(body + at, j->rank == 0 ? j->body + at : NULL, (int)n, MPI_BYTE, MPI_BOR, 0,
                   MPI_COMM_WORLD);
    }
}

static bool publish(struct job *j)
{
    if (j->rank != 0)
        return true;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(j->filter, &info);
    j->params.bits = info.bits;
    j->params.hashes = info.hashes;
    const int error = bloomfile_assemble(j->path, &j->params, j->body, BLOOMFILE_FROM_MERGE,
                                         UINT64_MAX, j->force ? BLOOMFILE_REPLACE : 0);
    return error == 0 || failed(j, error, "cannot create %s", j->path);
}

static bool report(struct job *j)
{
    if (j->rank != 0)
        return true;
    bloomfile *result;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    int error = bloomfile_open(&result, j->path, 0);
    if (error == 0) {
        error = bloomfile_measure(result, &measure);
        bloomfile_close(result);
    }
    if (error != 0)
        return failed(j, error, "%s is written, but cannot be read", j->path);
    warnx(
        "%s: about %.0f keys, sized for %" PRIu64 "; false-positive rate %.3g %%, %.3g %% promised",
        j->path, measure.keys_estimate, j->params.capacity, 100 * measure.fpr, 100 * j->params.fpr);
    return true;
}

static bool build(struct job *j)
{
    if (!all_done(j, prepare(j)) || !all_done(j, choose_lines(j)) || !all_done(j, add_lines(j)))
        return false;
    reduce(j);
    return all_done(j, publish(j)) && all_done(j, report(j));
}

/* ------------------------------------------------------------------------------ command line */

static const char usage[] =
    "usage: mpirun [-n RANKS] bfcreate_mpi -n CAPACITY [options] FILE KEYFILE\n"
    "Make the Bloom filter FILE from the lines of KEYFILE, which all ranks can read.\n"
    "\n"
    "  -n CAPACITY  size for so many different keys\n"
    "  -p RATE      false-positive rate (default 0.01)\n"
    "  -l LAYOUT    blocked (default) or classic\n"
    "  -s SEED      seed of the hash (default 0)\n"
    "  -c BYTES     that many in each reduction (default 64 MiB)\n"
    "  -f           replace FILE if it exists\n";

/* Counters would have to be added, not ORed. */
static bool take_layout(const char *text, uint32_t *out)
{
    *out = strcmp(text, "classic") == 0 ? BLOOMFILE_CLASSIC : BLOOMFILE_BLOCKED;
    return *out == BLOOMFILE_CLASSIC || strcmp(text, "blocked") == 0;
}

static bool take_option(struct job *j, int option, const char *value)
{
    uint64_t number;
    switch (option) {
    case 'n':
        return parse_number(value, 1, BLOOMFILE_MAX_BITS, &j->params.capacity);
    case 'p':
        return parse_rate(value, &j->params.fpr);
    case 'l':
        return take_layout(value, &j->params.layout);
    case 's':
        return parse_number(value, 0, UINT64_MAX, &j->params.seed);
    case 'c':
        if (!parse_number(value, 1, INT_MAX, &number))
            return false;
        j->chunk = (int)number;
        return true;
    case 'f':
        j->force = true;
        return true;
    default:
        return false;
    }
}

static bool parse(struct job *j, int argc, char **argv)
{
    int option;
    opterr = 0;
    while ((option = getopt(argc, argv, "n:p:l:s:c:f")) != -1) {
        if (!take_option(j, option, optarg))
            return false;
    }
    if (argc - optind != 2 || j->params.capacity == 0)
        return false;
    j->path = argv[optind];
    j->input = argv[optind + 1];
    return true;
}

int main(int argc, char **argv)
{
    struct job j = { .params = BLOOMFILE_PARAMS_INIT, .chunk = CHUNK };
    j.params.fpr = 0.01;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);

    failed(&j, 0, "the command line is wrong\n%s", usage);
    const bool done = all_done(&j, parse(&j, argc, argv)) && build(&j);
    bloomfile_close(j.filter);
    shard_close(&j.shard);
    free(j.body);
    MPI_Finalize();
    return done ? 0 : 2;
}
