/* SPDX-License-Identifier: MIT
 * The test vectors of format-spec.md, section 20, and of slices.md and live.md: tests/vectors.tsv.
 */
#include "spec_text.h"

#include <bloomfile_inspect.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/header.h"
#include "format/layout.h"
#include "format/probe.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"

static uint8_t test_string[4096]; /* section 9.2 */

TEST(digests_match_the_vectors)
{
    for_each_vector(line, "digest", 30)
    {
        char seed[17], digest[17], word[64];
        unsigned length;
        const void *key = test_string;
        if (sscanf(line, "digest seed=%16[0-9a-f] length=%u %16[0-9a-f]", seed, &length, digest) !=
            3) {
            if (sscanf(line, "digest seed=%16[0-9a-f] text=%63s %16[0-9a-f]", seed, word, digest) !=
                3)
                fail_msg("not understood: %s", line);
            key = word;
            length = (unsigned)strlen(word);
        }
        assert_true(length <= sizeof test_string);
        assert_int_equal(bloomfile_hash(hex(seed), key, length), hex(digest));
    }
}

TEST(checksums_match_the_vectors)
{
    for_each_vector(line, "crc", 1)
    {
        char word[64], crc[9];
        if (sscanf(line, "crc text=%63s %8[0-9a-f]", word, crc) != 2)
            fail_msg("not understood: %s", line);
        assert_int_equal(checksum((const uint8_t *)word, strlen(word)), hex(crc));
    }
}

TEST(self_tests_match_the_vectors)
{
    for_each_vector(line, "selftest", 2)
    {
        char seed[17], self_test[17];
        if (sscanf(line, "selftest seed=%16[0-9a-f] %16[0-9a-f]", seed, self_test) != 2)
            fail_msg("not understood: %s", line);
        assert_int_equal(hash_self_test(hex(seed)), hex(self_test));
    }
}

static uint32_t layout_named(const char *name)
{
    return strcmp(name, "blocked") == 0   ? BLOOMFILE_LAYOUT_BLOCKED
           : strcmp(name, "classic") == 0 ? BLOOMFILE_LAYOUT_CLASSIC
           : strcmp(name, "ribbon") == 0  ? BLOOMFILE_LAYOUT_RIBBON
                                          : BLOOMFILE_LAYOUT_COUNTING;
}

static void probe(uint32_t layout, uint64_t m, unsigned k, uint64_t digest, uint64_t *positions)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < k; i++) {
        if (layout != BLOOMFILE_LAYOUT_BLOCKED) {
            positions[i] = probe_reduce(g, m);
            g *= PROBE_MULTIPLIER;
            continue;
        }
        if (i % PROBE_SLICES == 0)
            g *= PROBE_MULTIPLIER;
        positions[i] = PROBE_BLOCK_BITS * probe_reduce(digest, m / PROBE_BLOCK_BITS) +
                       probe_slice(g, i % PROBE_SLICES);
    }
}

/* Checks what adding the key changes in an empty body, bit by bit or counter by counter. */
static void assert_kernel_sets(uint32_t layout, uint64_t m, unsigned k, uint64_t digest,
                               const uint64_t *positions)
{
    struct geometry geometry = geometry_of(layout, m, EMBEDDED);
    uint8_t *body = calloc(1, (size_t)geometry.need);
    unsigned *expected = calloc((size_t)m, sizeof *expected);
    assert_non_null(body);
    assert_non_null(expected);
    for (unsigned i = 0; i < k; i++)
        if (layout == BLOOMFILE_LAYOUT_COUNTING)
            expected[positions[i]]++;
        else
            expected[positions[i]] = 1;
    const struct kernel *kernel = kernel_for(layout);
    const struct kernel_view view = { .body = body, .units = geometry.units, .k = k };
    assert_false(kernel->contains(&view, digest));
    kernel->add_part(body, 0, geometry.units, geometry.units, k, &digest, 1, NULL);
    for (uint64_t x = 0; x < m; x++)
        assert_int_equal(reference_value(layout, body, x), expected[x]);
    assert_true(kernel->contains(&view, digest));
    free(expected);
    free(body);
}

