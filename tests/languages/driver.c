/* SPDX-License-Identifier: MIT
 *
 * Driver of the C library: answers the commands that README.md lists.
 */
#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_WORDS       16
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bloomfile_filter *image;
static bool keys_are_digests;

struct lines {
    char *text;
    struct bloomfile_key *keys;
    bloomfile_digest *digests; /* if the keys are digests */
    bool *hits;
    size_t count;
};

static void *allocate(size_t size)
{
    void *memory = malloc(size + 1);
    if (memory == NULL)
        err(2, "cannot allocate memory");
    return memory;
}

static void answer_error(int error)
{
    if (error > 0)
        printf("error\t-\t%s\n", strerror(error));
    else
        printf("error\t%s\n", bloomfile_errname(error));
}

static void answer(int error)
{
    if (error == 0)
        puts("ok");
    else
        answer_error(error);
}

/* ----------------------------------------------------------------------------- keys in a file */

static char *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        err(2, "%s", path);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = allocate(*size);
    if (fread(text, 1, *size, file) != *size)
        err(2, "%s", path);
    fclose(file);
    text[*size] = '\0';
    return text;
}

static struct lines lines_of(const char *path)
{
    size_t size;
    struct lines lines = { .text = contents(path, &size) };
    for (size_t i = 0; i < size; i++)
        lines.count += lines.text[i] == '\n';
    lines.keys = allocate(lines.count * sizeof *lines.keys);
    lines.digests = allocate(lines.count * sizeof *lines.digests);
    lines.hits = allocate(lines.count * sizeof *lines.hits);
    char *at = lines.text;
    for (size_t i = 0; i < lines.count; i++) {
        char *end = memchr(at, '\n', size - (size_t)(at - lines.text));
        lines.keys[i] = (struct bloomfile_key){ at, (size_t)(end - at) };
        lines.digests[i] = keys_are_digests ? strtoull(at, NULL, 16) : 0;
        at = end + 1;
    }
    return lines;
}

static void free_lines(struct lines *lines)
{
    free(lines->text);
    free(lines->keys);
    free(lines->digests);
    free(lines->hits);
}

/* ------------------------------------------------------------------------------------ lookups */

static void print_kind(const struct bloomfile_info *info)
{
    if (bloomfile_check_keys(info, BLOOMFILE_KEYS_TEXT, 0) == BLOOMFILE_EFEATURE)
        printf("newer");
    else if (info->key_kind == BLOOMFILE_KEYS_FIXED)
        printf("fixed %" PRIu32, info->key_size);
    else
        printf("%s", bloomfile_key_kind_name(info->key_kind));
}

enum column {
    COLUMN_N,
    COLUMN_M,
    COLUMN_K
};

static uint64_t number(const struct bloomfile_info *info, enum column column)
{
    return column == COLUMN_N ? info->keys : column == COLUMN_M ? info->bits : info->hashes;
}

static void print_column(const struct bloomfile_info *whole, enum column column)
{
    putchar('\t');
    size_t layers = bloomfile_layers(image);
    if (layers == 0)
        printf("%" PRIu64, number(whole, column));
    for (size_t i = 0; i < layers; i++) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(bloomfile_layer(image, i), &info);
        printf("%s%" PRIu64, i > 0 ? "," : "", number(&info, column));
    }
}

static void print_image(void)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(image, &info);
    printf("ok\t%s", bloomfile_layout_name(info.layout));
    print_column(&info, COLUMN_N);
    print_column(&info, COLUMN_M);
    print_column(&info, COLUMN_K);
    printf("\t%" PRIu64 "\t%s\t", info.seed, info.header_size == 512 ? "embedded" : "file");
    print_kind(&info);
    putchar('\n');
}

static void open_image(char **words, size_t count)
{
    bloomfile_close(image);
    struct bloomfile_source from = bloomfile_from_path(words[1]);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    keys_are_digests = false;
    if (count == 4) {
        how.expect = BLOOMFILE_EXPECT_HASH;
        how.hash_id = (uint32_t)strtoul(words[2], NULL, 16);
        how.self_test = strtoull(words[3], NULL, 16);
        keys_are_digests = how.hash_id != BLOOMFILE_HASH_XXH3;
    }
    int error = bloomfile_open_with(&image, &from, &how);
    if (error == 0)
        print_image();
    else
        answer_error(error);
}

