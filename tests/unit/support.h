/* SPDX-License-Identifier: MIT
 * Functions that several test programs share. */
#ifndef BLOOMFILE_TESTS_SUPPORT_H
#define BLOOMFILE_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include "places.h"

/* Skips a test; the summary of scripts/test lists the reason. */
#undef skip
#define skip(reason) (print_message("skipped: %s\n", reason), _skip(__FILE__, __LINE__))

/* Begins a test: TEST(claim) { ... }. run_all() runs the tests of a program in the order of their
 * definitions. */
#define TEST(name)        TEST_WITH(name, NULL, NULL)
#define TEST_IN_DIR(name) TEST_WITH(name, enter_temp_dir, leave_temp_dir)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        add_test(&(struct CMUnitTest)cmocka_unit_test_setup_teardown(name, setup, teardown));      \
    }                                                                                              \
    static void name(void **state)
void add_test(const struct CMUnitTest *test);
int run_all(CMFixtureFunction setup, CMFixtureFunction teardown); /* for main() */

#define ROWS(table) (sizeof(table) / sizeof(table)[0])

struct bytes {
    uint8_t *data; /* release it with free() */
    size_t size;
};

/* Asserts that a function of the library returned `expected`; names both errors if not. */
#define assert_error(expression, expected)                                                         \
    check_error((expression), (expected), #expression, __FILE__, __LINE__)
void check_error(int got, int expected, const char *what, const char *file, int line);

/* Asserts the result of bloomfile_inspect() and bloomfile_open_with() for an image: `error`, and
 * the first fault's field and offset; 0: the image is valid. `what` names the case. */
void assert_verdict(const char *what, struct bytes image, int error, const char *field,
                    uint64_t offset);

/* Prints the reason why a test program cannot run here, and returns its exit status. */
int skipped(const char *why);

/* Whether this processor lacks the kernel that BLOOMFILE_KERNEL names. */
bool lacks_kernel(void);

/* ---- building */

/* Sets struct_size and over_capacity too. */
bloomfile_builder *new_builder(struct bloomfile_params params);

/* Adds number_key(from) to number_key(to - 1). */
void add_numbers(bloomfile_builder *b, uint64_t from, uint64_t to);

struct bytes finish_image(bloomfile_builder *b);

/* Finishes the image and frees the builder. */
struct bytes last_image(bloomfile_builder *b);

/* Returns the bytes of the file that the builder writes, and deletes the file. */
struct bytes finish_file(bloomfile_builder *b);

/* Releases `got`. */
void assert_bytes(struct bytes got, struct bytes expected);

/* Builds a filter with this number of keys at the path. */
int publish_filter(const char *path, unsigned flags, uint64_t keys);
void assert_filter_of(const char *path, uint64_t keys);

/* bloomfile_open_with() without expectations: from any source, and by path. */
int open_from(bloomfile_filter **out, struct bloomfile_source from, unsigned flags);
int open_any(bloomfile_filter **out, const char *path, unsigned flags);

/* Opens a filter with the name of an application's hash. */
int open_named(bloomfile_filter **out, struct bloomfile_source from, unsigned flags,
               uint32_t hash_id, uint64_t self_test);

bloomfile_filter *open_image(struct bytes image, unsigned flags);
struct bloomfile_info info_of(const bloomfile_filter *f);

/* One result of bloomfile_size_for(); 0 or NaN after an error. */
uint64_t bits_for(uint32_t layout, uint64_t n, double fpr, uint32_t k);
uint32_t hashes_for(uint32_t layout, uint64_t bits, uint64_t n);
double fpr_for(uint32_t layout, uint64_t bits, uint32_t k, uint64_t n);
double spread_for(uint32_t layout, uint64_t bits, uint32_t k, uint64_t n);

/* Opens the image, verifies its body and returns its facts. */
struct bloomfile_info verified_info(struct bytes image);

/* ---- images */

/* Header sizes. */
enum {
    EMBEDDED = 512,
    IN_FILE = 4096,
};

struct recipe {
    uint32_t layout, header_size;
    uint64_t m;
    uint32_t k;
    uint64_t keys; /* number(0) to number(keys - 1) */
    uint64_t seed;
};

struct bytes image_from(struct recipe recipe);

/* An image of each layout: slightly over a page of body, whose last byte is partly used. */
enum {
    SMALL_KEYS = 60
};
extern const struct recipe small_recipes[3];

/* A sealed series that grew from 3000 keys to number(0, 0) to number(0, keys - 1). */
struct bytes series_image(uint32_t layout, uint64_t keys);

/* Returns the same filter with a header of 4096 bytes; frees `embedded`. */
struct bytes with_file_header(struct bytes embedded);

/* Corrects checksums of the header after a change: all of them, or the checksum of a record. */
void reseal_header(uint8_t *image);
void reseal_record(uint8_t *image, unsigned slot);

/* Corrects body_crc and the checksums of pages after a change of the body. */
void reseal_body(uint8_t *image);

uint8_t *record_at(uint8_t *image, unsigned slot);

/* ---- keys */

/* The digest of the i-th test key: its number in 8 bytes. */
uint64_t number(uint64_t seed, uint64_t i);

/* The keys that number() digests. */
struct bytes number_key(uint64_t i, uint8_t room[8]);

uint64_t random64(uint64_t *state);

/* ---- a second implementation of section 10 of the specification */

void reference_positions(uint32_t layout, uint64_t m, uint32_t k, uint64_t digest, uint64_t *x);
unsigned reference_value(uint32_t layout, const uint8_t *body, uint64_t x);
bool reference_contains(uint32_t layout, const uint8_t *body, uint64_t m, uint32_t k,
                        uint64_t digest);

/* ---- files; the current directory belongs to the test */

int enter_temp_dir(void **state);
int leave_temp_dir(void **state);

void write_file(const char *path, const void *bytes, size_t size);

/* Waits until a file written now gets a later time than a file written before. */
void wait_for_file_times(void);

/* Waits for a child, and asserts that it ended with _exit(0). */
void assert_child_succeeds(pid_t child);

/* Opens the state of a thread for falls_asleep(); -1 without /proc. */
int state_of(pid_t process, pid_t thread);

/* Waits, however slow the thread is, until it sleeps in a system call, ends or sets `over`;
 * returns whether it sleeps. Closes `state`. */
bool falls_asleep(int state, const atomic_bool *over);
struct bytes read_file(const char *path);
void assert_file_holds(const char *path, const void *bytes, size_t size);
size_t entries_in_dir(void);
size_t open_descriptors(void);
/* Returns whether it is a regular file of the current directory that was made without a name or
 * has lost its name. */
bool has_no_name(int fd);
/* These skip the test on a file system without such files, like vfat. */
void make_symlink(const char *target, const char *path);
void make_hard_link(const char *old, const char *path);
void make_pipe(const char *path, mode_t mode);
void set_mode(const char *path, mode_t mode);
bool takes_mode(const char *path, mode_t mode); /* does not skip it */

/* Skips the test where a child cannot detect the fork: emulators ignore MADV_WIPEONFORK. */
void need_wipe_on_fork(void);
/* Returns whether files here can be made without a name and be named later. */
bool has_unnamed_files(void);

/* The value of "BLOOMFILE_EMAGIC" and so on; 0 if no error has that name. */
int error_named(const char *name);

#endif
