/* SPDX-License-Identifier: MIT
 * Magic numbers, UTF-16, carriage returns at all line ends, and zero bytes. */
#include "shared/kind.h"
#include "shared/cli.h"
#include "shared/columns.h"

#include <string.h>

#define FILTER_MAGIC                                                                               \
    "\xBF"                                                                                         \
    "BLM\r\n\x1A\n"
#define PATCH_MAGIC                                                                                \
    "\xBF"                                                                                         \
    "DLT"

/* What files of other kinds begin with. */
static const struct mark {
    const char *bytes;
    size_t size;
    const char *what, *remedy;
    const char *program; /* that unpacks it; NULL: it is not packed */
    bool is_refused;
} marks[] = {
    { "\x1F\x8B\x08", 3, "gzip data", "-Z unpacks it", "gzip", false },
    { "\x28\xB5\x2F\xFD", 4, "zstd data", "-Z unpacks it", "zstd", false },
    { "\xFD"
      "7zXZ\0",
      6, "xz data", "xz -dc unpacks it", "xz", false },
    { "BZh", 3, "bzip2 data", "bzip2 -dc unpacks it", "bzip2", false },
    { FILTER_MAGIC, sizeof(FILTER_MAGIC) - 1, "a Bloom filter",
      "bfquery and bfuniq take it by --filter, bfmerge joins filters", NULL, true },
    { PATCH_MAGIC, sizeof(PATCH_MAGIC) - 1, "a patch between Bloom filters",
      "bfdelta --apply applies it, bfdelta --info describes it", NULL, true },
};

/* Of text alone: where keys are binary records, or end with zero bytes, these are nothing special.
 */
static const struct mark wide[] = {
    { "\xFF\xFE", 2, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 makes lines of it", NULL, false },
    { "\xFE\xFF", 2, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 makes lines of it", NULL, false },
    { "\xEF\xBB\xBF", 3, "text with a byte order mark", "tail -c +4 leaves the mark out", NULL,
      false },
};
static const struct mark unmarked[] = {
    { "", 0, "UTF-16 text", "iconv -f UTF-16LE -t UTF-8 makes lines of it", NULL, false },
    { "", 0, "UTF-16 text", "iconv -f UTF-16BE -t UTF-8 makes lines of it", NULL, false },
};

static bool begins(const struct mark *mark, const uint8_t *bytes, size_t size)
{
    if (size < mark->size || memcmp(bytes, mark->bytes, mark->size) != 0)
        return false;
    bool is_bzip2 = mark->bytes[0] == 'B'; /* which letters of a key may be too */
    return !is_bzip2 || (size >= 10 && (memcmp(bytes + 4, "1AY&SY", 6) == 0 ||
                                        memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0));
}

static const struct mark *find(const struct mark *list, size_t count, const uint8_t *bytes,
                               size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (begins(&list[i], bytes, size))
            return &list[i];
    }
    return NULL;
}

/* Western text without a byte order mark: every other byte of what comes first is zero. */
static const struct mark *find_unmarked(const uint8_t *bytes, size_t size)
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

static const struct mark *find_wide(const uint8_t *bytes, size_t size)
{
    const struct mark *found = find(wide, sizeof(wide) / sizeof(wide[0]), bytes, size);
    return found != NULL ? found : find_unmarked(bytes, size);
}

/* All lines that are whole; there must be one. */
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

static bool has(const uint8_t *bytes, size_t size, int byte)
{
    return memchr(bytes, byte, size) != NULL;
}

/* Keys that end with the one, where the other is asked for. */
static void judge_ends(const char *name, const struct keys_options *options, const uint8_t *bytes,
                       size_t size)
{
    const bool has_zero = options->record_size == 0 && has(bytes, size, '\0');
    if (has_zero && !options->null)
        cli_warn(0, "%s: there are zero bytes, which are taken for a part of the key%s", name,
                 options->fields.csv ? "" : " (-0 is for keys that end with one)");
    if (!has_zero && options->null && has(bytes, size, '\n'))
        cli_warn(0,
                 "%s: there are newlines and no zero byte, with which keys end (without -0 each"
                 " line is a key)",
                 name);
}

bool kind_is_filter(const uint8_t *bytes, size_t size)
{
    const size_t magic = sizeof(FILTER_MAGIC) - 1;
    return size >= magic && memcmp(bytes, FILTER_MAGIC, magic) == 0;
}

bool kind_is_patch(const uint8_t *bytes, size_t size)
{
    const size_t magic = sizeof(PATCH_MAGIC) - 1;
    return size > 0 && memcmp(bytes, PATCH_MAGIC, size < magic ? size : magic) == 0;
}

bool kind_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                size_t size, char reason[KIND_REASON])
{
    if (options->as_is)
        return true;
    if (size > KIND_SIZE)
        size = KIND_SIZE;
    const struct mark *found = find(marks, sizeof(marks) / sizeof(marks[0]), bytes, size);
    if (found == NULL && keys_are_lines(options))
        found = find_wide(bytes, size);
    if (found != NULL && found->is_refused) {
        snprintf(reason, KIND_REASON,
                 "it is %s, and holds no keys (%s; --as-is takes its bytes for keys)", found->what,
                 found->remedy);
        return false;
    }
    if (found != NULL && found->program != NULL && options->packed) {
        snprintf(reason, KIND_REASON, "what -Z makes of it looks like %s (%s -dc unpacks it)",
                 found->what, found->program);
        return false;
    }
    if (found != NULL) {
        cli_warn(0, "%s looks like %s, and is taken for keys as it is (%s)", name, found->what,
                 found->remedy);
        return true;
    }
    judge_ends(name, options, bytes, size);
    if (keys_are_lines(options) && !options->crlf && all_end_in_cr(bytes, size))
        cli_warn(0,
                 "%s: each line ends in a carriage return, which is taken for a part of the %s"
                 " (--crlf takes it off)",
                 name, options->fields.count > 0 ? "last field" : "key");
    columns_judge(name, options, bytes, size);
    return true;
}