static size_t look_up_singly(const struct lines *lines)
{
    size_t maybes = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct bloomfile_key *key = &lines->keys[i];
        maybes += keys_are_digests ? bloomfile_contains_digest(image, lines->digests[i])
                                   : bloomfile_contains(image, key->data, key->size);
    }
    return maybes;
}

static size_t look_up_together(const struct lines *lines)
{
    if (keys_are_digests)
        return bloomfile_contains_digests(image, lines->digests, lines->count, lines->hits);
    return bloomfile_contains_many(image, lines->keys, lines->count, lines->hits);
}

static void look_up(char **words, size_t count)
{
    (void)count;
    struct lines lines = lines_of(words[1]);
    bool batch = strcmp(words[0], "batch") == 0;
    size_t maybes = batch ? look_up_together(&lines) : look_up_singly(&lines);
    printf("ok\t%zu\t%zu\n", maybes, lines.count);
    free_lines(&lines);
}

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void look_up_random(char **words, size_t count)
{
    (void)count;
    uint64_t state = strtoull(words[1], NULL, 10), maybes = 0;
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t left = strtoull(words[2], NULL, 10); left > 0; left--) {
        uint64_t bits = splitmix64(&state);
        uint8_t key[8];
        for (unsigned i = 0; i < sizeof key; i++)
            key[i] = (uint8_t)(bits >> 8 * i);
        bool maybe = bloomfile_contains(image, key, sizeof key);
        maybes += maybe;
        crc = crc32(crc, (const Bytef *)(maybe ? "1" : "0"), 1);
    }
    printf("ok\t%" PRIu64 "\t%08lx\n", maybes, crc);
}

static void verify(char **words, size_t count)
{
    (void)words;
    (void)count;
    struct bloomfile_fault fault = { 0 };
    int error = bloomfile_verify(image, 1, &fault);
    if (error != BLOOMFILE_EPAGE)
        answer(error);
    else
        printf("error\tBLOOMFILE_EPAGE\t%" PRIu64 "\n", fault.page);
}

static void sticky_error(char **words, size_t count)
{
    (void)words;
    (void)count;
    answer(bloomfile_check(image));
}

/* --------------------------------------------------------------------------- images in a file */

static uint64_t little_endian(const char *at, size_t size)
{
    uint64_t value = 0;
    while (size > 0)
        value = value << 8 | (uint8_t)at[--size];
    return value;
}

struct query {
    const char *image;
    size_t size;
    bloomfile_digest *digests;
    bool *hits;
    size_t count;
};

static int open_query(const struct query *query, const struct bloomfile_open_params *how)
{
    struct bloomfile_source from = bloomfile_from_memory(query->image, query->size);
    bloomfile_close(image);
    return bloomfile_open_with(&image, &from, how);
}

static void print_hits(const struct query *query)
{
    for (size_t i = 0; i < query->count; i++)
        putchar(query->hits[i] ? '1' : '0');
    putchar(':');
}

static void print_batch(const struct query *query)
{
    bloomfile_contains_digests(image, query->digests, query->count, query->hits);
    print_hits(query);
}

static void print_singly(const struct query *query)
{
    for (size_t i = 0; i < query->count; i++)
        query->hits[i] = bloomfile_contains_digest(image, query->digests[i]);
    print_hits(query);
}

/* Looks up the bytes of the digests as keys. */
static void print_keys(const struct query *query)
{
    const char *key = query->image + query->size;
    for (size_t i = 0; i < query->count; i++)
        query->hits[i] = bloomfile_contains(image, key + 8 * i, 8);
    print_hits(query);
}

static void print_verdict(void)
{
    struct bloomfile_fault fault = { 0 };
    int error = bloomfile_verify(image, 1, &fault);
    if (error == BLOOMFILE_EPAGE)
        printf("BLOOMFILE_EPAGE %" PRIu64, fault.page);
    else
        printf("%s", error != 0 ? bloomfile_errname(error) : "ok");
    putchar(':');
}

