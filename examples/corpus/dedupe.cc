/* SPDX-License-Identifier: MIT
 *
 * dedupe - remove from JSON lines the documents or paragraphs that a filter has seen
 *
 * See TUTORIAL.md. One write() adds a line to OUTPUT for each input line: the rest of the document,
 * or an empty line. After a kill, the next run counts the lines in OUTPUT, and continues there.
 */
#include "words.h"

#include <bloomfile.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <err.h>
#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

namespace
{

constexpr size_t GRAM = 13;        /* words */
constexpr size_t FEWEST_WORDS = 5; /* a shorter paragraph is kept, and not marked */
constexpr uint64_t SHARE_SEED = 0x7368617265;

const struct unit {
    char
        name[BLOOMFILE_TAG_SIZE]; /* the tag of its filters; filters with another tag are refused */
    double fpr;
    size_t claims; /* keys of a whole document or paragraph */
} units[] = {
    { "documents", 1e-6, 1 },
    { "paragraphs", 1e-6, 1 },
    { "grams", 0.01, 3 },
};
constexpr const unit *DOCUMENTS = &units[0], *GRAMS = &units[2];

struct {
    const unit *what = GRAMS;
    bool read_only = false;
    unsigned share = 0, shares = 1;
    double capacity = 1e7, fpr = 0, threshold = 0.8;
    const char *field = "text", *filter = nullptr, *output = nullptr;
} o;

void check(int error, const char *verb)
{
    const int kind = bloomfile_error_kind(error);
    if (error != 0)
        errx(2, "cannot %s %s: %s%s", verb, o.filter, bloomfile_strerror(error),
             kind == BLOOMFILE_KIND_DAMAGED || kind == BLOOMFILE_KIND_STATE
                 ? " (TUTORIAL.md: After a crash)"
                 : "");
}

/* ---- The filter. */

bloomfile_filter *exact, *plain; /* one file; one process wins each claim; grams need no lock */

int open_filter(bloomfile_filter **f, uint32_t flags)
{
    const struct bloomfile_source from = bloomfile_from_path(o.filter);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    how.expect = BLOOMFILE_EXPECT_TAG;
    memcpy(how.tag, o.what->name, sizeof how.tag);
    return bloomfile_open_with(f, &from, &how);
}

/* The filter grows, so a capacity that is too low costs memory and time but never loses text. */
int create_filter()
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = uint64_t(o.capacity);
    params.fpr = o.fpr > 0 ? o.fpr : o.what->fpr;
    params.series = BLOOMFILE_SERIES_GROW;
    params.label = o.what->name;
    params.key_kind = BLOOMFILE_KEYS_BYTES;
    memcpy(params.tag, o.what->name, sizeof params.tag);
    return bloomfile_create(&exact, o.filter, &params, BLOOMFILE_OPEN_ADD_EXACT);
}

