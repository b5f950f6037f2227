/* SPDX-License-Identifier: MIT
 *
 * A storage engine's table: sorted rows in blocks, a filter for each partition of the blocks, and a
 * cache of filters. The program writes a table with each kind of filter, and compares them.
 *
 *     partitions: 1024 blocks, their filter | index: partitions, first key of each block | footer
 *
 * The parts to copy are build_filter(), open_filter(), may_have() and multi_get(). A filter that
 * cannot be used is reported and costs reads. Other errors end the program.
 */
#include "../shared.h"

#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY       16u /* bytes, as of a row and a block */
#define ROW       128u
#define BLOCK     4096u
#define IN_BLOCK  (BLOCK / ROW)
#define PARTITION 1024u /* blocks */
#define CACHE     (64u << 20)
#define SEED      0u     /* for all tables, so that a get hashes its key once */
#define GROUP     32u    /* keys of a multi_get(), at most */
#define GETS      64000u /* of the comparison */

enum choice {
    NONE,
    PLAIN,
    BLOCKED,
    RIBBON,
    CHOICES
};
static const char *const names[CHOICES] = { "none", "plain", "blocked", "ribbon" };

struct part {
    uint64_t blocks, filter, filter_size; /* offsets in the file, and bytes */
};

struct footer {
    uint8_t identity[BLOOMFILE_TAG_SIZE]; /* random; the tag of the table's filters */
    uint64_t choice, rows, index, index_checksum;
};

struct cached {
    uint8_t *bytes; /* NULL: not cached */
    bloomfile_filter *filter;
    struct bloomfile_pinned pin; /* answers "maybe" without a filter */
    uint64_t charge;
};

struct table {
    int fd;
    struct footer footer;
    uint64_t blocks;
    size_t partitions, index_size;
    struct part *parts;
    uint8_t (*firsts)[KEY]; /* after the parts */
    struct cached *cache;   /* of each partition */
    uint64_t charge, hand, reads, filter_bytes;
};

/* ---- the alternative: a plain filter of blocks of 512 bits, as engines often write themselves. It
 * has no header and no checksum, and answers for any table and any hash. */

#define PLAIN_BLOCK  64u
#define PLAIN_HASHES 6u

/* Whether the key may be in the filter. With `add`, also adds it. */
static inline bool plain_has(uint8_t *filter, uint64_t size, uint64_t digest, bool add)
{
    uint8_t *block = filter + ((digest >> 32) * (size / PLAIN_BLOCK) >> 32) * PLAIN_BLOCK;
    uint32_t h = (uint32_t)digest;
    for (unsigned i = 0; i < PLAIN_HASHES; i++) {
        h *= 0x9E3779B1u;
        const uint8_t bit = (uint8_t)(1u << (h >> 23) % 8);
        if (add)
            block[h >> 26] |= bit;
        else if ((block[h >> 26] & bit) == 0)
            return false;
    }
    return true;
}

/* Roughly the size that keeps the rate. Crowded blocks are not accounted for. */
static void *build_plain(const bloomfile_digest *digests, size_t n, double rate, uint64_t *size)
{
    *size = ((uint64_t)(-log2(rate) * 1.5 * (double)n / 8) / PLAIN_BLOCK + 1) * PLAIN_BLOCK;
    uint8_t *filter = not_null(calloc(1, (size_t)*size));
    for (size_t i = 0; i < n; i++)
        plain_has(filter, *size, digests[i], true);
    return filter;
}

/* ---- writing */

static void make_index(struct table *t)
{
    t->blocks = (t->footer.rows + IN_BLOCK - 1) / IN_BLOCK;
    t->partitions = (size_t)((t->blocks + PARTITION - 1) / PARTITION);
    t->index_size = t->partitions * sizeof *t->parts + (size_t)t->blocks * KEY;
    t->parts = not_null(calloc(1, t->index_size));
    t->firsts = (uint8_t(*)[KEY])(t->parts + t->partitions);
}

/* Row i has the key of the number 2 * i. Keys of odd numbers are absent. */
static void make_key(uint8_t key[KEY], uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "user%012" PRIu64, number);
    memcpy(key, text, KEY);
}

/* One builder makes the filters of all partitions. */
static void *build_filter(bloomfile_builder *b, const uint8_t *identity,
                          const bloomfile_digest *digests, size_t n, uint64_t *size)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_builder_reset(b);
    bloomfile_builder_set_tag(b, identity);
    check_bloomfile(bloomfile_builder_add_digests(b, digests, n), "add keys to", "a filter");
    check_bloomfile(bloomfile_builder_write(b, &to), "build", "a filter");
    *size = to.size;
    return to.memory;
}