/* Opens the image three times, so that three kinds of lookups meet pages that were not checked yet.
 */
static int print_answers(const struct query *query)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    bloomfile_get_info(image, &info);
    if (info.hash_id == BLOOMFILE_HASH_XXH3) {
        print_keys(query);
    } else {
        how.expect = BLOOMFILE_EXPECT_HASH;
        how.hash_id = info.hash_id;
        how.self_test = info.self_test;
        print_batch(query);
    }
    int error = open_query(query, &how);
    if (error == 0) {
        print_batch(query);
        error = open_query(query, &how);
    }
    if (error == 0) {
        print_singly(query);
        print_verdict();
        print_batch(query);
        print_singly(query);
    }
    return error;
}

static const char *answer_query(const char *at)
{
    struct query query = { .image = at + 8,
                           .size = little_endian(at, 4),
                           .count = little_endian(at + 4, 4) };
    const char *digests = query.image + query.size;
    query.digests = allocate(query.count * sizeof *query.digests);
    query.hits = allocate(query.count * sizeof *query.hits);
    for (size_t i = 0; i < query.count; i++)
        query.digests[i] = little_endian(digests + 8 * i, 8);
    putchar('\t');
    int error = open_query(&query, NULL);
    if (error == 0)
        error = print_answers(&query);
    if (error != 0)
        printf("%s", bloomfile_errname(error));
    free(query.digests);
    free(query.hits);
    return digests + 8 * query.count;
}

static void answer_images(char **words, size_t count)
{
    (void)count;
    size_t size;
    char *text = contents(words[1], &size);
    printf("ok");
    for (const char *at = text; at < text + size;)
        at = answer_query(at);
    putchar('\n');
    bloomfile_close(image); // also releases its memory
    image = NULL;
    free(text);
}

/* ------------------------------------------------------------------------- builds, operations */

/* A destination for OUT: the form is that of the file, or of an image in memory. */
static struct bloomfile_destination destination(const char *form, const char *path)
{
    return strcmp(form, "embedded") == 0 ? bloomfile_to_memory()
                                         : bloomfile_to_path(path, BLOOMFILE_TO_REPLACE);
}

static void write_memory(const struct bloomfile_destination *to, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(to->memory, 1, to->size, file) != to->size || fclose(file) != 0)
        err(2, "%s", path);
    bloomfile_free(to->memory);
}

static uint32_t layout_of(const char *name)
{
    uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED;
    while (layout < BLOOMFILE_LAYOUT_RIBBON && strcmp(bloomfile_layout_name(layout), name) != 0)
        layout++;
    return layout;
}

static void build(char **words, size_t count)
{
    (void)count;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout_of(words[1]);
    params.bits = strtoull(words[3], NULL, 10);
    params.hashes = (uint32_t)strtoul(words[4], NULL, 10);
    params.seed = strtoull(words[5], NULL, 10);
    params.fpr = strtod(words[6], NULL);
    params.capacity = strtoull(words[7], NULL, 10);
    params.over_capacity = 1;
    struct bloomfile_destination to = destination(words[8], words[10]);
    bloomfile_builder *builder;
    int error = bloomfile_builder_new(&builder, &params);
    if (error == 0) {
        keys_are_digests = false;
        struct lines lines = lines_of(words[9]);
        error = bloomfile_builder_add_many(builder, lines.keys, lines.count);
        free_lines(&lines);
    }
    if (error == 0)
        error = bloomfile_builder_write(builder, &to);
    bloomfile_builder_free(builder);
    if (error == 0 && to.kind == BLOOMFILE_TO_MEMORY)
        write_memory(&to, words[10]);
    answer(error);
}

static int open_all(bloomfile_filter **filters, char *const *paths, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        struct bloomfile_source from = bloomfile_from_path(paths[i]);
        error = bloomfile_open_with(&filters[i], &from, NULL); // also with an application's hash
    }
    return error;
}

static void close_all(bloomfile_filter **filters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bloomfile_close(filters[i]);
}

