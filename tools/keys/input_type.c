/* SPDX-License-Identifier: MIT
 * Detecting inputs that do not look like keys: magic numbers, UTF-16, carriage returns at all line
 * ends, and NUL bytes. */
#include "keys/input_type.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "keys/delimiter.h"

#define FILTER_MAGIC                                                                               \
    "\xBF"                                                                                         \
    "BLM\r\n\x1A\n"
#define PATCH_MAGIC                                                                                \
    "\xBF"                                                                                         \
    "DLT"

/* The first bytes of other kinds of files. */
static const struct signature {
    const char *bytes;
    size_t size;
    const char *what;   /* "it is ..." */
    const char *remedy; /* for a list of keys; compressed: the command that unpacks it to a pipe */
    const char *from;   /* compressed: goes before the file's name in the command; else NULL */
    bool is_unpacked_by_z;
} signatures[] = {
    { "\x1F\x8B\x08", 3, "gzip-compressed", "gzip -dc", "< ", true },
    { "\x28\xB5\x2F\xFD", 4, "zstd-compressed", "zstd -dc", "< ", true },
    { "\xFD"
      "7zXZ\0",
      6, "xz-compressed", "xz -dc", "< ", false },
    { "\x04\x22\x4D\x18", 4, "lz4-compressed", "lz4 -dc", "< ", false },
    { "\x02\x21\x4C\x18", 4, "lz4-compressed", "lz4 -dc", "< ", false }, /* of old versions */
    { "BZh", 3, "bzip2-compressed", "bzip2 -dc", "< ", false },
    { "PK\x03\x04", 4, "a zip archive", "unzip -p", "", false },
    { "7z\xBC\xAF\x27\x1C", 6, "a 7-Zip archive", "7z e -so", "", false },
};

static const struct signature filter_signature = {
    FILTER_MAGIC,
    sizeof(FILTER_MAGIC) - 1,
    "a Bloom filter",
    "use it with --filter of bfquery or bfuniq, or merge it with bfmerge",
    NULL,
    false
};
static const struct signature patch_signature = {
    PATCH_MAGIC,
    sizeof(PATCH_MAGIC) - 1,
    "a patch between Bloom filters",
    "bfdelta --apply applies it, bfdelta --info describes it",
    NULL,
    false
};

