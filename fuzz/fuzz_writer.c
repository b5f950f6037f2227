/* SPDX-License-Identifier: MIT
 *
 * Fuzzes live files. Each input is a file that is opened for reading and for writing: unchanged;
 * with correct header checksums; and with every dependent field corrected, so that it is opened. A
 * file that is opened for writing must accept a key, keep it through sync, seal and reopening, and
 * verify in the end. A concurrent reader must also find the key.
 */
#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <stdio.h>

#include "format/hash.h"
#include "format/header.h"
#include "mend.h"
#include "open.h"
#include "os/host.h"
#include "target.h"

#define DIGEST 0x0123456789ABCDEFu

/* The record must have a sequence near 2^64, after which no commit is possible. */
static void expect_last_sequences(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    expect(info.sequence > UINT64_MAX - 16);
}

/* Adds a key and seals. Returns the result of sealing. *added is false if over capacity. */
static int add_and_seal(bloomfile_filter *f, bool *added)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    size_t new_keys;
    bloomfile_digest digests[2] = { 0, UINT64_MAX };
    size_t done;
    int error = bloomfile_add_digest(f, DIGEST, NULL);
    *added = error == 0;
    expect(error == BLOOMFILE_EFULL || (*added && bloomfile_contains_digest(f, DIGEST)));
    error = bloomfile_add_digests(f, digests, 2, NULL, &new_keys, &done);
    expect(error == 0 ? done == 2 : error == BLOOMFILE_EFULL && done < 2);
    expect(new_keys <= done);
    bloomfile_get_info(f, &info);
    expect(info.state == BLOOMFILE_STATE_LIVE && info.ones <= info.bits);
    if (*added && layout_of(info.layout)->counts) {
        expect(bloomfile_remove_digest(f, DIGEST) == 0);
        error = bloomfile_add_digest(f, DIGEST, NULL);
        *added = error == 0;
        expect(*added || error == BLOOMFILE_EFULL);
    }
    error = bloomfile_sync(f, NULL);
    if (error == 0)
        error = bloomfile_seal(f, NULL);
    if (error == EOVERFLOW)
        expect_last_sequences(f);
    else
        expect(error == 0 || error == BLOOMFILE_EBODY);
    if (error == 0) {
        expect(bloomfile_verify(f, 1, NULL) == 0 && bloomfile_measure(f, &measure) == 0);
        bloomfile_get_info(f, &info);
        expect(info.state == BLOOMFILE_STATE_SEALED && info.ones == measure.ones);
    }
    return error;
}

/* Opens without accepting an unclean file. An unclean file must be refused, even if it has another
 * fault, such as a missing layer. The result for other files must be `otherwise`. */
static void open_carefully(const char *path, int otherwise)
{
    bloomfile_filter *f;
    int error = open_file_named(&f, path, 0);
    expect(error == otherwise || error == BLOOMFILE_EUNCLEAN);
    if (error == 0)
        bloomfile_close(f);
}

static bool is_layer(const uint8_t *image)
{
    return (get32(image + AT_incompat) & HEADER_INCOMPAT_LAYER) != 0;
}

