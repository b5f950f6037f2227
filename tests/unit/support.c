/* SPDX-License-Identifier: MIT
 * Functions that several test programs share. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "format/bytes.h"
#include "format/decode.h"
#include "format/header.h"
#include "image/body.h"
#include "sizing/sizing.h"

void check_error(int got, int expected, const char *what, const char *file, int line)
{
    if (got == expected)
        return;
    print_error("%s: got %s, expected %s\n", what, bloomfile_errname(got),
                bloomfile_errname(expected));
    _fail(file, line);
}

static struct CMUnitTest tests[100];
static size_t test_count;

void add_test(const struct CMUnitTest *test)
{
    if (test_count == ROWS(tests))
        abort();
    tests[test_count++] = *test;
}

int run_all(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return _cmocka_run_group_tests("tests", tests, test_count, setup, teardown) != 0;
}

int skipped(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    return 77;
}

bool lacks_kernel(void)
{
    const char *wanted = getenv("BLOOMFILE_KERNEL");
    struct bytes image = image_from(small_recipes[0]);
    bloomfile_filter *f = open_image(image, 0);
    const bool lacking = wanted != NULL && strcmp(wanted, bloomfile_kernel_name(f)) != 0;
    bloomfile_close(f);
    free(image.data);
    return lacking;
}

void assert_verdict(const char *what, struct bytes image, int error, const char *field,
                    uint64_t offset)
{
    struct bloomfile_fault fault = { 0 };
    size_t count = 1;
    int inspected = bloomfile_inspect(image.data, image.size, NULL, &fault, &count);
    bloomfile_filter *f = (void *)&fault;
    int opened = open_from(&f, bloomfile_from_memory(image.data, image.size), 0);
    if (inspected != error || opened != error)
        fail_msg("%s: inspected %s, opened %s, expected %s", what, bloomfile_errname(inspected),
                 bloomfile_errname(opened), bloomfile_errname(error));
    if (error == 0) {
        assert_int_equal(count, 0);
        bloomfile_close(f);
        return;
    }
    assert_null(f);
    assert_true(count >= 1);
    if (fault.error != error || fault.offset != offset || strcmp(fault.field, field) != 0)
        fail_msg("%s: fault %s in %s at %llu, expected %s in %s at %llu", what,
                 bloomfile_errname(fault.error), fault.field, (unsigned long long)fault.offset,
                 bloomfile_errname(error), field, (unsigned long long)offset);
    assert_int_equal(fault.page, UINT64_MAX);
}

/* ---- building */

bloomfile_builder *new_builder(struct bloomfile_params params)
{
    params.struct_size = sizeof params;
    params.over_capacity = 1;
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &params), 0);
    return b;
}

void add_numbers(bloomfile_builder *b, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        uint8_t room[8];
        struct bytes key = number_key(i, room);
        assert_error(bloomfile_builder_add(b, key.data, key.size), 0);
    }
}

struct bytes finish_image(bloomfile_builder *b)
{
    void *image;
    struct bytes bytes;
    assert_error(write_memory(b, &image, &bytes.size), 0);
    bytes.data = image;
    return bytes;
}

struct bytes last_image(bloomfile_builder *b)
{
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return image;
}

struct bytes finish_file(bloomfile_builder *b)
{
    assert_error(bloomfile_builder_write(b, TO_PATH("built", BLOOMFILE_TO_REPLACE)), 0);
    assert_int_equal(entries_in_dir(), 1);
    struct bytes file = read_file("built");
    assert_int_equal(unlink("built"), 0);
    return file;
}

void assert_bytes(struct bytes got, struct bytes expected)
{
    assert_int_equal(got.size, expected.size);
    assert_memory_equal(got.data, expected.data, got.size);
    free(got.data);
}

int open_from(bloomfile_filter **out, struct bloomfile_source from, unsigned flags)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    return bloomfile_open_with(out, &from, &how);
}

int open_any(bloomfile_filter **out, const char *path, unsigned flags)
{
    return open_from(out, bloomfile_from_path(path), flags);
}

int open_named(bloomfile_filter **out, struct bloomfile_source from, unsigned flags,
               uint32_t hash_id, uint64_t self_test)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    how.expect = BLOOMFILE_EXPECT_HASH;
    how.hash_id = hash_id;
    how.self_test = self_test;
    return bloomfile_open_with(out, &from, &how);
}

bloomfile_filter *open_image(struct bytes image, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), flags), 0);
    return f;
}

