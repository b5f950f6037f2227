/* SPDX-License-Identifier: MIT
 *
 * Fuzzes live files: each input is a file that is opened for reading and for writing, as it is and
 * with its header checksums put right. Whatever is opened for writing must take a key, keep it
 * through sync, seal and reopening, and end up as a file that verifies; who only reads it meanwhile
 * must see the key, too.
 */
#include <bloomfile.h>
#include <bloomfile_hash.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

#define DIGEST 0x0123456789ABCDEFu

/* An application's own hash is named as the file has it. */
static int open_named(bloomfile **out, const char *path, unsigned flags)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int error = bloomfile_open(out, path, flags | BLOOMFILE_APP_HASH);
    if (error != 0)
        return error;
    bloomfile_get_info(*out, &info);
    expect(bloomfile_name_hash(*out, info.hash_id, info.self_test) == 0);
    return 0;
}

static void add_and_seal(bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    size_t new_keys;
    bloomfile_digest digests[2] = { 0, UINT64_MAX };
    int error = bloomfile_add_digest(f, DIGEST, NULL);
    expect(error == 0 && bloomfile_contains_digest(f, DIGEST));
    expect(bloomfile_add_digests(f, digests, 2, NULL, &new_keys) == 0 && new_keys <= 2);
    bloomfile_get_info(f, &info);
    expect(info.state == BLOOMFILE_LIVE && info.ones <= info.bits);
    if (info.layout == BLOOMFILE_COUNTING)
        expect(bloomfile_remove_digest(f, DIGEST) == 0 &&
               bloomfile_add_digest(f, DIGEST, NULL) == 0);
    error = bloomfile_sync(f);
    if (error != 0) {
        expect(error == EOVERFLOW); /* the sequence is at its end */
        return;
    }
    error = bloomfile_seal(f);
    expect(error == 0 || error == BLOOMFILE_EBODY);
    if (error == 0) {
        expect(bloomfile_verify(f, 1, NULL) == 0 && bloomfile_measure(f, &measure) == 0);
        bloomfile_get_info(f, &info);
        expect(info.state == BLOOMFILE_SEALED && info.ones == measure.ones);
    }
}

static void try_file(const uint8_t *image, size_t size)
{
    char path[64];
    bloomfile *f, *reader = NULL;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    expect(fd >= 0 && write(fd, image, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int as_reader = open_named(&reader, path, BLOOMFILE_ACCEPT_UNCLEAN);
    int error = open_named(&f, path, BLOOMFILE_WRITE | BLOOMFILE_ACCEPT_UNCLEAN);
    if (error == 0) {
        expect(as_reader == 0);
        add_and_seal(f);
        expect(bloomfile_contains_digest(reader, DIGEST));
        bloomfile_close(f);
        expect(open_named(&f, path, 0) == 0 && bloomfile_contains_digest(f, DIGEST));
        bloomfile_close(f);
    } else if (error == BLOOMFILE_ESEALED) {
        expect(open_named(&f, path, 0) == 0); /* its sealing was completed, if need be */
        bloomfile_close(f);
    }
    bloomfile_close(reader);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *image = calloc(size > 0 ? size : 1, 1);
    if (image == NULL)
        return 0;
    if (size > 0)
        memcpy(image, data, size);
    try_file(image, size);
    mend_checksums(image, size);
    try_file(image, size);
    free(image);
    return 0;
}