void open_filters()
{
    int error = EEXIST;
    while (!o.read_only && error == EEXIST) { /* again if another process created it */
        error = open_filter(&exact, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
        if (error == ENOENT)
            error = create_filter();
    }
    check(o.read_only ? 0 : error, "open");
    check(open_filter(&plain, o.read_only ? 0 : BLOOMFILE_OPEN_WRITE), "open");
}

/* Whether the text is new. If several processes have it at this moment, it is new for exactly one of
 * them. At the rate of grams, too many new texts would look like seen texts. So with grams a text
 * has several keys, and is seen if all keys are seen. */
bool claim(std::string_view text)
{
    const size_t n = o.what->claims;
    bloomfile_digest keys[4] = { bloomfile_digest_of(plain, text.data(), text.size()) };
    for (size_t i = 1; i < n; i++)
        keys[i] = bloomfile_hash(0, &keys[i - 1], sizeof keys[i - 1]);
    if (o.read_only)
        return bloomfile_contains_digests(plain, keys, n, nullptr) < n;
    size_t new_keys = 0;
    check(bloomfile_add_digests(exact, keys, n, nullptr, &new_keys, nullptr), "add to");
    return new_keys > 0;
}

/* Returns whether to keep the text, and then marks it. `words` is empty if the text is a whole
 * document. `anyway`: keep it even if it was seen. */
bool take(std::string_view text, const Words &words, bool anyway)
{
    static std::vector<bloomfile_digest> digests;
    digests.clear();
    if (o.what == GRAMS && words.starts.size() >= GRAM) {
        const auto spans = words.grams(GRAM);
        digests.resize(spans.count);
        check(bloomfile_digests_of_spans(plain, &spans, digests.data()), "look up");
    }
    const size_t seen = bloomfile_contains_digests(plain, digests.data(), digests.size(), nullptr);
    if (!anyway && double(seen) > o.threshold * double(digests.size()))
        return false;
    if (!claim(text) && !anyway)
        return false;
    if (!o.read_only)
        check(
            bloomfile_add_digests(plain, digests.data(), digests.size(), nullptr, nullptr, nullptr),
            "add to");
    return true;
}

/* Whether the text is in this host's share. The hash has its own seed, because the filter places
 * keys by the top bits of its digests. */
bool is_ours(std::string_view text)
{
    const uint64_t top = bloomfile_hash(SHARE_SEED, text.data(), text.size()) >> 32;
    return top * o.shares >> 32 == o.share;
}

/* ---- Documents. */

uintmax_t documents, dropped, paragraphs, removed;

/* Returns whether text is removed; `left` is the rest, or empty if the rest has no words. */
bool shorten(std::string_view text, bool anyway, std::string *left)
{
    static Words words;
    bool shorter = false, has_words = false;
    left->clear();
    if (o.what == DOCUMENTS)
        return is_ours(text) && !take(text, words, anyway);
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        words.split(text.substr(at, end - at));
        if (words.starts.size() >= FEWEST_WORDS) {
            paragraphs++;
            if (is_ours(words.all) && !take(words.all, words, anyway)) {
                removed += shorter = true;
                continue;
            }
        }
        has_words |= words.starts.size() > 0;
        left->append(text, at, end + 1 - at);
    }
    if (!has_words)
        left->clear();
    return shorter;
}

void append_escaped(std::string *json, std::string_view text)
{
    static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    char code[8];
    for (char c : text)
        if (const char *at = strchr(special, c); at != nullptr && c != 0) {
            *json += { '\\', letters[at - special] };
        } else if (uint8_t(c) < 0x20) {
            snprintf(code, sizeof code, "\\u%04x", unsigned(uint8_t(c)));
            *json += code;
        } else {
            *json += c;
        }
}

/* Returns the rest of a document as a line. The buffer has room for SIMDJSON_PADDING. */
const std::string &shortened(const char *json, size_t size, size_t room, bool anyway)
{
    static simdjson::ondemand::parser parser;
    static std::string left, line;
    std::string_view text, raw; /* of the last field with the name, as in most parsers */
    simdjson::ondemand::document document = parser.iterate(json, size, room);
    for (auto field : document.get_object())
        if (std::string_view(field.unescaped_key()) == o.field) {
            simdjson::ondemand::value value = field.value();
            raw = value.raw_json_token();
            text = value.get_string();
        }
    if (raw.empty())
        throw simdjson::simdjson_error(simdjson::NO_SUCH_FIELD);
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
        throw simdjson::simdjson_error(simdjson::TAPE_ERROR); /* text follows the object */

    documents++;
    line.clear();
    if (!shorten(text, anyway, &left)) {
        line.append(json, size);
    } else if (left.empty()) {
        dropped++;
    } else { /* all other bytes stay the same */
        line.append(json, raw.data() + 1);
        append_escaped(&line, left);
        line.append(raw.data() + raw.rfind('"'), json + size);
    }
    /* A damaged filter may have answered "seen" for new texts. */
    for (const bloomfile_filter *f : { plain, o.read_only ? plain : exact })
        check(bloomfile_damage(f), "rely on");
    return line += '\n';
}