static size_t write_rows(FILE *file, const struct table *t, uint64_t p, bloomfile_digest *digests)
{
    size_t n = 0;
    for (uint64_t b = p * PARTITION; b < t->blocks && b < (p + 1) * PARTITION; b++) {
        uint8_t block[BLOCK] = { 0 };
        for (uint64_t i = b * IN_BLOCK; i < t->footer.rows && i < (b + 1) * IN_BLOCK; i++) {
            uint8_t *row = block + i % IN_BLOCK * ROW;
            make_key(row, 2 * i);
            digests[n++] = bloomfile_hash(SEED, row, KEY);
        }
        memcpy(t->firsts[b], block, KEY);
        write_bytes(file, block, sizeof block);
    }
    return n;
}

static void write_table(const char *path, enum choice choice, uint64_t rows, double rate)
{
    static bloomfile_digest digests[PARTITION * IN_BLOCK];
    struct table t = { .footer = { .choice = choice, .rows = rows } };
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.layout = choice == RIBBON ? BLOOMFILE_LAYOUT_RIBBON : BLOOMFILE_LAYOUT_BLOCKED;
    params.fpr = rate;
    params.seed = SEED;
    check_bloomfile(bloomfile_builder_new(&builder, &params), "make", "a builder");
    FILE *file = fopen(path, "we");
    if (file == NULL || getentropy(t.footer.identity, BLOOMFILE_TAG_SIZE) != 0)
        err(2, "cannot create %s", path);
    make_index(&t);
    for (uint64_t p = 0; p < t.partitions; p++) {
        struct part *part = &t.parts[p];
        part->blocks = (uint64_t)ftello(file);
        const size_t n = write_rows(file, &t, p, digests);
        part->filter = (uint64_t)ftello(file);
        void *filter = NULL;
        if (choice == PLAIN)
            filter = build_plain(digests, n, rate, &part->filter_size);
        else if (choice != NONE)
            filter = build_filter(builder, t.footer.identity, digests, n, &part->filter_size);
        write_bytes(file, filter, (size_t)part->filter_size);
        choice == PLAIN ? free(filter) : bloomfile_free(filter);
    }
    t.footer.index = (uint64_t)ftello(file);
    t.footer.index_checksum = bloomfile_hash(SEED, t.parts, t.index_size);
    write_bytes(file, t.parts, t.index_size);
    write_bytes(file, &t.footer, sizeof t.footer);
    if (fflush(file) != 0 || fsync(fileno(file)) != 0 || fclose(file) != 0)
        err(2, "cannot write %s", path);
    bloomfile_builder_free(builder);
    free(t.parts);
}

/* ---- the cache of filters */

/* Opens a filter in bytes that the engine has read. It must have this table's tag, hash and seed.
 * The whole filter is checked now, so that every lookup is inlined. After an error the pin has no
 * filter, and each lookup answers "maybe". */
static void open_filter(const struct table *t, struct cached *c, size_t size)
{
    const struct bloomfile_source from = bloomfile_from_memory(c->bytes, size);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    how.flags = BLOOMFILE_OPEN_VERIFY_FULL;
    how.expect = BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEED | BLOOMFILE_EXPECT_SEALED |
                 BLOOMFILE_EXPECT_HASH;
    how.hash_id = BLOOMFILE_HASH_XXH3;
    how.seed = SEED;
    memcpy(how.tag, t->footer.identity, sizeof how.tag);
    int error = bloomfile_open_with(&c->filter, &from, &how);
    if (error == 0 && (error = bloomfile_get_info(c->filter, &info)) == 0)
        error = bloomfile_pin(c->filter, &c->pin);
    if (error != 0)
        warnx("cannot use a filter: %s", bloomfile_strerror(error));
    c->charge += info.heap_size;
}

static void drop_filter(struct table *t, struct cached *c)
{
    bloomfile_close(c->filter);
    free(c->bytes);
    t->charge -= c->charge;
    *c = (struct cached){ .pin = BLOOMFILE_PINNED_INIT };
}

/* The filter of a partition. Loading it may drop other filters, in turn, until it fits. */
static struct cached *filter_of(struct table *t, uint64_t p)
{
    struct cached *c = &t->cache[p];
    if (c->bytes != NULL)
        return c;
    const size_t size = (size_t)t->parts[p].filter_size;
    c->bytes = not_null(aligned_alloc(64, (size + 63) / 64 * 64)); /* a lookup reads one line */
    read_bytes(t->fd, c->bytes, size, t->parts[p].filter);
    c->charge = size;
    if (t->footer.choice != PLAIN)
        open_filter(t, c, size);
    t->charge += c->charge;
    for (; t->charge > CACHE && t->charge > c->charge; t->hand++)
        if (t->hand % t->partitions != p)
            drop_filter(t, &t->cache[t->hand % t->partitions]);
    return c;
}