TEST(positions_match_the_vectors)
{
    unsigned by_kernel = 0;
    for_each_vector(line, "positions", 34)
    {
        char name[16], digest[17];
        unsigned long long m;
        unsigned k;
        int length;
        if (sscanf(line, "positions %15[a-z] m=%llu k=%u digest=%16[0-9a-f]%n", name, &m, &k,
                   digest, &length) != 4)
            fail_msg("not understood: %s", line);
        uint32_t layout = layout_named(name);
        uint64_t expected[BLOOMFILE_MAX_HASHES], positions[BLOOMFILE_MAX_HASHES];
        char *at = line + length;
        for (unsigned i = 0; i < k; i++)
            expected[i] = strtoull(at, &at, 10);
        assert_string_equal(at, "");
        probe(layout, m, k, hex(digest), positions);
        assert_memory_equal(positions, expected, k * sizeof *positions);
        reference_positions(layout, m, k, hex(digest), positions);
        assert_memory_equal(positions, expected, k * sizeof *positions);
        if (m < 10000000) {
            assert_kernel_sets(layout, m, k, hex(digest), expected);
            by_kernel++;
        }
    }
    assert_true(by_kernel >= 31);
}

struct body_vector {
    uint32_t layout;
    unsigned header_size, keys, k;
    unsigned long long m, ones, overflow;
    uint64_t seed, crc;
};

static bool read_body_vector(const char *line, struct body_vector *v)
{
    char name[16], seed[17], crc[9];
    if (sscanf(line,
               "body %15[a-z] m=%llu k=%u seed=%16[0-9a-f] header_size=%u keys=%u "
               "%8[0-9a-f] %llu %llu",
               name, &v->m, &v->k, seed, &v->header_size, &v->keys, crc, &v->ones,
               &v->overflow) != 9)
        return false;
    v->layout = layout_named(name);
    v->seed = hex(seed);
    v->crc = hex(crc);
    return true;
}

/* The image that holds the first `keys` starts of the test string. */
static struct bytes image_of(const struct body_vector *v)
{
    assert_true(v->keys <= sizeof test_string);
    bloomfile_builder *b = new_builder((struct bloomfile_params){
        .layout = v->layout, .bits = v->m, .hashes = v->k, .seed = v->seed });
    for (unsigned i = 0; i < v->keys; i++)
        assert_error(bloomfile_builder_add(b, test_string, i), 0);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return v->header_size == IN_FILE ? with_file_header(image) : image;
}

TEST(bodies_match_the_vectors)
{
    for_each_vector(line, "body", 10)
    {
        struct body_vector v;
        if (!read_body_vector(line, &v))
            fail_msg("not understood: %s", line);
        struct bytes image = image_of(&v);
        struct bloomfile_info info = verified_info(image);
        assert_int_equal(info.header_size, v.header_size);
        assert_int_equal(info.keys, v.keys);
        assert_int_equal(info.body_crc, v.crc);
        assert_int_equal(info.ones, v.ones);
        assert_int_equal(info.overflow, v.overflow);
        free(image.data);
    }
}

/* operations.md 1: value j of the folded body, from f adjacent values (or blocks) of the source. */
static unsigned folded_value(const struct body_vector *source, const uint8_t *body, uint64_t f,
                             uint64_t j)
{
    unsigned sum = 0;
    for (uint64_t i = 0; i < f; i++) {
        uint64_t x = source->layout == BLOOMFILE_LAYOUT_BLOCKED ? (j / 512 * f + i) * 512 + j % 512
                                                                : j * f + i;
        sum += reference_value(source->layout, body, x);
    }
    unsigned most = source->layout == BLOOMFILE_LAYOUT_COUNTING ? 15 : 1;
    return sum < most ? sum : most;
}

