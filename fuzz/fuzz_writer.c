/* SPDX-License-Identifier: MIT
 *
 * Fuzzes writing: each input is a file that is opened for it, as it is and with its header
 * checksums put right. Whatever is opened must take a key, keep it through sync, seal and
 * reopening, and end up as a file that verifies.
 */
#include <bloomfile.h>
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

static void add_and_seal(bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    size_t new_keys;
    bloomfile_digest digests[2] = { 0, UINT64_MAX };
    int error = bloomfile_add(f, "key", 3, NULL);
    expect(error == 0 && bloomfile_contains(f, "key", 3));
    expect(bloomfile_add_digests(f, digests, 2, NULL, &new_keys) == 0 && new_keys <= 2);
    bloomfile_get_info(f, &info);
    expect(info.state == BLOOMFILE_LIVE && info.ones <= info.bits);
    if (info.layout == BLOOMFILE_COUNTING)
        expect(bloomfile_remove(f, "key", 3) == 0 && bloomfile_add(f, "key", 3, NULL) == 0);
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
    bloomfile *f;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    expect(fd >= 0 && write(fd, image, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int error = bloomfile_open(&f, path, BLOOMFILE_WRITE | BLOOMFILE_ACCEPT_UNCLEAN);
    if (error == 0) {
        add_and_seal(f);
        bloomfile_close(f);
        expect(bloomfile_open(&f, path, 0) == 0 && bloomfile_contains(f, "key", 3));
        bloomfile_close(f);
    } else if (error == BLOOMFILE_ESEALED) {
        expect(bloomfile_open(&f, path, 0) == 0); /* its sealing was completed, if need be */
        bloomfile_close(f);
    }
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