/* Only text can be UTF-16: in binary records or NUL-terminated keys these bytes are ordinary. */
static const struct signature wide[] = {
    { "\xFF\xFE", 2, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8", NULL, false },
    { "\xFE\xFF", 2, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8", NULL, false },
};
static const struct signature unmarked[] = {
    { "", 0, "UTF-16 text", "convert it: iconv -f UTF-16LE -t UTF-8", NULL, false },
    { "", 0, "UTF-16 text", "convert it: iconv -f UTF-16BE -t UTF-8", NULL, false },
};

/* Records may begin with a short magic number by chance, so the following bytes are checked too. */
static bool is_likely(const struct signature *signature, const uint8_t *bytes, size_t size)
{
    if (signature->bytes[0] == 'B')
        return size >= 10 && (memcmp(bytes + 4, "1AY&SY", 6) == 0 ||
                              memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
    if (signature->bytes[0] == '\x1F') /* flags, extra flags, operating system */
        return size < 10 || (bytes[3] < 32 && bytes[8] <= 4 && (bytes[9] < 14 || bytes[9] == 255));
    return true;
}

static bool begins(const struct signature *signature, const uint8_t *bytes, size_t size)
{
    return size >= signature->size && memcmp(bytes, signature->bytes, signature->size) == 0 &&
           is_likely(signature, bytes, size);
}

static const struct signature *find(const struct signature *list, size_t count,
                                    const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (begins(&list[i], bytes, size))
            return &list[i];
    }
    return NULL;
}

/* Whether the bytes are a skippable frame, as pzstd writes first, followed by zstd data. */
static bool begins_with_skipped(const uint8_t *bytes, size_t size)
{
    enum {
        HEADER = 8
    };
    if (size < HEADER || (bytes[0] & 0xF0) != 0x50 || memcmp(bytes + 1, "\x2A\x4D\x18", 3) != 0)
        return false;
    const uint64_t next = HEADER + bytes[4] + 256u * bytes[5] + 65536u * bytes[6];
    return size < next + signatures[1].size || begins(&signatures[1], bytes + next, size - next);
}

/* UTF-16 text without a byte order mark: in Western text, every other byte at the
 * beginning is zero. */
static const struct signature *find_unmarked(const uint8_t *bytes, size_t size)
{
    enum {
        LEAST = 8,
        MOST = 256
    };
    size_t zeros[2] = { 0, 0 }, pairs = (size < MOST ? size : MOST) / 2;
    for (size_t i = 0; i < 2 * pairs; i++)
        zeros[i % 2] += bytes[i] == 0;
    if (pairs < LEAST || (zeros[0] > 0 && zeros[1] > 0))
        return NULL;
    return zeros[1] == pairs ? &unmarked[0] : zeros[0] == pairs ? &unmarked[1] : NULL;
}

bool input_type_is_filter(const uint8_t *bytes, size_t size)
{
    const size_t magic = sizeof(FILTER_MAGIC) - 1;
    return size >= magic && memcmp(bytes, FILTER_MAGIC, magic) == 0;
}

bool input_type_is_patch(const uint8_t *bytes, size_t size)
{
    const size_t magic = sizeof(PATCH_MAGIC) - 1;
    return size > 0 && memcmp(bytes, PATCH_MAGIC, size < magic ? size : magic) == 0;
}

/* Returns NULL if the bytes may be keys. */
static const struct signature *find_kind(const struct keys_options *options, const uint8_t *bytes,
                                         size_t size)
{
    if (input_type_is_filter(bytes, size))
        return &filter_signature;
    if (begins(&patch_signature, bytes, size))
        return &patch_signature;
    const struct signature *found =
        find(signatures, sizeof(signatures) / sizeof(signatures[0]), bytes, size);
    if (found == NULL && keys_are_lines(options))
        found = find(wide, sizeof(wide) / sizeof(wide[0]), bytes, size);
    if (found == NULL && keys_are_lines(options))
        found = find_unmarked(bytes, size);
    if (found == NULL && begins_with_skipped(bytes, size))
        return &signatures[1];
    return found;
}

/* Whether all complete lines end in a carriage return, and at least one line is complete. */
static bool all_end_in_cr(const uint8_t *bytes, size_t size)
{
    const uint8_t *end = bytes + size, *line = bytes, *newline;
    for (; line < end && (newline = memchr(line, '\n', (size_t)(end - line))) != NULL;
         line = newline + 1) {
        if (newline == line || newline[-1] != '\r')
            return false;
    }
    return line > bytes;
}

/* Whether the bytes are lines of text that do not end where records end. */
static bool are_lines(const uint8_t *bytes, size_t size, size_t record_size)
{
    bool cuts = false;
    for (size_t i = 0; i < size; i++) {
        const bool is_space = bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n';
        if ((bytes[i] < ' ' && !is_space) || bytes[i] > '~')
            return false;
        cuts |= bytes[i] == '\n' && (i + 1) % record_size != 0;
    }
    return cuts;
}

static size_t count_of(const uint8_t *bytes, size_t size, int (*is)(int))
{
    size_t count = 0;
    while (count < size && is(bytes[count]))
        count++;
    return count;
}

/* -x for lines would cut them at any place: every key would be a wrong "no". */
static void explain_lines(const struct keys_options *options, const uint8_t *bytes, size_t size,
                          char reason[INPUT_TYPE_REASON])
{
    const size_t line = count_of(bytes, size, isxdigit);
    const size_t digits = count_of(bytes, size, isdigit);
    char remedy[64] = "leave out -x";
    if (line == 2 * options->record_size)
        snprintf(remedy, sizeof(remedy), "--hex --key-size %zu instead of -x",
                 options->record_size);
    else if (digits > 0 && digits == line)
        snprintf(remedy, sizeof(remedy), "--integers instead of -x");
    snprintf(reason, INPUT_TYPE_REASON,
             "it is lines of text, not %zu-byte records (%s, or --as-is to use its bytes as keys)",
             options->record_size, remedy);
}

static bool has(const uint8_t *bytes, size_t size, int byte)
{
    return memchr(bytes, byte, size) != NULL;
}

/* Warns if keys seem to end with NUL although newline is expected, or the reverse. */
static void judge_ends(const char *name, const struct keys_options *options, const uint8_t *bytes,
                       size_t size)
{
    const bool has_zero = options->record_size == 0 && has(bytes, size, '\0');
    if (has_zero && !options->null)
        cli_warn("%s: it has NUL bytes, which become part of the key%s", name,
                 options->fields.csv ? "" : " (add -0 if keys end with NUL)");
    if (!has_zero && options->null && has(bytes, size, '\n'))
        cli_warn("%s: it has newlines but no NUL bytes, so it is one key (leave out -0 to use each "
                 "line as a key)",
                 name);
}

/* `unpacked`: -Z has already unpacked the input once. */
static void explain(const struct signature *found, bool unpacked, char reason[INPUT_TYPE_REASON])
{
    const bool is_ours = found == &filter_signature || found == &patch_signature;
    if (is_ours)
        snprintf(reason, INPUT_TYPE_REASON,
                 "it is %s, not a list of keys (%s; --as-is uses its bytes as keys)", found->what,
                 found->remedy);
    else if (found->from == NULL)
        snprintf(reason, INPUT_TYPE_REASON, "it is %s (%s, or --as-is to use its bytes as keys)",
                 found->what, found->remedy);
    else if (unpacked)
        snprintf(reason, INPUT_TYPE_REASON, "its %sdata is %s (decompress it: %s)",
                 found->is_unpacked_by_z ? "decompressed " : "", found->what, found->remedy);
    else
        snprintf(reason, INPUT_TYPE_REASON,
                 "it is %s (%s%s, or --as-is to use the compressed bytes as keys)", found->what,
                 found->is_unpacked_by_z ? "add -Z" : found->remedy,
                 found->is_unpacked_by_z ? "" : " unpacks it");
}

static bool may_be_keys(const struct keys_options *options, const uint8_t *bytes, size_t size,
                        char reason[INPUT_TYPE_REASON])
{
    const struct signature *found = find_kind(options, bytes, size);
    if (found != NULL) {
        explain(found, options->packed, reason);
        return false;
    }
    if (options->record_size > 0 && are_lines(bytes, size, options->record_size)) {
        explain_lines(options, bytes, size, reason);
        return false;
    }
    return true;
}

bool input_type_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                      size_t size, char reason[INPUT_TYPE_REASON])
{
    if (options->as_is)
        return true;
    if (size > INPUT_TYPE_SIZE)
        size = INPUT_TYPE_SIZE;
    if (!may_be_keys(options, bytes, size, reason))
        return false;
    const bool is_json = options->fields.json != NULL;
    const bool is_header = is_json || options->fields.header;
    if (keys_are_lines(options) && !is_header && size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        cli_warn("%s begins with a byte order mark, which becomes part of the first key (to strip "
                 "it: tail -c +4 FILE)",
                 name);
    if (!is_json)
        judge_ends(name, options, bytes, size);
    if (keys_are_lines(options) && !is_json && !has(bytes, size, '\n') && has(bytes, size, '\r') &&
        !options->fields.csv)
        cli_warn("%s: it has carriage returns but no newlines, so it is one key (to convert it: tr "
                 "'\\r' '\\n')",
                 name);
    if (keys_are_lines(options) && !is_json && !keys_strip_cr(options) &&
        all_end_in_cr(bytes, size))
        cli_warn("%s: each line ends with a carriage return, which becomes part of the %s (add "
                 "--crlf to strip it)",
                 name, options->fields.count > 0 ? "last field" : "key");
    delimiter_check_warn(name, options, bytes, size);
    return true;
}

void input_type_arrived(struct input_type_start *s, const uint8_t *bytes, size_t size)
{
    if (s->bytes == NULL && (s->bytes = malloc(INPUT_TYPE_SIZE)) == NULL)
        cli_fail(ENOMEM, "cannot start reading keys");
    if (size > INPUT_TYPE_SIZE - s->size)
        size = INPUT_TYPE_SIZE - s->size;
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

bool input_type_judge_start(struct input_type_start *s, const char *name,
                            const struct keys_options *options, bool at_end,
                            char reason[INPUT_TYPE_REASON])
{
    const bool is_first = s->judged == 0, is_all = at_end || s->size == INPUT_TYPE_SIZE;
    if (s->size == s->judged || (!is_first && !is_all))
        return true;
    s->judged = s->size;
    if (is_first)
        return input_type_judge(name, options, s->bytes, s->size, reason);
    return options->as_is || may_be_keys(options, s->bytes, s->size, reason);
}

/* Whether a shell needs no quotes around the name. */
static bool is_plain(const char *path)
{
    return path[0] != '-' &&
           path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789/._-+,:@%=")] == '\0';
}

bool input_type_describe(const uint8_t *bytes, size_t size, uint64_t file_size, const char *path,
                         struct input_type_text *text)
{
    const struct signature *packed =
        find(signatures, sizeof(signatures) / sizeof(signatures[0]), bytes, size);
    const char *project = foreign_filter(bytes, size, file_size);
    *text = (struct input_type_text){ .is_patch = begins(&patch_signature, bytes, size) };
    if (text->is_patch) {
        snprintf(text->what, sizeof(text->what), "it is a patch, not a filter");
        snprintf(text->remedy, sizeof(text->remedy),
                 "describe it: bfdelta --info; apply it: bfdelta --apply");
    } else if (packed != NULL) {
        snprintf(text->what, sizeof(text->what), "it is %s", packed->what);
        snprintf(text->remedy, sizeof(text->remedy), "decompress it: %s %s%s > NEWFILE",
                 packed->remedy, packed->from, is_plain(path) ? path : "FILE");
    } else if (project != NULL) {
        snprintf(text->what, sizeof(text->what),
                 "it looks like a filter of %s, which has another format", project);
        snprintf(text->remedy, sizeof(text->remedy), "build a filter from the keys with bfcreate");
    }
    return text->what[0] != '\0';
}

bool input_type_describe_file(const char *path, struct input_type_text *text)
{
    uint8_t start[INPUT_TYPE_START];
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    const ssize_t size =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, start, sizeof(start)) : -1;
    close(fd); /* opened for reading: an error loses no data */
    return size > 0 && input_type_describe(start, (size_t)size, (uint64_t)st.st_size, path, text);
}

/* ---- Bloom filters of other projects, recognized by a magic number, or by a header that implies
 * the size of the file. */

#define LIBBLOOM_MAGIC "libbloom2"

enum {
    MOST_HASHES = 255,
    HEADER_MOST = 40
};

static uint64_t big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static bool is_count_of_hashes(uint64_t number)
{
    return number >= 1 && number <= MOST_HASHES;
}

/* Whether `words` words of 8 bytes fill the file after its header, and there is at least one. */
static bool fills(uint64_t words, size_t header, uint64_t file_size)
{
    return words > 0 && file_size > header && (file_size - header) % 8 == 0 &&
           words == (file_size - header) / 8;
}

/* The header has a strategy, the number of hashes, and the number of words. */
static bool is_of_guava(const uint8_t *b, uint64_t size)
{
    return b[0] <= 1 && is_count_of_hashes(b[1]) && fills(big_endian(b + 2, 4), 6, size);
}

/* The header has version 1, hashes, words; or version 2, hashes, a seed, words. */
static bool is_of_spark(const uint8_t *b, uint64_t size)
{
    const uint64_t version = big_endian(b, 4);
    const size_t words = version == 1 ? 8 : 12;
    return (version == 1 || version == 2) && is_count_of_hashes(big_endian(b + 4, 4)) &&
           fills(big_endian(b + words, 4), words + 4, size);
}

/* The header has m, k, and m again as the size of the bit set. */
static bool is_of_go(const uint8_t *b, uint64_t size)
{
    const uint64_t m = big_endian(b, 8);
    return m > 0 && m < UINT64_MAX - 63 && m == big_endian(b + 16, 8) &&
           is_count_of_hashes(big_endian(b + 8, 8)) && fills((m + 63) / 64, 24, size);
}

/* The header has a rate, the number of slices, bits per slice, capacity and count; then
 * come the bits. */
static bool is_of_pybloom(const uint8_t *b, uint64_t size)
{
    double rate;
    uint64_t bits;
    const uint64_t rate_bits = little_endian(b), slices = little_endian(b + 8);
    memcpy(&rate, &rate_bits, sizeof(rate));
    return rate > 0 && rate < 1 && is_count_of_hashes(slices) &&
           !__builtin_mul_overflow(slices, little_endian(b + 16), &bits) && bits > 0 &&
           size > HEADER_MOST && size - HEADER_MOST == bits / 8 + (bits % 8 != 0);
}

const char *foreign_filter(const uint8_t *bytes, size_t size, uint64_t file_size)
{
    uint8_t start[HEADER_MOST] = { 0 };
    memcpy(start, bytes, size < sizeof(start) ? size : sizeof(start));
    if (size >= sizeof(LIBBLOOM_MAGIC) - 1 &&
        memcmp(start, LIBBLOOM_MAGIC, sizeof(LIBBLOOM_MAGIC) - 1) == 0)
        return "libbloom";
    return is_of_guava(start, file_size)     ? "Guava"
           : is_of_spark(start, file_size)   ? "Apache Spark"
           : is_of_go(start, file_size)      ? "bits-and-blooms (Go)"
           : is_of_pybloom(start, file_size) ? "pybloom"
                                             : NULL;
}
