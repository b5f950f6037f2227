/* SPDX-License-Identifier: MIT
 * A list of keys in memory, searched with a hash table of digests and places. */
#include "keys/key_list.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1024,
    FIRST_BYTES = 1 << 16
};

struct slot {
    bloomfile_digest digest;
    size_t start; /* of the key in the bytes, after its mark; 0: the slot is free */
    size_t size;
};

/* A hash table with linear probing, at most half full. */
struct key_list {
    struct slot *slots;
    size_t count, slots_size; /* a power of two */
    uint8_t *bytes;           /* each key follows a byte that is its mark */
    size_t end, bytes_size;
};

static _Noreturn void no_memory(const struct key_list *list)
{
    cli_fail(ENOMEM, "cannot hold a list of more than %zu key%s", list->count, cli_s(list->count));
}

static void *allocate(const struct key_list *list, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        no_memory(list);
    return memory;
}

/* The slot of this key, or the free slot where it belongs. */
static struct slot *find(const struct key_list *list, const struct bloomfile_key *key,
                         bloomfile_digest digest)
{
    size_t mask = list->slots_size - 1;
    for (size_t i = (size_t)digest & mask;; i = (i + 1) & mask) {
        struct slot *slot = &list->slots[i];
        bool same = slot->digest == digest && slot->size == key->size &&
                    memcmp(list->bytes + slot->start, key->data, key->size) == 0;
        if (slot->start == 0 || same)
            return slot;
    }
}

static void double_slots(struct key_list *list)
{
    struct slot *old = list->slots;
    size_t old_size = list->slots_size, mask = 2 * old_size - 1;
    list->slots = allocate(list, 2 * old_size, sizeof(*old));
    list->slots_size = 2 * old_size;
    for (size_t i = 0; i < old_size; i++) {
        size_t at = (size_t)old[i].digest & mask;
        if (old[i].start == 0)
            continue;
        while (list->slots[at].start != 0)
            at = (at + 1) & mask;
        list->slots[at] = old[i];
    }
    free(old);
}

static size_t append(struct key_list *list, const struct bloomfile_key *key)
{
    while (list->bytes_size - list->end <= key->size) {
        uint8_t *bigger = reallocarray(list->bytes, list->bytes_size, 2);
        if (bigger == NULL)
            no_memory(list);
        list->bytes = bigger;
        list->bytes_size *= 2;
    }
    list->bytes[list->end++] = 0;
    const size_t start = list->end;
    if (key->size > 0)
        memcpy(list->bytes + start, key->data, key->size);
    list->end += key->size;
    return start;
}

size_t key_list_add(struct key_list *list, const struct bloomfile_key *key)
{
    bloomfile_digest digest = bloomfile_hash(0, key->data, key->size);
    struct slot *slot = find(list, key, digest);
    if (slot->start != 0)
        return slot->start;
    const size_t start = append(list, key);
    *slot = (struct slot){ digest, start, key->size };
    list->count++;
    if (2 * list->count > list->slots_size)
        double_slots(list);
    return start;
}

struct key_list *key_list_new(void)
{
    const struct key_list none = { 0 };
    struct key_list *list = allocate(&none, 1, sizeof(*list));
    list->slots = allocate(list, FIRST_SLOTS, sizeof(*list->slots));
    list->slots_size = FIRST_SLOTS;
    list->bytes = allocate(list, FIRST_BYTES, 1);
    list->bytes_size = FIRST_BYTES;
    return list;
}

struct key_list *key_list_read(struct key_list *list, const struct keys_options *options,
                               char *path)
{
    const struct keys_options form = keys_options_of_list(options);
    struct keys *input = keys_new(&form, &path, 1);
    struct bloomfile_key keys[KEYS_BATCH];
    size_t n;
    if (list == NULL)
        list = key_list_new();
    while ((n = keys_next(input, keys, KEYS_BATCH)) > 0) {
        for (size_t i = 0; i < n; i++)
            (void)key_list_add(list, &keys[i]);
    }
    keys_free(input);
    return list;
}

bool key_list_has(const struct key_list *list, const struct bloomfile_key *key)
{
    return list != NULL && find(list, key, bloomfile_hash(0, key->data, key->size))->start != 0;
}

void key_list_mark(struct key_list *list, const struct bloomfile_key *key)
{
    const struct slot *slot = find(list, key, bloomfile_hash(0, key->data, key->size));
    if (slot->start != 0)
        list->bytes[slot->start - 1] = 1;
}

bool key_list_is_marked(const struct key_list *list, size_t key)
{
    return list->bytes[key - 1] != 0;
}

uint64_t key_list_bytes(const struct key_list *list)
{
    return list->end + 2 * list->count * sizeof(struct slot);
}

void key_list_clear(struct key_list *list)
{
    memset(list->slots, 0, list->slots_size * sizeof(*list->slots));
    list->count = list->end = 0;
}

void key_list_free(struct key_list *list)
{
    if (list == NULL)
        return;
    free(list->slots);
    free(list->bytes);
    free(list);
}