static struct bloomfile_size size_of(uint32_t layout, uint64_t bits, uint32_t k, uint64_t n)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.layout = layout;
    size.bits = bits;
    size.hashes = k;
    size.keys = n;
    return size;
}

uint64_t bits_for(uint32_t layout, uint64_t n, double fpr, uint32_t k)
{
    struct bloomfile_size size = size_of(layout, 0, k, n);
    size.fpr = fpr;
    return bloomfile_size_for(&size) == 0 ? size.bits : 0;
}

uint32_t hashes_for(uint32_t layout, uint64_t bits, uint64_t n)
{
    struct bloomfile_size size = size_of(layout, bits, 0, n);
    return bits != 0 && n != 0 && bloomfile_size_for(&size) == 0 ? size.hashes : 0;
}

double fpr_for(uint32_t layout, uint64_t bits, uint32_t k, uint64_t n)
{
    struct bloomfile_size size = size_of(layout, bits, k, n);
    if (n == 0)
        return sizing_rate(layout, geometry_units_of(layout, bits), k, n);
    return bits != 0 && bloomfile_size_for(&size) == 0 ? size.fpr : NAN;
}

double spread_for(uint32_t layout, uint64_t bits, uint32_t k, uint64_t n)
{
    struct bloomfile_size size = size_of(layout, bits, k, n);
    size.want_spread = 1;
    return bits != 0 && bloomfile_size_for(&size) == 0 ? size.spread : NAN;
}

struct bloomfile_info info_of(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return info;
}

struct bloomfile_info verified_info(struct bytes image)
{
    bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
    struct bloomfile_info info = info_of(f);
    bloomfile_close(f);
    return info;
}

int publish_filter(const char *path, unsigned flags, uint64_t keys)
{
    bloomfile_builder *b =
        new_builder((struct bloomfile_params){ .layout = BLOOMFILE_LAYOUT_CLASSIC });
    add_numbers(b, 0, keys);
    int error = bloomfile_builder_write(b, TO_PATH(path, flags));
    bloomfile_builder_free(b);
    return error;
}

void assert_filter_of(const char *path, uint64_t keys)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, BLOOMFILE_OPEN_VERIFY_FULL), 0);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    assert_int_equal(info.keys, keys);
    bloomfile_close(f);
}

/* ---- images */

struct bytes series_image(uint32_t layout, uint64_t keys)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bytes image;
    void *data;
    params.layout = layout;
    params.capacity = 3000;
    params.series = BLOOMFILE_SERIES_GROW;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    for (uint64_t i = 0; i < keys; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_error(copy_memory(&data, &image.size, f), 0);
    image.data = data;
    bloomfile_close(f);
    return image;
}

struct bytes with_file_header(struct bytes embedded)
{
    struct header h;
    struct header_faults faults = { 0 };
    decode_header(embedded.data, embedded.size, &h, &faults);
    assert_error(faults.first, 0);
    h.header_size = IN_FILE;
    size_t used = (size_t)h.body_size;
    struct bytes image;
    image_describe(&h);
    image.size = (size_t)geometry_of(h.layout, h.m, h.header_size).image_size;
    image.data = calloc(1, image.size);
    assert_non_null(image.data);
    memcpy(image.data + h.body_offset, embedded.data + EMBEDDED, used);
    image_sum(&h, image.data + h.body_offset);
    header_encode(&h, image.data);
    free(embedded.data);
    return image;
}

const struct recipe small_recipes[3] = {
    { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 67, 6, SMALL_KEYS, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 8 * (4096 + 170) - 3, 5, SMALL_KEYS, 0 },
    { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 2 * (4096 + 170) - 1, 5, SMALL_KEYS, 7 },
};

struct bytes image_from(struct recipe recipe)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){
        .layout = recipe.layout,
        .bits = recipe.m,
        .hashes = recipe.layout == BLOOMFILE_LAYOUT_RIBBON ? 0 : recipe.k,
        .seed = recipe.seed });
    add_numbers(b, 0, recipe.keys);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return recipe.header_size == IN_FILE ? with_file_header(image) : image;
}

uint8_t *record_at(uint8_t *image, unsigned slot)
{
    uint32_t header_size = get32(image + AT_header_size);
    return image + header_size / 2 + slot * (header_size / 4);
}

