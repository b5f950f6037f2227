/* SPDX-License-Identifier: MIT
 *
 * bfcreate_mpi - make a filter of the lines of a file, on many machines
 *
 * Each rank reads its share of the lines (shard.h) and hands each digest to the rank whose slice of
 * the filter it belongs to (exchange.h). Each builds that slice; all write into one file, which
 * rank 0 publishes (target.h). So nobody has the whole filter, and it is byte for byte the one that
 * bfcreate makes. A filter that lacks the keys of one rank would deny them. So after each step all
 * ranks agree on whether it was done everywhere, and if not, none goes on.
 */
#include "../shared.h"
#include "exchange.h"
#include "shard.h"
#include "target.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEADER      4096u
#define PAGE        4096u
#define PAGE_BLOCKS 64u
#define MOST_SLICES 65536u
#define MIB         (1u << 20)
#define PIECE       MIB        /* of the file in one write */
#define EXCHANGE    (4 * MIB)  /* out of a rank in one round, and as much in */
#define MEMORY      (32 * MIB) /* beside the size of a slice, for digests */
#define OVERFULL    2          /* times the promised rate, as for bfcreate */

struct job {
    const char *path, *input;
    struct bloomfile_params params;
    size_t exchange_size;
    bool force, tell;
    int rank, ranks;

    struct shard shard;
    struct stat input_status;
    uint64_t bits, file_size; /* of the whole filter */
    struct target target;
    struct exchange exchange;
    bloomfile_builder *builder; /* NULL: there are fewer slices than ranks */
    uint64_t lines;
    int fd; /* of the slice: a file of this rank's own, without a name */
    uint8_t header[HEADER];
    struct bloomfile_info slice, whole;

    double began;
    long memory_before;
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

static bool mpi_failed(struct job *j, int error, const char *what)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int size;
    MPI_Error_string(error, why, &size);
    return failed(j, 0, "cannot %s %s, which is to become %s: %s", what, j->target.temporary,
                  j->path, why);
}

/* Whether all ranks have done it; *more (may be NULL): whether any has more to do. If not all have,
 * the first of those says why. */
static bool all_done_so_far(struct job *j, bool done, bool *more)
{
    const int mine[2] = { done ? j->ranks : j->rank, more != NULL && *more ? 0 : 1 };
    int least[2];
    MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (least[0] == j->rank)
        warnx("rank %d: %s", j->rank, j->trouble);
    if (more != NULL)
        *more = least[1] == 0;
    return least[0] == j->ranks;
}

static bool all_done(struct job *j, bool done)
{
    return all_done_so_far(j, done, NULL);
}

/* --------------------------------------------------------------------------------- preparing */

/* Of whole pages; at most one for each rank. */
static uint32_t slices_of(const struct job *j)
{
    const uint64_t pages = (j->bits / 8 + PAGE - 1) / PAGE;
    const uint64_t ranks = j->ranks < (int)MOST_SLICES ? (uint64_t)j->ranks : MOST_SLICES;
    return (uint32_t)(pages < ranks ? pages : ranks);
}

static const char *spool_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

static bool plan(struct job *j)
{
    struct bloomfile_params *p = &j->params;
    j->bits = bloomfile_bits_for(p->layout, p->capacity, p->fpr, 0);
    if (j->bits == 0)
        return failed(j, BLOOMFILE_EUNREACHABLE, "cannot make a filter for %" PRIu64 " keys",
                      p->capacity);
    const uint64_t pages = (j->bits / 8 + PAGE - 1) / PAGE;
    j->file_size = HEADER + pages * (PAGE + 4);
    p->slices = slices_of(j);
    p->over_capacity = 1; /* join_headers() judges the whole */
    p->slice = (uint32_t)j->rank;
    p->spool = spool_folder();
    if (p->memory == 0)
        p->memory = j->file_size / p->slices + MEMORY;
    if (p->slice >= p->slices)
        return true;
    const int error = bloomfile_builder_new(&j->builder, p);
    return error == 0 || failed(j, error, "cannot make a filter for %" PRIu64 " keys", p->capacity);
}

static bool cannot_create(struct job *j, int error)
{
    if (j->target.kept != NULL)
        return failed(j, 0, "cannot replace %s: %s", j->path, j->target.kept);
    return failed(j, error, "cannot create %s", j->path);
}

static bool start_target(struct job *j)
{
    const struct stat *input = &j->input_status;
    int error = target_look(&j->target, j->path, j->force);
    struct stat *old = &j->target.old;
    if (j->target.exists && old->st_dev == input->st_dev && old->st_ino == input->st_ino)
        return failed(j, 0, "cannot create %s: it is the file to read keys from", j->path);
    if (error == 0)
        error = target_start(&j->target, j->file_size);
    return error == 0 || cannot_create(j, error);
}