/* Returns the result of opening for reading. */
static int try_file(const uint8_t *image, size_t size)
{
    char path[64];
    bloomfile_filter *f, *reader = NULL;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    expect(fd >= 0 && write(fd, image, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int as_reader = open_file_named(&reader, path, BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    open_carefully(path, as_reader);
    int error = open_file_named(&f, path, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    if (error == 0) {
        expect(as_reader == 0);
        bool added;
        const int sealed = add_and_seal(f, &added);
        expect(!added || bloomfile_contains_digest(reader, DIGEST));
        bloomfile_finish(f); /* closing alone leaves an unclean file unclean */
        bloomfile_close(f);
        error = open_file_named(&f, path, 0);
        if (sealed == BLOOMFILE_EBODY && error == BLOOMFILE_EPOISONED)
            f = NULL; /* the body lacks bits that were counted */
        else
            expect(error == 0 && (!added || bloomfile_contains_digest(f, DIGEST)));
        bloomfile_close(f);
    } else if (error == BLOOMFILE_ESEALED) {
        /* The writer completed an unfinished sealing. It looked only at the first layer of a
         * series, and faults of the next layer show once the first layer is valid. */
        error = open_file_named(&f, path, 0);
        const bool completed = as_reader == BLOOMFILE_ERECORD;
        expect(error == 0 || (is_layer(image) && (error == as_reader || completed)));
        bloomfile_close(f);
    }
    bloomfile_close(reader);
    close(fd);
    return as_reader;
}

/* ---- a valid file, in which the input chooses the independent fields */

#define HEADER    GEOMETRY_FILE_HEADER
#define MOST_BITS (1u << 16)

static uint32_t choose_layout(uint32_t layout)
{
    if (layout_known(layout))
        return layout;
    return layout % (LAYOUT_END - 1) + 1;
}

static uint64_t choose_bits(uint32_t layout, uint64_t bits)
{
    const uint64_t unit = layout_of(layout)->unit_cells;
    return (bits % MOST_BITS / unit + 1) * unit;
}

static void mend_fields(uint8_t *image, uint32_t layout, uint64_t bits, uint64_t body_size)
{
    static const uint8_t magic[8] = { 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n' };
    memcpy(image + AT_magic, magic, sizeof magic);
    put32(image + AT_version, HEADER_VERSION);
    put32(image + AT_header_size, HEADER);
    put32(image + AT_incompat, 0);
    put32(image + AT_layout, layout);
    if (!hash_is_applications(get32(image + AT_hash_id))) {
        put32(image + AT_hash_id, HASH_XXH3_64);
        put64(image + AT_self_test, hash_self_test(get64(image + AT_seed)));
    }
    put32(image + AT_k,
          layout_of(layout)->solved ? 0 : (get32(image + AT_k) - 1) % BLOOMFILE_MAX_HASHES + 1);
    put64(image + AT_m, bits);
    put64(image + AT_body_offset, HEADER);
    put64(image + AT_body_size, body_size);
    put64(image + AT_capacity, get64(image + AT_capacity) % GEOMETRY_MAX_CAPACITY + 1);
    put64(image + AT_fpr, get64(image + AT_fpr) % 0x3FF0000000000000u); /* below 1.0 */
    put64(image + AT_m_unfolded, bits);
    memset(image + AT_label, 0, BLOOMFILE_MAX_LABEL);
}

static void mend_record(uint8_t *record, uint32_t layout, uint64_t bits)
{
    uint8_t *boot = record + RECORD_AT_boot_id, *identity = record + RECORD_AT_identity;
    const bool solved = layout_of(layout)->solved; /* a solved filter is never live */
    const uint32_t state = solved ? BLOOMFILE_STATE_SEALED : get32(record + RECORD_AT_state) % 4;
    const uint64_t ones = get64(record + RECORD_AT_ones) % (bits + 1);
    const uint64_t overflow = get64(record + RECORD_AT_overflow) % (ones + 1);
    put32(record + RECORD_AT_state, state == 0 ? BLOOMFILE_STATE_LIVE : state);
    put64(record + RECORD_AT_ones, ones);
    put64(record + RECORD_AT_overflow, layout_of(layout)->counts ? overflow : 0);
    if (state == BLOOMFILE_STATE_SEALED) {
        put64(record + RECORD_AT_sequence, HEADER_SEALED_SEQUENCE);
        memset(boot, 0, BOOT_ID_SIZE);
        memset(identity, 0, sizeof(bytes16));
        return;
    }
    put32(record + RECORD_AT_body_crc, 0);
    if (identity[0] % 8 != 1) /* nearly always, both records belong to the same file */
        memset(identity, 0x50, sizeof(bytes16));
    if (get64(record + RECORD_AT_sequence) == HEADER_SEALED_SEQUENCE)
        put64(record + RECORD_AT_sequence, 0);
    if (boot[0] % 2 != 0 && boot_id(boot) != 0) /* this boot, or another boot */
        memset(boot, 0, BOOT_ID_SIZE);
}

static void try_sound_file(const uint8_t *data, size_t size)
{
    if (size < HEADER)
        return;
    const uint32_t layout = choose_layout(get32(data + AT_layout));
    const uint64_t bits = choose_bits(layout, get64(data + AT_m));
    const struct geometry g = geometry_of(layout, bits, HEADER);
    const size_t image_size = (size_t)g.image_size;
    uint8_t *image = calloc(image_size, 1);
    if (image == NULL)
        return;
    memcpy(image, data, size < image_size ? size : image_size);
    mend_fields(image, layout, bits, g.body_size);
    mend_record(image + HEADER / 2, layout, bits);
    mend_record(image + HEADER / 4 * 3, layout, bits);
    mend_checksums(image, image_size);
    int error = try_file(image, image_size);
    expect(error == 0 || error == BLOOMFILE_ERECORD || error == BLOOMFILE_EPOISONED);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *image = copy_of(data, size);
    try_file(image, size);
    mend_checksums(image, size);
    try_file(image, size);
    free(image);
    try_sound_file(data, size);
    return 0;
}
