/* SPDX-License-Identifier: MIT
 *
 * A set's identity and manifest. */
#include "set.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- identity */

struct identity_maker {
    XXH3_state_t *state;
};

struct identity_maker *identity_begin(void)
{
    struct identity_maker *maker = not_null(malloc(sizeof *maker));
    maker->state = not_null(XXH3_createState());
    XXH3_128bits_reset(maker->state);
    return maker;
}

/* The size comes first, so that moving a byte from a key to its value changes the hash. */
static void add_bytes(struct identity_maker *maker, const struct bloomfile_key *bytes)
{
    uint8_t size[8];
    for (unsigned i = 0; i < sizeof size; i++)
        size[i] = (uint8_t)((uint64_t)bytes->size >> 8 * i);
    XXH3_128bits_update(maker->state, size, sizeof size);
    if (bytes->size != 0)
        XXH3_128bits_update(maker->state, bytes->data, bytes->size);
}

void identity_add(struct identity_maker *maker, const struct bloomfile_key *key,
                  const struct bloomfile_key *value)
{
    add_bytes(maker, key);
    add_bytes(maker, value);
}

struct identity identity_end(struct identity_maker *maker)
{
    struct identity identity;
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(maker->state));
    memcpy(identity.bytes, bytes.digest, sizeof identity.bytes);
    XXH3_freeState(maker->state);
    free(maker);
    return identity;
}

void identity_print(const struct identity *identity, char text[IDENTITY_DIGITS + 1])
{
    for (unsigned i = 0; i < sizeof identity->bytes; i++)
        sprintf(text + 2 * i, "%02x", identity->bytes[i]);
}

bool identity_parse(const char *text, struct identity *identity)
{
    if (strspn(text, "0123456789abcdef") < IDENTITY_DIGITS)
        return false;
    for (unsigned i = 0; i < sizeof identity->bytes; i++) {
        const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };
        identity->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return true;
}

/* ---- the folder */

char *set_file(const char *folder, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "%06u.sst", number + 1);
    return join(folder, "/", name);
}

void manifest_write(const char *folder, const struct manifest *manifest)
{
    char *path = join(folder, "/", MANIFEST), identity[IDENTITY_DIGITS + 1];
    identity_print(&manifest->identity, identity);
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        err(2, "cannot create %s", path);
    fprintf(file, "set %s\nrows %" PRIu64 "\nfiles %u\n", identity, manifest->rows,
            manifest->files);
    if (fflush(file) != 0 || fsync(fileno(file)) == -1 || fclose(file) != 0)
        err(2, "cannot write %s", path);
    free(path);
}

struct manifest manifest_read(const char *folder)
{
    struct manifest manifest;
    char *path = join(folder, "/", MANIFEST), identity[IDENTITY_DIGITS + 1], end;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        err(2, "cannot open %s", path);
    if (fscanf(file, "set %32s rows %" SCNu64 " files %u%c", identity, &manifest.rows,
               &manifest.files, &end) != 4 ||
        end != '\n' || !identity_parse(identity, &manifest.identity) || manifest.files == 0 ||
        manifest.files > manifest.rows) /* each file has rows */
        errx(2, "cannot use %s: it is no list of a set's contents; ship the set again", path);
    fclose(file);
    free(path);
    return manifest;
}