static bool prepare(struct job *j)
{
    int error = shard_open(&j->shard, j->input, &j->input_status);
    if (error != 0)
        return failed(j, error, "cannot open %s", j->input);
    if (!plan(j))
        return false;
    error = exchange_init(&j->exchange, j->exchange_size, j->rank, j->ranks);
    if (error != 0)
        return failed(j, error, "cannot exchange digests");
    return j->rank != 0 || start_target(j);
}

/* ----------------------------------------------------------------------------------- digests */

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

/* Until there is no room for more in this round, or there are no lines any more. */
static bool read_lines(struct job *j, bool *more)
{
    for (bool room = true; room;) {
        bloomfile_digest digest;
        const int error = shard_next(&j->shard, j->params.seed, &digest, more);
        if (error != 0)
            return failed(j, error, "cannot read %s", j->input);
        if (!*more)
            return true;
        j->lines++;
        room = exchange_put(&j->exchange, bloomfile_slice_of(j->bits, j->params.slices, digest),
                            digest);
    }
    return true;
}

static bool add_digests(struct job *j)
{
    const struct exchange *x = &j->exchange;
    int error = 0;
    for (int i = 0; i < x->ranks && error == 0; i++)
        if (x->came[i] > 0)
            error =
                bloomfile_builder_add_digests(j->builder, x->in + x->places[i], (size_t)x->came[i]);
    return error == 0 ||
           failed(j, error, "cannot keep digests in a temporary file in %s", j->params.spool);
}

static bool share_out(struct job *j)
{
    for (bool more = true; more;) {
        bool done = read_lines(j, &more);
        exchange_turn(&j->exchange);
        done = add_digests(j) && done;
        if (!all_done_so_far(j, done, &more))
            return false;
    }
    exchange_free(&j->exchange);
    return true;
}

/* ------------------------------------------------------------------------------------ slices */

static int read_slice(const struct job *j, void *bytes, size_t size, uint64_t at)
{
    const ssize_t got = pread(j->fd, bytes, size, (off_t)at);
    return got == (ssize_t)size ? 0 : got == -1 ? errno : EIO;
}

static int open_unnamed(const char *folder)
{
    char *path = join(folder, "/", "bfcreate_mpi.XXXXXX");
    const int fd = mkstemp(path);
    if (fd != -1)
        unlink(path);
    free(path);
    return fd;
}

/* A file of its own, from which it is copied: a filter is made in any order, and written in one. */
static bool build_slice(struct job *j)
{
    struct stat status;
    if (j->builder == NULL)
        return true;
    j->fd = open_unnamed(j->params.spool);
    int error = j->fd == -1 ? errno : bloomfile_builder_finish_fd(j->builder, j->fd);
    bloomfile_builder_free(j->builder);
    j->builder = NULL;
    if (error == 0)
        error = read_slice(j, j->header, HEADER, 0);
    if (error == 0 && fstat(j->fd, &status) == -1)
        error = errno;
    if (error == 0)
        error = bloomfile_inspect(j->header, (uint64_t)status.st_size, &j->slice, NULL, NULL);
    return error == 0 ||
           failed(j, error, "cannot make a slice in a temporary file in %s", j->params.spool);
}

/* The header of the whole, at rank 0. */
static bool join_slices(struct job *j, const uint8_t *headers)
{
    if (j->rank != 0)
        return true;
    const int error = bloomfile_join_headers(j->header, headers, j->params.slices, 0);
    if (error != 0)
        return failed(j, error, "cannot join the slices");
    bloomfile_inspect(j->header, (uint64_t)j->file_size, &j->whole, NULL, NULL);
    if (j->whole.keys == 0 && j->target.exists)
        return failed(j, 0,
                      "cannot replace %s: the input has no keys (did the program that writes the "
                      "keys fail?), and its keys would be lost",
                      j->path);
    return true;
}

static double rate_of(const struct bloomfile_info *i)
{
    return bloomfile_fpr_for(i->layout, i->bits, i->hashes, i->keys);
}

/* All ranks learn what the header of the whole says, and where the file is. */
static bool join_headers(struct job *j)
{
    uint8_t *headers = j->rank == 0 ? malloc((size_t)j->ranks * HEADER) : NULL;
    const bool ready = j->rank != 0 || headers != NULL || failed(j, ENOMEM, "cannot join slices");
    if (!all_done(j, ready)) {
        free(headers);
        return false;
    }
    MPI_Gather(j->header, HEADER, MPI_BYTE, headers, HEADER, MPI_BYTE, 0, MPI_COMM_WORLD);
    const bool done = all_done(j, join_slices(j, headers));
    free(headers);
    if (!done)
        return false;
    MPI_Bcast(j->header, HEADER, MPI_BYTE, 0, MPI_COMM_WORLD);
    int error = bloomfile_inspect(j->header, (uint64_t)j->file_size, &j->whole, NULL, NULL);
    if (error == 0 && rate_of(&j->whole) > OVERFULL * j->whole.fpr)
        error = BLOOMFILE_EFULL;
    return all_done(j, error == 0 || failed(j, error, "cannot create %s of %" PRIu64 " keys",
                                            j->path, j->whole.keys));
}