TEST(a_folded_body_is_the_body_of_the_smaller_filter)
{
    struct bytes text = spec_vectors();
    unsigned folds = 0;
    struct body_vector before = { .m = 1 }, v;
    for_each_line(line, text)
    {
        if (!read_body_vector(line, &v))
            continue;
        if (v.layout == before.layout && v.keys == before.keys && before.m % v.m == 0) {
            struct bytes larger = image_of(&before), smaller = image_of(&v);
            for (uint64_t j = 0; j < v.m; j++)
                assert_int_equal(
                    folded_value(&before, larger.data + before.header_size, before.m / v.m, j),
                    reference_value(v.layout, smaller.data + v.header_size, j));
            free(larger.data);
            free(smaller.data);
            folds++;
        }
        before = v;
    }
    assert_true(folds >= 6);
    free(text.data);
}

/* ---- section 20: vectors of whole images */

static bool read_image_vector(const char *line, const char *kind, struct body_vector *v,
                              const char **answer)
{
    char name[16], word[16], seed[17];
    int length = 0;
    if (sscanf(line, "%15[a-z] %15[a-z] m=%llu k=%u seed=%16[0-9a-f] header_size=%u keys=%u %n",
               word, name, &v->m, &v->k, seed, &v->header_size, &v->keys, &length) != 7 ||
        length == 0 || strcmp(word, kind) != 0)
        return false;
    v->layout = layout_named(name);
    v->seed = hex(seed);
    *answer = line + length;
    return true;
}

TEST(page_entries_match_the_vectors)
{
    unsigned pages = 0;
    for_each_vector(line, "entries", 4)
    {
        struct body_vector v;
        const char *answer;
        if (!read_image_vector(line, "entries", &v, &answer))
            fail_msg("not understood: %s", line);
        struct bytes image = image_of(&v);
        const struct geometry g = geometry_of(v.layout, v.m, v.header_size);
        for (uint64_t page = 0; page < g.pages; page++, pages++) {
            char *end;
            const uint64_t entry = strtoull(answer, &end, 16);
            assert_int_equal(end - answer, 8 + (page > 0));
            assert_true(entry != 0);
            assert_int_equal(get32(image.data + v.header_size + g.body_size + 4 * page), entry);
            answer = end;
        }
        assert_string_equal(answer, "");
        free(image.data);
    }
    assert_true(pages >= 10);
}

TEST(whole_images_match_the_vectors)
{
    unsigned in_file = 0;
    for_each_vector(line, "image", 5)
    {
        struct body_vector v;
        const char *answer;
        size_t size;
        char digest[17];
        if (!read_image_vector(line, "image", &v, &answer))
            fail_msg("not understood: %s", line);
        assert_int_equal(sscanf(answer, "%zu %16[0-9a-f]", &size, digest), 2);
        struct bytes image = image_of(&v);
        assert_int_equal(image.size, size);
        assert_int_equal(bloomfile_hash(0, image.data, image.size), hex(digest));
        in_file += v.header_size == IN_FILE;
        free(image.data);
    }
    assert_true(in_file >= 3);
}

static void read_hex(const char *digits, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)hex((char[]){ digits[2 * i], digits[2 * i + 1], '\0' });
}

TEST(live_records_match_the_vectors)
{
    for_each_vector(line, "record", 3)
    {
        struct header h = { .header_size = IN_FILE };
        struct record r;
        unsigned long long sequence, n, ones, overflow;
        char boot_id[33], watermark[65], identity[33], body_crc[9], header_crc[9], start[289],
            crc[9];
        uint8_t expected[144], bytes[HEADER_RECORD_MAX];
        if (sscanf(line,
                   "record sequence=%llu state=%u flags=%u n=%llu ones=%llu overflow=%llu "
                   "boot_id=%32[0-9a-f] body_crc=%8[0-9a-f] header_crc=%8[0-9a-f] writers=%u "
                   "watermark=%64[0-9a-f] identity=%32[0-9a-f] %288[0-9a-f] %8[0-9a-f]",
                   &sequence, &r.state, &r.flags, &n, &ones, &overflow, boot_id, body_crc,
                   header_crc, &r.writers, watermark, identity, start, crc) != 14)
            fail_msg("not understood: %s", line);
        r.sequence = sequence;
        r.n = n;
        r.ones = ones;
        r.overflow = overflow;
        r.body_crc = (uint32_t)hex(body_crc);
        h.crc = (uint32_t)hex(header_crc);
        read_hex(boot_id, r.boot_id, sizeof r.boot_id);
        read_hex(watermark, r.watermark, sizeof r.watermark);
        read_hex(identity, r.identity, sizeof r.identity);
        read_hex(start, expected, sizeof expected);
        header_encode_record(&h, &r, NULL, bytes);
        assert_memory_equal(bytes, expected, sizeof expected);
        for (size_t i = sizeof expected; i < sizeof bytes - 4; i++)
            assert_int_equal(bytes[i], 0);
        assert_int_equal(get32(bytes + sizeof bytes - 4), hex(crc));
    }
}