void reseal_record(uint8_t *image, unsigned slot)
{
    uint32_t size = get32(image + AT_header_size) / 4;
    uint8_t *record = record_at(image, slot);
    put32(record + size - 4, (uint32_t)crc32_z(0, record, size - 4));
}

void reseal_header(uint8_t *image)
{
    uint32_t size = get32(image + AT_header_size) / 2;
    uint32_t crc = (uint32_t)crc32_z(0, image, size - 4);
    put32(image + size - 4, crc);
    for (unsigned slot = 0; slot < 2; slot++) {
        put32(record_at(image, slot) + RECORD_AT_header_crc, crc);
        reseal_record(image, slot);
    }
}

void reseal_body(uint8_t *image)
{
    const size_t offset = (size_t)get64(image + AT_body_offset),
                 size = (size_t)get64(image + AT_body_size);
    uint8_t *body = image + offset, *entry = body + size;
    uint32_t whole = (uint32_t)crc32_z(0, body, size);
    for (size_t at = 0; at < size; at += 4096, entry += 4)
        put32(entry, (uint32_t)crc32_z(0, body + at, size - at < 4096 ? size - at : 4096) ^ whole);
    for (unsigned slot = 0; slot < 2; slot++) {
        put32(record_at(image, slot) + RECORD_AT_body_crc, whole);
        reseal_record(image, slot);
    }
}

/* ---- keys */

struct bytes number_key(uint64_t i, uint8_t room[8])
{
    put64(room, i);
    return (struct bytes){ room, 8 };
}

uint64_t number(uint64_t seed, uint64_t i)
{
    uint8_t room[8];
    struct bytes key = number_key(i, room);
    return bloomfile_hash(seed, key.data, key.size);
}

uint64_t random64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* ---- a second implementation */

static uint64_t mulhi(uint64_t a, uint64_t b)
{
    uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32, b_low = b & 0xFFFFFFFF, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    return a_high * b_high + (middle >> 32) + ((a_low * b_high + (middle & 0xFFFFFFFF)) >> 32);
}

static uint64_t g(uint64_t digest, unsigned i)
{
    for (; i > 0; i--)
        digest *= 11400714819323198485u;
    return digest;
}

void reference_positions(uint32_t layout, uint64_t m, uint32_t k, uint64_t digest, uint64_t *x)
{
    for (unsigned i = 0; i < k; i++)
        x[i] = layout == BLOOMFILE_LAYOUT_BLOCKED
                   ? mulhi(digest, m / 512) * 512 + (g(digest, 1 + i / 6) << 9 * (i % 6) >> 55)
                   : mulhi(g(digest, i), m);
}

unsigned reference_value(uint32_t layout, const uint8_t *body, uint64_t x)
{
    if (layout != BLOOMFILE_LAYOUT_COUNTING)
        return (body[x / 8] & 1 << x % 8) != 0;
    return x % 2 == 0 ? body[x / 2] % 16u : body[x / 2] / 16u;
}

bool reference_contains(uint32_t layout, const uint8_t *body, uint64_t m, uint32_t k,
                        uint64_t digest)
{
    uint64_t x[BLOOMFILE_MAX_HASHES];
    reference_positions(layout, m, k, digest, x);
    for (unsigned i = 0; i < k; i++)
        if (reference_value(layout, body, x[i]) == 0)
            return false;
    return true;
}

/* ---- files */

static char temp_dir[4096];

