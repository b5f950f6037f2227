/* SPDX-License-Identifier: MIT
 * A program that uses the library as applications do: builds a filter, opens it, looks up keys. */
#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <stdio.h>
#include <string.h>

#define KEYS 3

/* The library has internal functions of these names. Neither may call the other's. */
int checksum(const char *text);
int publish(const char *path);

int checksum(const char *text)
{
    return text[0];
}

int publish(const char *path)
{
    static const char *const fruit[] = { "apple", "pear", "quince" };
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *b;
    params.capacity = KEYS;
    params.fpr = 1e-6;
    params.label = "fruit";
    struct bloomfile_destination to = bloomfile_to_path(path, BLOOMFILE_TO_REPLACE);
    int error = bloomfile_builder_new(&b, &params);
    for (int i = 0; i < KEYS && error == 0; i++)
        error = bloomfile_builder_add(b, fruit[i], strlen(fruit[i]));
    if (error == 0)
        error = bloomfile_builder_write(b, &to);
    bloomfile_builder_free(b);
    return error;
}

static void ask(const bloomfile_filter *f)
{
    const struct bloomfile_key keys[KEYS] = { { "apple", 5 }, { "stone", 5 }, { "pear", 4 } };
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bool maybe[KEYS];
    bloomfile_get_info(f, &info);
    const size_t found = bloomfile_contains_many(f, keys, KEYS, maybe);
    printf("%s: %d keys, %d of %d found, stone: %s\n", info.label, (int)info.keys, (int)found, KEYS,
           maybe[1] ? "maybe" : "no");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "fruit.bloom";
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile_filter *f = NULL;
    int error = publish(path);
    if (error == 0)
        error = bloomfile_open(&f, path, BLOOMFILE_OPEN_VERIFY_FULL);
    if (error == 0)
        error = bloomfile_measure(f, &measure);
    if (error == 0)
        ask(f);
    bloomfile_close(f);
    if (error != 0)
        fprintf(stderr, "%s: %s\n", path, bloomfile_strerror(error));
    return error != 0 || !(measure.fpr < 1e-6) || checksum("a") != 'a';
}
