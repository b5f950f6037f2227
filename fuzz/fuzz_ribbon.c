/* SPDX-License-Identifier: MIT
 *
 * Fuzzes pages of the layout ribbon. The input chooses the lines and keys of a filter, and changes
 * its heads and words. The checksums are then corrected. Single pages of such a body are valid, so
 * each lookup, by every kernel, must return the result of the definition, until a verification
 * finds a contradiction. After that, every lookup must return "maybe".
 */
#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include "format/checksum.h"
#include "kernel/dispatch.h"
#include "mend.h"
#include "open.h"
#include "plain_ribbon.h"
#include "target.h"

enum {
    EMBEDDED = 512,
    LINES_MOST = 140, /* three pages */
    PAGES_MOST = 3,
    CHOICES = 8, /* bytes at the beginning of the input */
    KEYS = 64,   /* keys for each step of the byte that chooses their number */
    ASKED = 96,
    VALID_HEADS = 1, /* choices */
    OTHER_WORDS = 2,
    OTHER_COUNT = 4
};

struct image {
    uint8_t *bytes, *body; /* allocated with the exact size, so that sanitizers catch overreads */
    size_t size;
    uint64_t lines;
};

static uint64_t digest_of(uint64_t i)
{
    return i * 0x9E3779B97F4A7C15u ^ i << 61;
}

static struct image build(uint64_t lines, uint64_t keys)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct image image = { .lines = lines };
    bloomfile_builder *b;
    struct bloomfile_destination to = bloomfile_to_memory();
    params.layout = BLOOMFILE_LAYOUT_RIBBON;
    params.bits = 512 * lines;
    expect(bloomfile_builder_new(&b, &params) == 0);
    for (uint64_t i = 0; i < keys; i++) {
        const bloomfile_digest digest = digest_of(i);
        expect(bloomfile_builder_add_digests(b, &digest, 1) == 0);
    }
    expect(bloomfile_builder_write(b, &to) == 0);
    bloomfile_builder_free(b);
    image.size = to.size;
    image.bytes = malloc(image.size);
    expect(image.bytes != NULL);
    memcpy(image.bytes, to.memory, image.size);
    image.body = image.bytes + EMBEDDED;
    bloomfile_free(to.memory);
    return image;
}

/* Changes words and heads. The input is repeated as often as necessary. */
static void change(struct image *image, unsigned choices, const uint8_t *data, size_t size)
{
    for (size_t at = 0; (choices & OTHER_WORDS) != 0 && at < 64 * image->lines; at++)
        image->body[at] ^= at % CHECKSUM_PAGE >= 8 ? data[at % size] : 0;
    for (uint64_t page = 0; 64 * page < image->lines; page++) {
        uint8_t *head = image->body + page * CHECKSUM_PAGE, mask[8] = { 0 };
        for (unsigned i = 0; i < sizeof mask && 8 * page + i < size; i++)
            mask[i] = data[8 * page + i];
        put64(head, get64(head) ^ get64(mask));
        if ((choices & VALID_HEADS) != 0)
            put64(head, get64(head) & 0xFFFFFFFF007F01FF);
    }
}

static void mend(struct image *image, bool count)
{
    const size_t size = 64 * (size_t)image->lines;
    const uint32_t whole = checksum(image->body, size);
    uint64_t ones = 0;
    for (size_t at = 0; at < size; at++)
        ones += (unsigned)__builtin_popcount(image->body[at]);
    for (uint64_t page = 0; CHECKSUM_PAGE * page < size; page++)
        put32(image->body + size + 4 * page,
              checksum(image->body + CHECKSUM_PAGE * page, checksum_page_size(size, page)) ^ whole);
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *record = image->bytes + EMBEDDED / 2 + EMBEDDED / 4 * slot;
        put32(record + RECORD_AT_body_crc, whole);
        if (count)
            put64(record + RECORD_AT_ones, ones);
    }
    mend_checksums(image->bytes, image->size);
}

struct answers {
    bloomfile_digest digests[ASKED];
    bool due[ASKED];
    size_t hits;
};

/* Computes the results by the definition. Half of the keys were added; some end a page. */
static struct answers answers_due(const struct image *image, uint64_t first)
{
    struct answers a = { .hits = 0 };
    for (unsigned i = 0; i < ASKED; i++) {
        a.digests[i] = digest_of(i % 2 == 0 ? i / 2 : first + i);
        if (i % 16 == 15)
            a.digests[i] = i % 32 == 31 ? UINT64_MAX - i / 32 : i / 32;
        a.due[i] = plain_body_has(image->body, image->lines, a.digests[i]);
        a.hits += a.due[i];
    }
    return a;
}

static void ask_kernels(const struct image *image, const struct answers *a)
{
    static const char *const names[] = { "scalar", "avx2", "avx512", "neon" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[i]);
        for (unsigned known = 0; kernel != NULL && known < 2; known++) {
            _Atomic uint32_t shapes[PAGES_MOST] = { 0 };
            const struct kernel_view view = { .body = image->body,
                                              .units = image->lines,
                                              .shapes = known ? shapes : NULL };
            bool hits[ASKED];
            kernel->expect(&view, a->digests, ASKED);
            expect(kernel->contains_many(&view, a->digests, ASKED, hits) == a->hits);
            expect(memcmp(hits, a->due, sizeof hits) == 0);
            for (unsigned j = 0; j < ASKED; j++)
                expect(kernel->contains(&view, a->digests[j]) == a->due[j]);
        }
    }
}

/* Looks up the keys. If `all`, every lookup must return "maybe". */
static void ask(const bloomfile_filter *f, const struct answers *a, bool all)
{
    bool hits[ASKED];
    expect(bloomfile_contains_digests(f, a->digests, ASKED, hits) == (all ? ASKED : a->hits));
    for (unsigned i = 0; i < ASKED; i++) {
        expect(hits[i] == (all || a->due[i]));
        expect(bloomfile_contains_digest(f, a->digests[i]) == hits[i]);
    }
}

static void open_and_ask(const struct image *image, const struct answers *a, unsigned flags)
{
    bloomfile_filter *f;
    struct bloomfile_fault fault = { 0 };
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    expect(open_from(&f, bloomfile_from_memory(image->bytes, image->size), flags) == 0);
    ask(f, a, false);
    expect(bloomfile_check(f) == 0);
    const int error = bloomfile_verify(f, 1, &fault);
    expect(error == 0 || (error == BLOOMFILE_EBODY && fault.error == error));
    expect(bloomfile_check(f) == error);
    expect(bloomfile_measure(f, &measure) == 0 && measure.fpr > 0 && measure.fpr <= 1);
    ask(f, a, error != 0);
    bloomfile_close(f);
    expect(open_from(&f, bloomfile_from_memory(image->bytes, image->size),
                     BLOOMFILE_OPEN_VERIFY_FULL) == error);
    if (error == 0)
        ask(f, a, false);
    bloomfile_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= CHOICES)
        return 0;
    const unsigned choices = data[0];
    struct image image = build(1 + data[1] % LINES_MOST, (uint64_t)data[2] * KEYS);
    change(&image, choices, data + CHOICES, size - CHOICES);
    mend(&image, (choices & OTHER_COUNT) == 0);
    const struct answers a = answers_due(&image, get32(data + 4));
    ask_kernels(&image, &a);
    open_and_ask(&image, &a, 0);
    open_and_ask(&image, &a, BLOOMFILE_OPEN_VERIFY_NONE);
    free(image.bytes);
    return 0;
}