/* ---- slices.md 3.1 */

TEST(fields_of_layers_match_the_vectors)
{
    for_each_vector(line, "layer", 3)
    {
        struct header h = { .header_size = IN_FILE, .incompat = HEADER_INCOMPAT_LAYER };
        unsigned long long layer, rest_size, period, began;
        char series[17], link[17], fpr[17], answer[129];
        uint8_t expected[64], bytes[HEADER_MAX];
        if (sscanf(line,
                   "layer series=%16[0-9a-f] layer=%llu generations=%u layers=%u rest_size=%llu "
                   "link=%16[0-9a-f] series_fpr=%16[0-9a-f] period=%llu began=%llu "
                   "%128[0-9a-f]",
                   series, &layer, &h.generations, &h.layers, &rest_size, link, fpr, &period,
                   &began, answer) != 10)
            fail_msg("not understood: %s", line);
        const uint64_t rate = hex(fpr);
        h.series = hex(series);
        h.layer = layer;
        h.rest_size = rest_size;
        h.link = hex(link);
        memcpy(&h.series_fpr, &rate, sizeof rate);
        h.period = period;
        h.began = began;
        read_hex(answer, expected, sizeof expected);
        header_encode(&h, bytes);
        assert_memory_equal(bytes + AT_series, expected, sizeof expected);
    }
}

#define MOST_LAYERS 4

/* "512,1024": returns the number of numbers. */
static unsigned read_numbers(const char *at, uint64_t numbers[MOST_LAYERS])
{
    unsigned count = 0;
    for (char *end; count < MOST_LAYERS; at = end + 1) {
        numbers[count++] = strtoull(at, &end, 10);
        if (*end != ',')
            break;
    }
    return count;
}

static size_t on_pages(size_t size)
{
    return (size + 4095) / 4096 * 4096;
}

/* Appends the layers: each is as it would be alone, except for the fields of its place. */
static struct bytes series_of(const struct body_vector *layers, unsigned count)
{
    struct bytes images[MOST_LAYERS], whole = { .size = 0 };
    for (unsigned i = 0; i < count; i++) {
        images[i] = image_of(&layers[i]);
        whole.size = on_pages(whole.size) + images[i].size;
    }
    whole.data = calloc(1, whole.size);
    assert_non_null(whole.data);
    uint64_t link = 0;
    size_t used = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t *image = images[i].data;
        put32(image + AT_incompat, HEADER_INCOMPAT_LAYER);
        put64(image + AT_layer, i);
        put32(image + AT_layers, count);
        put64(image + AT_rest_size, whole.size - used);
        put64(image + AT_link, link);
        reseal_header(image);
        link = get32(image + IN_FILE / 2 - 4) |
               (uint64_t)get32(record_at(image, 0) + RECORD_AT_body_crc) << 32;
        memcpy(whole.data + used, image, images[i].size);
        used = on_pages(used + images[i].size);
        free(image);
    }
    return whole;
}