static void fold(char **words, size_t count)
{
    (void)count;
    bloomfile_filter *source = NULL;
    struct bloomfile_destination to = bloomfile_to_path(words[3], BLOOMFILE_TO_REPLACE);
    int error = open_all(&source, &words[2], 1);
    if (error == 0)
        error = bloomfile_fold(&to, source, strtoull(words[1], NULL, 10), NULL);
    close_all(&source, 1);
    answer(error);
}

static void merge(char **words, size_t count)
{
    bloomfile_filter *sources[MAX_WORDS] = { NULL };
    struct bloomfile_destination to = bloomfile_to_path(words[1], BLOOMFILE_TO_REPLACE);
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.op = words[0][0] == 'u' ? BLOOMFILE_MERGE_UNION : BLOOMFILE_MERGE_INTERSECTION;
    params.max_fpr = 1;
    int error = open_all(sources, &words[2], count - 2);
    const bloomfile_filter *const *all = (const bloomfile_filter *const *)sources;
    if (error == 0)
        error = bloomfile_merge(&to, all, count - 2, &params);
    close_all(sources, count - 2);
    answer(error);
}

static void join(char **words, size_t count)
{
    bloomfile_filter *slices[MAX_WORDS] = { NULL };
    struct bloomfile_destination to = bloomfile_to_path(words[1], BLOOMFILE_TO_REPLACE);
    int error = open_all(slices, &words[2], count - 2);
    const bloomfile_filter *const *all = (const bloomfile_filter *const *)slices;
    if (error == 0)
        error = bloomfile_join(&to, all, count - 2, NULL, 0);
    close_all(slices, count - 2);
    answer(error);
}

static void diff(char **words, size_t count)
{
    (void)count;
    bloomfile_filter *both[2] = { NULL, NULL };
    struct bloomfile_destination to = bloomfile_to_path(words[3], BLOOMFILE_TO_REPLACE);
    int error = open_all(both, &words[1], 2);
    if (error == 0)
        error = bloomfile_delta(&to, both[0], both[1], 1);
    close_all(both, 2);
    answer(error);
}

static void apply(char **words, size_t count)
{
    (void)count;
    bloomfile_filter *base = NULL;
    struct bloomfile_destination to = bloomfile_to_path(words[3], BLOOMFILE_TO_REPLACE);
    struct bloomfile_source patch = bloomfile_from_path(words[2]);
    int error = open_all(&base, &words[1], 1);
    if (error == 0)
        error = bloomfile_patch(&to, base, &patch, 1);
    close_all(&base, 1);
    answer(error);
}

/* ----------------------------------------------------------------------------------- commands */

static void abilities(char **words, size_t count)
{
    (void)words;
    (void)count;
    puts("ok\tblocked classic counting ribbon slices series live applications verify "
         "build-blocked build-classic build-ribbon fold union intersection join diff apply");
}

static const struct command {
    const char *name;
    size_t least; /* words */
    void (*run)(char **words, size_t count);
} commands[] = {
    { "abilities", 1, abilities },  { "open", 2, open_image },
    { "lookup", 2, look_up },       { "batch", 2, look_up },
    { "images", 2, answer_images }, { "verify", 1, verify },
    { "error", 1, sticky_error },   { "random", 3, look_up_random },
    { "build", 11, build },         { "fold", 4, fold },
    { "union", 3, merge },          { "join", 3, join },
    { "intersection", 3, merge },   { "diff", 4, diff },
    { "apply", 4, apply },
};

static void run(char **words, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(commands[i].name, words[0]) == 0 && count >= commands[i].least) {
            commands[i].run(words, count);
            return;
        }
    }
    printf("error\t-\tno such command\n");
}

int main(void)
{
    char line[16384];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *words[MAX_WORDS];
        size_t count = 0;
        line[strcspn(line, "\n")] = '\0';
        for (char *rest = line; rest != NULL && count < MAX_WORDS;)
            words[count++] = strsep(&rest, "\t");
        run(words, count);
        fflush(stdout);
    }
    bloomfile_close(image);
    return ferror(stdin) || ferror(stdout) ? 1 : 0;
}