/* ---------------------------------------------------------------------------------- the file */

/* A stretch of the slice, and where it goes. */
struct stretch {
    uint64_t from, to, size;
    uint32_t mask; /* by which each number of 4 bytes is XORed */
};

static int read_piece(const struct job *j, const struct stretch *s, uint64_t at, uint8_t *piece,
                      size_t size)
{
    const int error = read_slice(j, piece, size, s->from + at);
    const uint32_t mask = htole32(s->mask);
    for (size_t i = 0; mask != 0 && i < size; i += sizeof mask) {
        uint32_t number;
        memcpy(&number, piece + i, sizeof number);
        number ^= mask;
        memcpy(piece + i, &number, sizeof number);
    }
    return error;
}

/* Each rank writes by itself: MPI_File_write_at_all() would send all to a few that write. */
static bool copy_stretch(struct job *j, MPI_File file, struct stretch s, uint8_t *piece)
{
    for (uint64_t at = 0; at < s.size; at += PIECE) {
        const size_t size = s.size - at < PIECE ? s.size - at : PIECE;
        int error = read_piece(j, &s, at, piece, size);
        if (error != 0)
            return failed(j, error, "cannot read a temporary file in %s", j->params.spool);
        int written = 0;
        MPI_Status status;
        error =
            MPI_File_write_at(file, (MPI_Offset)(s.to + at), piece, (int)size, MPI_BYTE, &status);
        if (error == MPI_SUCCESS)
            MPI_Get_count(&status, MPI_BYTE, &written);
        if (written != (int)size)
            return mpi_failed(j, error != MPI_SUCCESS ? error : MPI_ERR_IO, "write");
    }
    return true;
}

/* The slice's pages, and their checksums: in the table of the whole each is XORed with the checksum
 * of that body, as in the slice's with that of its own. */
static bool copy_slice(struct job *j, MPI_File file, uint8_t *piece)
{
    const uint64_t page = j->slice.first_block / PAGE_BLOCKS;
    const struct stretch body = { HEADER, HEADER + page * PAGE, j->slice.body_size, 0 };
    const struct stretch sums = { HEADER + body.size, HEADER + j->whole.body_size + 4 * page,
                                  4 * j->slice.pages, j->slice.body_crc ^ j->whole.body_crc };
    return copy_stretch(j, file, body, piece) && copy_stretch(j, file, sums, piece);
}