TEST(sealed_series_of_the_vectors_open)
{
    for_each_vector(line, "series", 3)
    {
        char name[16], lists[3][64], seed[17], digest[17];
        size_t size;
        if (sscanf(line,
                   "series %15[a-z] m=%63[0-9,] k=%63[0-9,] seed=%16[0-9a-f] keys=%63[0-9,] "
                   "%zu %16[0-9a-f]",
                   name, lists[0], lists[1], seed, lists[2], &size, digest) != 7)
            fail_msg("not understood: %s", line);
        uint64_t m[MOST_LAYERS], k[MOST_LAYERS], keys[MOST_LAYERS];
        const unsigned count = read_numbers(lists[0], m);
        assert_int_equal(read_numbers(lists[1], k), count);
        assert_int_equal(read_numbers(lists[2], keys), count);
        struct body_vector layers[MOST_LAYERS];
        unsigned most = 0;
        for (unsigned i = 0; i < count; i++) {
            layers[i] = (struct body_vector){ .layout = layout_named(name),
                                              .header_size = IN_FILE,
                                              .m = m[i],
                                              .k = (unsigned)k[i],
                                              .keys = (unsigned)keys[i],
                                              .seed = hex(seed) };
            most = layers[i].keys > most ? layers[i].keys : most;
        }
        struct bytes series = series_of(layers, count);
        assert_int_equal(series.size, size);
        assert_int_equal(bloomfile_hash(0, series.data, series.size), hex(digest));
        bloomfile_filter *f;
        assert_error(open_from(&f, bloomfile_from_memory(series.data, series.size), 0), 0);
        assert_error(bloomfile_verify(f, 1, NULL), 0);
        assert_int_equal(bloomfile_layers(f), count);
        for (unsigned i = 0; i < most; i++)
            assert_true(bloomfile_contains(f, test_string, i));
        bloomfile_close(f);
        free(series.data);
    }
}

/* The image of section 4 with the changes of a `refused` line. */
static struct bytes changed_image(const char *line)
{
    struct bytes image = spec_whole_file();
    unsigned at[2], size = (unsigned)image.size;
    char digits[65];
    const char *where = strstr(line, "at="), *what = strstr(line, " bytes=");
    if (where != NULL) {
        const int places = sscanf(where, "at=%u,%u", &at[0], &at[1]);
        assert_int_equal(sscanf(what, " bytes=%64[0-9a-f]", digits), 1);
        for (int i = 0; i < places; i++)
            read_hex(digits, image.data + at[i], strlen(digits) / 2);
    }
    if (strstr(line, " mend=1") != NULL)
        reseal_header(image.data);
    if (strstr(line, "size=") != NULL)
        assert_int_equal(sscanf(strstr(line, "size="), "size=%u", &size), 1);
    image.size = size; /* the rest stays zero */
    return image;
}

/* The error of opening or of verifying. */
static int refusal_of(struct bytes image)
{
    bloomfile_filter *f;
    int error =
        open_named(&f, bloomfile_from_memory(image.data, image.size), 0, BLOOMFILE_HASH_XXH3, 0);
    if (error == 0)
        error = bloomfile_verify(f, 1, NULL);
    bloomfile_close(f);
    return error;
}

TEST(images_refused_by_the_specification_are_refused)
{
    for_each_vector(line, "refused", 40)
    {
        const char *answer = strrchr(line, '\t');
        char name[40], rule[8];
        if (strncmp(line, "refused\t", 8) != 0 || answer == NULL)
            fail_msg("not understood: %s", line);
        assert_int_equal(sscanf(answer, " %39[A-Z_] %7s", name, rule), 2);
        struct bytes image = changed_image(line);
        const int error = refusal_of(image);
        if (strcmp(bloomfile_errname(error), name) != 0)
            fail_msg("%s: %s", line, bloomfile_errname(error));
        if (strcmp(rule, "12.4") != 0)
            assert_int_equal(bloomfile_inspect(image.data, image.size, NULL, NULL, NULL),
                             strstr(line, "at=36 bytes=00000080") != NULL ? 0 : error);
        free(image.data);
    }
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof test_string; i++)
        test_string[i] = (uint8_t)(128 + 157 * i);
    return spec_test_main(argc, argv);
}