/* ---- Input and output. */

void run()
{
    char *line = nullptr;
    size_t room = 0;
    ssize_t size;
    uintmax_t done = 0, number = 0;
    off_t end = 0;
    open_filters();
    const bool begun = access(o.output, F_OK) == 0;
    FILE *out = fopen(o.output, "a+");
    while (out != nullptr && (size = getline(&line, &room, out)) > 0 && line[size - 1] == '\n')
        done++, end += size;
    if (out == nullptr || ferror(out) || ftruncate(fileno(out), end) != 0)
        err(2, "cannot open %s", o.output);
    while ((size = getline(&line, &room, stdin)) >= 0) {
        if (number++ < done)
            continue;
        const size_t length = size_t(size) - (line[size - 1] == '\n');
        if (room < length + simdjson::SIMDJSON_PADDING) {
            room = 2 * length + simdjson::SIMDJSON_PADDING;
            if ((line = static_cast<char *>(realloc(line, room))) == nullptr)
                err(2, "cannot read line %ju", number);
        }
        /* A killed run may have marked this document without writing it. */
        const bool in_doubt = begun && number == done + 1 && !o.read_only;
        try {
            const std::string &rest = length == 0 ? "\n" : shortened(line, length, room, in_doubt);
            if (write(fileno(out), rest.data(), rest.size()) != ssize_t(rest.size()))
                err(2, "cannot write a line to %s", o.output);
        } catch (const simdjson::simdjson_error &error) {
            errx(2, "cannot read line %ju: field %s: %s", number, o.field, error.what());
        }
    }
    if (ferror(stdin) || !feof(stdin))
        err(2, "cannot read standard input");
    if (number < done)
        errx(2, "cannot continue %s: it has more lines than the input", o.output);
    if (fclose(out) != 0)
        err(2, "cannot write %s", o.output);
    check(o.read_only ? bloomfile_recheck(plain) : bloomfile_sync(exact, nullptr), "rely on");
    bloomfile_close(plain);
    bloomfile_close(exact);
}

double number_of(const char *text, double least, double greatest)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != 0 || !(value >= least && value <= greatest))
        errx(2, "%s is not a number from %g to %g", text, least, greatest);
    return value;
}

} // namespace

int main(int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "ru:n:p:t:s:f:")) != -1;) {
        if (c == 'r')
            o.read_only = true;
        else if (c == 'n')
            o.capacity = number_of(optarg, 1, 1e15);
        else if (c == 'p')
            o.fpr = number_of(optarg, 1e-12, 0.5);
        else if (c == 't')
            o.threshold = number_of(optarg, 0, 1);
        else if (c == 'f')
            o.field = optarg;
        else if (c == 's' && sscanf(optarg, "%u/%u", &o.share, &o.shares) == 2 &&
                 o.share < o.shares)
            continue;
        else {
            o.what = nullptr;
            for (const unit &u : units)
                if (c == 'u' && strcmp(u.name, optarg) == 0)
                    o.what = &u;
        }
    }
    if (o.what == nullptr || argc - optind != 2) {
        fputs(
            "usage: dedupe [-r] [-u documents|paragraphs|grams] [-n KEYS] [-p RATE] [-t FRACTION]\n"
            "              [-s I/N] [-f FIELD] FILTER OUTPUT <JSON-LINES\n",
            stderr);
        return 2;
    }
    if (o.what == GRAMS && o.shares > 1)
        errx(2, "-s needs -u documents or paragraphs: the grams of a paragraph have many shares");
    o.filter = argv[optind];
    o.output = argv[optind + 1];
    run();
    fprintf(stderr, "dedupe: %ju documents, %ju dropped", documents, dropped);
    if (o.what != DOCUMENTS)
        fprintf(stderr, "; %ju paragraphs, %ju removed", paragraphs, removed);
    fputc('\n', stderr);
    return 0;
}
