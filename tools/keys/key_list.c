/* SPDX-License-Identifier: MIT
 * A list of keys in memory, searched by a hash table of digests and places. */
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
    size_t start; /* of the key in the bytes; 0: the slot is free */
    size_t size;
};

/* A hash table with linear probing, at most half full. */
struct key_list {
    struct slot *slots;
    size_t count, slots_size; /* a power of two */
    uint8_t *bytes;           /* from 1 on: the keys one after the other */
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

/* The slot of this key, or the free one where it belongs. */
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
    size_t start = list->end;
    while (list->bytes_size - list->end < key->size) {
        uint8_t *bigger = reallocarray(list->bytes, list->bytes_size, 2);
        if (bigger == NULL)
            no_memory(list);
        list->bytes = bigger;
        list->bytes_size *= 2;
    }
    memcpy(list->bytes + start, key->data, key->size);
    list->end += key->size;
    return start;
}

static void add(struct key_list *list, const struct bloomfile_key *key)
{
    bloomfile_digest digest = bloomfile_hash(0, key->data, key->size);
    struct slot *slot = find(list, key, digest);
    if (slot->start != 0)
        return;
    *slot = (struct slot){ digest, append(list, key), key->size };
    list->count++;
    if (2 * list->count > list->slots_size)
        double_slots(list);
}

static struct key_list *list_new(void)
{
    const struct key_list none = { 0 };
    struct key_list *list = allocate(&none, 1, sizeof(*list));
    list->slots = allocate(list, FIRST_SLOTS, sizeof(*list->slots));
    list->slots_size = FIRST_SLOTS;
    list->bytes = allocate(list, FIRST_BYTES, 1);
    list->bytes_size = FIRST_BYTES;
    list->end = 1;
    return list;
}

struct key_list *key_list_read(struct key_list *list, const struct keys_options *options,
                               char *path)
{
    struct keys_options all_or_nothing = *options;
    all_or_nothing.keep_going = false;
    all_or_nothing.fields = (struct fields){ 0 }; /* it is a list of keys */
    struct keys *input = keys_new(&all_or_nothing, &path, 1);
    struct bloomfile_key keys[KEYS_BATCH];
    size_t n;
    if (list == NULL)
        list = list_new();
    while ((n = keys_next(input, keys, KEYS_BATCH)) > 0) {
        for (size_t i = 0; i < n; i++)
            add(list, &keys[i]);
    }
    keys_free(input);
    return list;
}

bool key_list_has(const struct key_list *list, const struct bloomfile_key *key)
{
    return list != NULL && find(list, key, bloomfile_hash(0, key->data, key->size))->start != 0;
}

void key_list_free(struct key_list *list)
{
    if (list == NULL)
        return;
    free(list->slots);
    free(list->bytes);
    free(list);
}