static bool may_have(struct table *t, uint64_t p, bloomfile_digest digest)
{
    if (t->footer.choice == NONE)
        return true;
    struct cached *c = filter_of(t, p);
    return t->footer.choice == PLAIN ? plain_has(c->bytes, t->parts[p].filter_size, digest, false)
                                     : bloomfile_pinned_contains_digest(&c->pin, digest);
}

/* ---- reading */

static void open_table(struct table *t, const char *path)
{
    *t = (struct table){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
    const off_t size = t->fd >= 0 ? lseek(t->fd, 0, SEEK_END) : -1;
    if (size < (off_t)sizeof t->footer)
        errx(2, "cannot open %s", path);
    read_bytes(t->fd, &t->footer, sizeof t->footer, (uint64_t)size - sizeof t->footer);
    make_index(t);
    const bool fits = t->footer.index + t->index_size + sizeof t->footer == (uint64_t)size;
    if (fits)
        read_bytes(t->fd, t->parts, t->index_size, t->footer.index);
    if (!fits || bloomfile_hash(SEED, t->parts, t->index_size) != t->footer.index_checksum)
        errx(2, "%s is damaged", path);
    t->cache = not_null(aligned_alloc(64, t->partitions * sizeof *t->cache)); /* for pins */
    for (uint64_t p = 0; p < t->partitions; p++) {
        t->cache[p] = (struct cached){ .pin = BLOOMFILE_PINNED_INIT };
        t->filter_bytes += t->parts[p].filter_size;
    }
}

static uint64_t block_of(const struct table *t, const uint8_t *key)
{
    uint64_t low = 0, high = t->blocks;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        *(memcmp(t->firsts[middle], key, KEY) <= 0 ? &low : &high) = middle;
    }
    return low;
}

static bool search(struct table *t, uint64_t b, const uint8_t *key)
{
    uint8_t block[BLOCK];
    bool found = false;
    t->reads++;
    read_bytes(t->fd, block, BLOCK, t->parts[b / PARTITION].blocks + b % PARTITION * BLOCK);
    for (unsigned i = 0; i < IN_BLOCK && !found; i++)
        found = memcmp(block + i * ROW, key, KEY) == 0;
    return found;
}

/* Looks up 1 to GROUP keys. Their cache lines are fetched in parallel. */
static unsigned multi_get(struct table *t, uint8_t (*keys)[KEY], unsigned n)
{
    uint64_t b[GROUP];
    bloomfile_digest digests[GROUP];
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++) {
        b[i] = block_of(t, keys[i]);
        digests[i] = bloomfile_hash(SEED, keys[i], KEY);
        if (t->footer.choice >= BLOCKED)
            bloomfile_pinned_prefetch(&filter_of(t, b[i] / PARTITION)->pin, digests[i]);
    }
    for (unsigned i = 0; i < n; i++)
        found += may_have(t, b[i] / PARTITION, digests[i]) && search(t, b[i], keys[i]);
    return found;
}

/* ---- the comparison */

/* Looks up random keys in groups of n. Returns processor time in ns a key. */
static double gets(struct table *t, unsigned n, bool absent, unsigned *found)
{
    static uint8_t keys[GETS][KEY];
    for (uint64_t i = 0, state = 1; i < GETS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        make_key(keys[i], (state >> 20) % t->footer.rows * 2 + absent);
    }
    t->reads = *found = 0;
    const clock_t start = clock();
    for (unsigned i = 0; i < GETS; i += n)
        *found += multi_get(t, keys + i, n);
    return (double)(clock() - start) / CLOCKS_PER_SEC / GETS * 1e9;
}

int main(int argc, char **argv)
{
    const uint64_t rows = argc == 3 ? strtoull(argv[2], NULL, 10) : 1000000;
    if (argc < 2 || argc > 3 || rows == 0)
        errx(2, "usage: engine FILE [ROWS]");
    puts("filter   bits a key  reads an absent key  ns an absent key  in groups of 32");
    for (enum choice choice = NONE; choice < CHOICES; choice++) {
        struct table t;
        unsigned found;
        write_table(argv[1], choice, rows, 0.01);
        open_table(&t, argv[1]);
        gets(&t, 1, false, &found);
        if (found != GETS)
            errx(1, "%s: %u of %u keys are lost", names[choice], GETS - found, GETS);
        const double one = gets(&t, 1, true, &found), reads = (double)t.reads / GETS;
        const double bits = 8 * (double)t.filter_bytes / (double)rows;
        printf("%-8s %10.2f %20.4f %17.0f %16.0f\n", names[choice], bits, reads, one,
               gets(&t, GROUP, true, &found));
        for (uint64_t p = 0; p < t.partitions; p++)
            drop_filter(&t, &t.cache[p]);
        close(t.fd);
        free(t.cache);
        free(t.parts);
    }
    return 0;
}