int enter_temp_dir(void **state)
{
    const char *parent = getenv("TMPDIR");
    snprintf(temp_dir, sizeof temp_dir, "%s/bloomfile-test.XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(temp_dir) == NULL || chdir(temp_dir) != 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path) != 0 && errno != ENOENT; /* .nfs*, by the kernel */
}

int leave_temp_dir(void **state)
{
    return chdir("/") != 0 || nftw(temp_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void wait_for_file_times(void)
{
    struct stat first, now;
    write_file("probe", "", 0);
    assert_int_equal(stat("probe", &first), 0);
    do {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        write_file("probe", "x", 1);
        assert_int_equal(stat("probe", &now), 0);
    } while (now.st_mtim.tv_sec == first.st_mtim.tv_sec &&
             now.st_mtim.tv_nsec == first.st_mtim.tv_nsec);
    assert_int_equal(unlink("probe"), 0);
}

void assert_child_succeeds(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int state_of(pid_t process, pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)process, (int)thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns how often a sleeping thread has gone to sleep; 0 if it does not sleep, -1 if it has
 * ended. */
static long sleeps(int state)
{
    char text[4096];
    const ssize_t size = pread(state, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    const char *letter = strstr(text, "\nState:"),
               *count = strstr(text, "\nvoluntary_ctxt_switches:");
    if (letter == NULL || count == NULL || letter[8] == 'Z')
        return -1;
    return letter[8] == 'S' ? 1 + atol(strchr(count, ':') + 1) : 0;
}

bool falls_asleep(int state, const atomic_bool *over)
{
    long before = 0;
    /* The thread waits if it slept through several looks. */
    for (unsigned quiet = 0; quiet < (state < 0 ? 50 : 5);) {
        const long now = state < 0 ? 1 : sleeps(state);
        if (now < 0 || (over != NULL && atomic_load(over)))
            break;
        quiet = now > 0 && now == before ? quiet + 1 : 0;
        before = now;
        nanosleep(&(struct timespec){ .tv_nsec = 1000 * 1000 }, NULL);
    }
    const bool asleep = before > 0 && (over == NULL || !atomic_load(over));
    close(state);
    return asleep;
}

struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    struct bytes content = { malloc((size_t)status.st_size + 1), (size_t)status.st_size };
    assert_non_null(content.data);
    assert_int_equal(fread(content.data, 1, content.size + 1, file), content.size);
    fclose(file);
    content.data[content.size] = '\0';
    return content;
}

void assert_file_holds(const char *path, const void *bytes, size_t size)
{
    struct bytes content = read_file(path);
    assert_int_equal(content.size, size);
    assert_memory_equal(content.data, bytes, size);
    free(content.data);
}

/* FUSE and NFS give this name to a file that was removed and is still open. */
static bool is_hidden(const char *name)
{
    return strncmp(name, ".fuse_hidden", 12) == 0 || strncmp(name, ".nfs", 4) == 0;
}

bool has_no_name(int fd)
{
    struct stat status, hidden;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    bool found = status.st_nlink == 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;)
        found = is_hidden(entry->d_name) && stat(entry->d_name, &hidden) == 0 &&
                hidden.st_ino == status.st_ino;
    closedir(dir);
    return found;
}

size_t entries_in_dir(void)
{
    DIR *dir = opendir(".");
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 !is_hidden(entry->d_name);
    closedir(dir);
    return count;
}

static void made_or_unknown(int result)
{
    if (result != 0 && errno == EPERM)
        skip("the file system has no links or FIFOs");
    assert_int_equal(result, 0);
}

void make_symlink(const char *target, const char *path)
{
    made_or_unknown(symlink(target, path));
}

void make_hard_link(const char *old, const char *path)
{
    made_or_unknown(link(old, path));
}

void make_pipe(const char *path, mode_t mode)
{
    made_or_unknown(mkfifo(path, mode));
}

bool takes_mode(const char *path, mode_t mode)
{
    struct stat status;
    const int result = chmod(path, mode);
    assert_true(result == 0 || errno == EPERM);
    assert_int_equal(stat(path, &status), 0);
    return result == 0 && (status.st_mode & 07777) == mode;
}

void set_mode(const char *path, mode_t mode)
{
    if (!takes_mode(path, mode))
        skip("the file system keeps no permissions");
}

void need_wipe_on_fork(void)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, anonymous, -1, 0);
    int status;
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(madvise(memory, size, MADV_WIPEONFORK), 0);
    *memory = 1;
    const pid_t child = fork();
    if (child == 0)
        _exit(*memory);
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap(memory, size);
    if (status != 0)
        skip("the kernel does not wipe memory on fork");
}

bool has_unnamed_files(void)
{
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    if (fd < 0)
        return false;
    assert_int_equal(close(fd), 0);
    return access("/proc/self/fd", X_OK) == 0;
}

/* Uses poll(), because /proc may be missing. */
size_t open_descriptors(void)
{
    struct pollfd all[1000];
    for (size_t i = 0; i < ROWS(all); i++)
        all[i] = (struct pollfd){ .fd = (int)i };
    assert_true(poll(all, ROWS(all), 0) >= 0);
    size_t count = 0;
    for (size_t i = 0; i < ROWS(all); i++)
        count += (all[i].revents & POLLNVAL) == 0;
    return count;
}

int error_named(const char *name)
{
    for (int error = -1100; error > -1800; error--)
        if (strcmp(name, bloomfile_errname(error)) == 0)
            return error;
    return 0;
}