static bool write_slices(struct job *j)
{
    MPI_File file;
    uint8_t *piece = malloc(PIECE);
    if (!all_done(j, piece != NULL || failed(j, ENOMEM, "cannot write %s", j->path))) {
        free(piece);
        return false;
    }
    int error =
        MPI_File_open(MPI_COMM_WORLD, j->target.temporary, MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    const bool opened = all_done(j, error == MPI_SUCCESS || mpi_failed(j, error, "open"));
    bool done = opened && copy_slice(j, file, piece);
    free(piece);
    if (opened) {
        error = MPI_File_sync(file);
        if (error != MPI_SUCCESS)
            done = mpi_failed(j, error, "write");
        error = MPI_File_close(&file);
        if (error != MPI_SUCCESS)
            done = mpi_failed(j, error, "close");
    }
    return opened && all_done(j, done);
}

static bool publish(struct job *j)
{
    if (j->rank != 0)
        return true;
    const int error = target_publish(&j->target, j->header, HEADER);
    if (error != 0 && j->target.in_place)
        return failed(j, error, "%s is in place, but perhaps not on disk", j->path);
    return error == 0 || cannot_create(j, error);
}

static bool make_file(struct job *j)
{
    MPI_Bcast(j->target.temporary, sizeof j->target.temporary, MPI_BYTE, 0, MPI_COMM_WORLD);
    target_guard(&j->target);
    return all_done(j, choose_lines(j)) && share_out(j) && all_done(j, build_slice(j)) &&
           join_headers(j) && write_slices(j) && all_done(j, publish(j));
}

/* ------------------------------------------------------------------------------------ report */

static long peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* What it took. The headers of the slices, which go to rank 0, count too. */
static void tell(const struct job *j)
{
    const long long sums[] = { (long long)j->lines,
                               j->exchange.sent + (j->rank != 0 ? HEADER : 0) };
    const long long mine[] = { peak_memory(), j->memory_before };
    long long all[2], most[2];
    MPI_Reduce(sums, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, most, 2, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (j->rank == 0)
        warnx("%lld lines, %lld bytes sent (%.3g a line) in %lld rounds, %lld KiB of memory at most"
              " (%lld before it began), %.2f s",
              all[0], all[1], all[0] == 0 ? 0 : (double)all[1] / (double)all[0],
              (long long)j->exchange.rounds, most[0], most[1], MPI_Wtime() - j->began);
}

static void report(const struct job *j)
{
    const struct bloomfile_info *i = &j->whole;
    if (j->tell)
        tell(j);
    if (j->rank != 0)
        return;
    warnx("%s: %" PRIu64 " keys, sized for %" PRIu64 "; false-positive rate %.3g%%, target %.3g%%",
          j->path, i->keys, i->capacity, 100 * rate_of(i), 100 * i->fpr);
    if (i->keys == 0)
        warnx("%s: it has no keys, so every lookup returns no", j->path);
}

/* ------------------------------------------------------------------------------ command line */

static const char usage[] =
    "usage: mpirun [-n RANKS] bfcreate_mpi -n CAPACITY [options] FILE KEYFILE\n"
    "Make the Bloom filter FILE from the lines of KEYFILE, which all ranks can read.\n"
    "\n"
    "  -n CAPACITY  size for so many different keys\n"
    "  -p RATE      false-positive rate (default 0.01)\n"
    "  -l LAYOUT    blocked (default); others have no slices\n"
    "  -s SEED      seed of the hash (default 0)\n"
    "  -f           replace FILE if it exists\n"
    "  -M BYTES     memory of a rank for digests (default 32 MiB and the size of a slice)\n"
    "  -b BYTES     so much goes out of a rank in one round (default 4 MiB), and as much in\n"
    "  -v           tell what was sent, and what memory it took\n";

static bool take_layout(struct job *j, const char *text)
{
    if (strcmp(text, "blocked") == 0)
        return true;
    if (strcmp(text, "ribbon") == 0)
        return failed(j, 0,
                      "the layout ribbon is built from all keys at once: use bfcreate -l ribbon,"
                      " which sorts them in little memory");
    if (strcmp(text, "classic") == 0 || strcmp(text, "counting") == 0)
        return failed(j, 0,
                      "the layout %s has no slices: make a filter of each part of the keys with"
                      " bfcreate -l %s -n CAPACITY, and join them with bfmerge",
                      text, text);
    return false;
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
        return take_layout(j, value);
    case 's':
        return parse_number(value, 0, UINT64_MAX, &j->params.seed);
    case 'f':
        j->force = true;
        return true;
    case 'M':
        return parse_number(value, 1, UINT64_MAX, &j->params.memory);
    case 'b':
        if (!parse_number(value, 1, SIZE_MAX, &number))
            return false;
        j->exchange_size = (size_t)number;
        return true;
    case 'v':
        j->tell = true;
        return true;
    default:
        return false;
    }
}

static bool parse(struct job *j, int argc, char **argv)
{
    int option;
    opterr = 0;
    failed(j, 0, "the command line is wrong\n%s", usage);
    while ((option = getopt(argc, argv, "n:p:l:s:fM:b:v")) != -1) {
        if (!take_option(j, option, optarg))
            return false;
    }
    if (argc - optind != 2)
        return false;
    j->path = argv[optind];
    j->input = argv[optind + 1];
    return j->params.capacity != 0 ||
           failed(j, 0,
                  "give the capacity with -n: how many different keys there are at most, such as"
                  " the number of lines");
}

int main(int argc, char **argv)
{
    struct job j = { .params = BLOOMFILE_PARAMS_INIT, .exchange_size = EXCHANGE, .fd = -1 };
    j.params.layout = BLOOMFILE_BLOCKED;
    j.params.fpr = 0.01;
    j.params.framing = BLOOMFILE_LINES;
    j.slice = j.whole = (struct bloomfile_info)BLOOMFILE_INFO_INIT;
    j.target.fd = -1;
    take_descriptors();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
    j.began = MPI_Wtime();
    j.memory_before = peak_memory();

    const bool done =
        all_done(&j, parse(&j, argc, argv)) && all_done(&j, prepare(&j)) && make_file(&j);
    if (done)
        report(&j);
    target_end(&j.target);
    bloomfile_builder_free(j.builder);
    exchange_free(&j.exchange);
    shard_close(&j.shard);
    if (j.fd != -1)
        close(j.fd);
    MPI_Finalize();
    return done ? 0 : 2;
}
