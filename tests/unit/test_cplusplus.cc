// SPDX-License-Identifier: MIT
//
// Tests of bloomfile.hpp: its results are those of the C interface, handles without a filter return
// "maybe", files of other keys are refused, and errors arrive as exceptions or codes.
#include <bloomfile.hpp>
#include <bloomfile_combine.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(__LINE__, #condition);                                                            \
    } while (0)

namespace
{

using bloomfile::live_flags;
using bloomfile::open_flags;
using bloomfile::write_flags;

[[noreturn]] void fail(int line, const char *condition)
{
    std::fprintf(stderr, "test_cplusplus.cc:%d: not true: %s\n", line, condition);
    std::exit(1);
}

/* A folder that the destructor removes. */
struct folder {
    std::filesystem::path path;

    folder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "cplusplus-XXXXXX").string();
        CHECK(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    folder(const folder &) = delete;
    folder &operator=(const folder &) = delete;
} scratch;

std::filesystem::path in(const char *name)
{
    return scratch.path / name;
}

bloomfile::params with_fpr(double fpr)
{
    bloomfile::params p;
    p.fpr = fpr;
    return p;
}

std::vector<std::string> numbered(const char *prefix, int n)
{
    std::vector<std::string> all;
    for (int i = 0; i < n; i++)
        all.push_back(prefix + std::to_string(i));
    return all;
}

/* The error_code that is thrown, which must be all that is thrown. */
template <class Do> std::error_code thrown(Do what, const std::string &words = "")
{
    try {
        what();
    } catch (const bloomfile::error &e) {
        CHECK(std::string(e.what()).find(words) != std::string::npos);
        return e.code();
    }
    return std::error_code();
}

/* A slice like those of storage engines. */
struct slice {
    const char *at;
    std::size_t length;

    const char *data() const
    {
        return at;
    }
    std::size_t size() const
    {
        return length;
    }
};

void test_errors_are_error_codes_or_exceptions()
{
    std::error_code ec;
    const bloomfile::filter none(in("none.bloom"), ec);
    CHECK(ec == std::errc::no_such_file_or_directory);
    CHECK(!none && none.contains("apple") && none.check() == ec);
    CHECK(thrown([] { bloomfile::filter f(in("none.bloom")); },
                 "cannot open " + in("none.bloom").string()) == ec);

    std::FILE *text = std::fopen(in("text").c_str(), "w");
    CHECK(text != nullptr && std::fputs("not a filter", text) >= 0 && std::fclose(text) == 0);
    const bloomfile::filter f(in("text"), ec);
    CHECK(ec == BLOOMFILE_EMAGIC && ec != BLOOMFILE_EEMPTY && f.contains("apple"));
    CHECK(ec.message() == bloomfile_strerror(BLOOMFILE_EMAGIC));
    CHECK(std::string(ec.category().name()) == "bloomfile");
    CHECK(thrown([] { bloomfile::filter<int> g(in("text")); }, "not a filter file") == ec);

    bloomfile::builder<> b(with_fpr(2), ec);
    CHECK(ec == BLOOMFILE_EVALUE);
    b.add("apple", ec);
    CHECK(ec == BLOOMFILE_EVALUE);
    b.write(in("none.bloom"), ec);
    CHECK(ec == BLOOMFILE_EVALUE && !std::filesystem::exists(in("none.bloom")));
    CHECK(thrown([] { bloomfile::builder<> c(with_fpr(2)); }) == BLOOMFILE_EVALUE);

    CHECK(bloomfile::code(0) == std::error_code() && !bloomfile::code(0));
    CHECK(bloomfile::code(BLOOMFILE_EVALUE) == std::errc::invalid_argument);
    CHECK(make_error_code(bloomfile::errc::closed) == std::errc::bad_file_descriptor);
    bloomfile::params wrong;
    wrong.struct_size = 1;
    bloomfile::builder<> d(wrong, ec);
    CHECK(ec == BLOOMFILE_ESTRUCTSIZE);
}

/* Types that may be a key, and types that may not. */
void test_only_byte_ranges_are_keys()
{
    using bloomfile::bytes;
    static_assert(!std::is_constructible_v<bytes, std::nullptr_t>);
    static_assert(!std::is_constructible_v<bytes, int>);
    static_assert(!std::is_constructible_v<bytes, std::vector<int>>);
    static_assert(!std::is_constructible_v<bytes, std::u16string>);
    static_assert(!std::is_constructible_v<bloomfile::span<bool>, const std::vector<char> &>);
    static_assert(!std::is_constructible_v<bloomfile::path_arg, std::string_view>);
    static_assert(!std::is_copy_constructible_v<bloomfile::filter<>>);
    static_assert(std::is_nothrow_move_assignable_v<bloomfile::live_filter<>>);
    static_assert(std::is_move_constructible_v<bloomfile::builder<>>);
    static_assert(!std::is_constructible_v<bloomfile::span<bool>, std::vector<bool> &>);
    static_assert(std::is_constructible_v<bloomfile::span<bool>, bloomfile::answers &>);

    bloomfile::builder b;
    b.add("apple");
    b.write(in("fruit.bloom"), write_flags::replace);
    const bloomfile::filter f(in("fruit.bloom").string());
    const unsigned char raw[] = { 'a', 'p', 'p', 'l', 'e' };
    const char text[] = "apple";
    const std::vector<std::byte> array(reinterpret_cast<const std::byte *>(raw),
                                       reinterpret_cast<const std::byte *>(raw) + 5);
    CHECK(f.contains("apple") && f.contains(std::string("apple")) && f.contains(text));
    CHECK(f.contains(std::string_view("apples", 5)) && f.contains(slice{ "apples", 5 }));
    const bloomfile::filter<bytes> g(in("fruit.bloom"));
    CHECK(g.contains(raw) && g.contains(array) && g.contains({ text, 5 }) && g.contains("apple"));
    CHECK(f.contains({ text, 5 }) && !f.contains({ text, 6 }) && !g.contains({ text, 6 }));
    CHECK(!f.contains("stone") && !f.contains(std::string_view()));
#if __cplusplus >= 202002L
    const std::span<const std::byte> stretch(array);
    bool hit = false;
    CHECK(g.contains(stretch) && f.contains_many(std::vector{ "apple" }, std::span(&hit, 1)) == 1 &&
          hit && f.contains(u8"apple") && !f.contains(u8"stone") &&
          f.contains(std::u8string(u8"apple")));
#endif
}

/* Keys that do not outlive the next key: made on access, and read from a stream. */
struct made {
    const char *prefix;
    int count;

    struct iterator {
        const char *prefix;
        int at;

        std::string operator*() const
        {
            return prefix + std::to_string(at) + ", longer than what a string holds in itself";
        }
        iterator &operator++()
        {
            at++;
            return *this;
        }
        bool operator!=(const iterator &other) const
        {
            return at != other.at;
        }
    };

    iterator begin() const
    {
        return { prefix, 0 };
    }
    iterator end() const
    {
        return { prefix, count };
    }
};

struct read {
    std::istream &from;

    std::istream_iterator<std::string> begin() const
    {
        return std::istream_iterator<std::string>(from);
    }
    std::istream_iterator<std::string> end() const
    {
        return std::istream_iterator<std::string>();
    }
};

/* Views of one buffer, like those of line readers and transforming views. */
struct viewed {
    std::istream &from;
    mutable std::string line = {};

    struct iterator {
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = std::string_view;
        std::istream *from;
        std::string *line;

        std::string_view operator*() const
        {
            return *line;
        }
        iterator &operator++()
        {
            if (!std::getline(*from, *line))
                from = nullptr;
            return *this;
        }
        bool operator!=(const iterator &other) const
        {
            return from != other.from;
        }
    };
    iterator begin() const
    {
        return ++iterator{ &from, &line };
    }
    iterator end() const
    {
        return { nullptr, nullptr };
    }
};

void test_keys_that_share_a_buffer_are_distinct()
{
    std::string text;
    for (const auto &line : numbered("line ", 3000))
        text += line + '\n';
    std::istringstream first(text), again(text);
    bloomfile::builder b(with_fpr(1e-6));
    b.add_many(viewed{ first });
    CHECK(b.count() == 3000);
    const bloomfile::filter<> f =
        bloomfile::filter<>::from_memory(b.write_memory(), open_flags::copy);
    CHECK(f.contains_many(numbered("line ", 3000)) == 3000);
    CHECK(f.contains_many(viewed{ again }) == 3000);
    const std::vector<std::string_view> views(40, "line 7");
    CHECK(f.contains_many(views) == 40);
}

void test_any_range_of_keys_is_accepted()
{
    bloomfile::builder b(with_fpr(1e-6));
    std::string words;
    for (const std::string key : made{ "key-", 3000 })
        b.add(key);
    for (const auto &word : numbered("a-word-that-is-longer-than-a-string-", 3000))
        words += word + ' ';
    std::istringstream first(words), again(words);
    b.add_many(read{ first });
    CHECK(b.count() == 6000);
    const bloomfile::filter<> f =
        bloomfile::filter<>::from_memory(b.write_memory(), open_flags::copy);
    CHECK(f.contains_many(made{ "key-", 3000 }) == 3000 &&
          f.contains_many(made{ "absent-", 3000 }) < 5);
    CHECK(f.contains_many(read{ again }) == 3000);
    const auto longer = numbered("a-word-that-is-longer-than-a-string-", 3000);
    CHECK(f.contains_many(longer) == 3000);
}

/* Always the same string object, for any key: tokenizers that claim forward iterators do so. */
struct remade {
    const std::vector<std::string> *keys;

    struct iterator {
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string *;
        using reference = const std::string &;
        const std::vector<std::string> *keys;
        std::size_t at;
        std::string now = {};

        reference operator*()
        {
            return now = (*keys)[at];
        }
        iterator &operator++()
        {
            at++;
            return *this;
        }
        bool operator!=(const iterator &other) const
        {
            return at != other.at;
        }
    };

    iterator begin() const
    {
        return { keys, 0 };
    }
    iterator end() const
    {
        return { keys, keys->size() };
    }
};

/* All answers are those of the C interface, for every filter. */
void test_answers_match_the_c_interface(std::uint32_t layout, std::uint64_t seed)
{
    const auto present = numbered("present ", 5000), absent = numbered("absent ", 5000);
    bloomfile::params p = with_fpr(0.05);
    p.layout = layout;
    p.seed = seed;
    bloomfile::builder b(p);
    CHECK(b.seed() == seed);
    b.add_many(present);
    b.add_many({ "one", "two" });
    b.add_digests(std::vector{ b.digest("three") });
    CHECK(b.count() == 5003);
    b.set_tag({ 't', 'a', 'g' });
    b.write(in("answers.bloom"), write_flags::replace);

    const bloomfile::filter f(in("answers.bloom"), open_flags::verify_full);
    CHECK(f && f.seed() == seed && f.info().keys == 5003 && f.info().tag[0] == 't' && !f.check());
    std::size_t found = 0;
    for (const auto *keys : { &present, &absent })
        for (const auto &key : *keys) {
            const bool hit = f.contains(key);
            CHECK(hit == bloomfile_contains(f.get(), key.data(), key.size()));
            CHECK(hit == f.contains_digest(f.digest(key)));
            f.prefetch_digest(f.digest(key));
            found += hit;
        }
    CHECK(found > 5000 && found < 6000 && f.contains_many({ "one", "two", "three" }) == 3);

    for (std::size_t n : { 0u, 1u, 63u, 64u, 65u, 511u, 512u, 513u, 5000u }) {
        const std::vector<std::string_view> some(absent.begin(),
                                                 absent.begin() + static_cast<long>(n));
        for (std::size_t room : { std::size_t{ 0 }, n / 3, n }) {
            const auto hits = std::make_unique<bool[]>(room + 1);
            hits[room] = true;
            std::size_t alone = 0;
            for (std::size_t i = 0; i < n; i++)
                alone += f.contains(some[i]);
            CHECK(f.contains_many(some, { hits.get(), room }) == alone && hits[room]);
            for (std::size_t i = 0; i < room; i++)
                CHECK(hits[i] == f.contains(some[i]));
        }
    }
    const bloomfile::answers each = f.contains_each(absent);
    CHECK(each.size() == absent.size());
    for (std::size_t i = 0; i < absent.size(); i++)
        CHECK(each[i] == f.contains(absent[i]));
    const std::list<std::string> linked(present.begin(), present.end());
    CHECK(f.contains_many(linked) == 5000 && f.contains_many(present) == 5000);
    CHECK(f.contains_many(remade{ &present }) == 5000);
    bloomfile::builder again(with_fpr(1e-6));
    again.add_many(remade{ &present });
    CHECK(again.count() == 5000);
    std::vector<bloomfile_digest> digests;
    for (const auto &key : absent)
        digests.push_back(f.digest(key));
    CHECK(f.contains_digests(digests) == f.contains_many(absent));
}

/* From every source and to every destination. */
void test_every_source_and_destination_is_accepted()
{
    bloomfile::builder b(with_fpr(1e-6));
    b.add("apple");
    bloomfile::image image = b.write_memory();
    bloomfile::filter f = bloomfile::filter<>::from_memory(image);
    CHECK(f.contains("apple") && !f.contains("stone"));
    bloomfile::filter kept = bloomfile::filter<>::from_memory(b.write_memory());
    CHECK(kept.contains("apple") && !kept.contains("stone"));
    static_assert(bloomfile::detail::is_leaving_owner_v<std::array<unsigned char, 4096>> &&
                  !bloomfile::detail::is_leaving_owner_v<std::string_view>);
    const auto *first = static_cast<const unsigned char *>(image.data());
    bloomfile::filter copied =
        bloomfile::filter<>::from_memory(std::vector<unsigned char>(first, first + image.size()));
    CHECK(copied.contains("apple") && !copied.contains("stone"));
    CHECK(bloomfile::filter<>::from_memory({ image.data(), image.size() }).contains("apple"));
    f = bloomfile::filter<>::from_memory(image, open_flags::copy);
    bloomfile::image moved(std::move(image));
    CHECK(moved.size() > 512 && image.size() == 0 && image.data() == nullptr);
    moved = bloomfile::image();
    CHECK(f.contains("apple") && !f.contains("stone"));

    const int fd = open(in("stream.bloom").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    b.write(bloomfile_to_fd(fd));
    f = bloomfile::filter<>::from_fd(fd);
    close(fd);
    CHECK(f.contains("apple") && !f.contains("stone"));

    std::error_code ec;
    CHECK(bloomfile::filter<>::from_memory(bloomfile::bytes("x", 1), {}, ec).contains("stone") &&
          ec);
    CHECK(thrown([] { (void)bloomfile::filter<>::from_fd(-1); }) == std::errc::bad_file_descriptor);
    bloomfile_filter *raw;
    CHECK(bloomfile_open(&raw, in("stream.bloom").c_str(), 0) == 0);
    f = bloomfile::filter<>::adopt(raw);
    CHECK(f.get() == raw && f.contains("apple") && !f.contains("stone"));
    CHECK(!bloomfile::filter<>::adopt(nullptr, ec) && ec == BLOOMFILE_EVALUE);
}

/* Handles that the C interface opened. */
void test_handles_of_the_c_interface_are_adopted()
{
    bloomfile_params p = BLOOMFILE_PARAMS_INIT;
    p.capacity = 100;
    p.key_kind = BLOOMFILE_KEYS_INTEGERS;
    bloomfile_filter *raw;
    const std::string path = in("adopted.bloom").string();
    CHECK(bloomfile_create(&raw, path.c_str(), &p, 0) == 0);
    auto f = bloomfile::live_filter<int>::adopt(raw);
    static_assert(std::is_same_v<decltype(f), bloomfile::live_filter<int>>);
    CHECK(f.get() == raw && f.add(5) && f.contains(5) && !f.contains(6));

    std::error_code ec;
    CHECK(bloomfile_open(&raw, path.c_str(), BLOOMFILE_OPEN_WRITE) == 0);
    CHECK(!bloomfile::live_filter<>::adopt(raw, ec) && ec == BLOOMFILE_EKEYKIND);
    CHECK(bloomfile_open(&raw, path.c_str(), 0) == 0);
    CHECK(!bloomfile::live_filter<int>::adopt(raw, ec) && ec == BLOOMFILE_EREADONLY);
    CHECK(bloomfile_open(&raw, path.c_str(), 0) == 0);
    CHECK(bloomfile::filter<int>::adopt(raw).contains(5));
    CHECK(bloomfile_open(&raw, path.c_str(), 0) == 0);
    CHECK(thrown([&] { (void)bloomfile::filter<>::adopt(raw); }) == BLOOMFILE_EKEYKIND);
    f.seal();
    CHECK(bloomfile_open(&raw, path.c_str(), 0) == 0);
    CHECK(!bloomfile::live_filter<int>::adopt(raw, ec) && ec == BLOOMFILE_ESEALED);
    CHECK(!bloomfile::live_filter<int>::adopt(nullptr, ec) && ec == BLOOMFILE_EVALUE);
}

void expect_maybe(const bloomfile::filter<> &f)
{
    bool hits[3] = {};
    CHECK(!f && f.get() == nullptr && f.contains("stone") && f.contains_digest(1));
    CHECK(f.contains_many({ "a", "b", "c" }, hits) == 3 && hits[0] && hits[1] && hits[2]);
    CHECK(f.contains_many({ "a", "b", "c" }) == 3 && f.check() && !f.is_stale());
    CHECK(f.info().keys == 0);
    f.prefetch_digest(1);
    std::error_code ec;
    f.verify(ec);
    CHECK(ec == f.check() && ec == f.recheck());
}

/* Like `cp -p` over the file. */
void test_recheck_notices_a_write_that_puts_times_back()
{
    bloomfile::builder b;
    b.add("apple");
    b.write(in("over.bloom"));
    bloomfile::filter f(in("over.bloom"));
    CHECK(!f.contains("stone") && !f.check() && !f.recheck());
    struct stat before;
    const int fd = open(in("over.bloom").c_str(), O_RDWR);
    CHECK(fd >= 0 && fstat(fd, &before) == 0);
    const std::vector<unsigned char> ones(static_cast<std::size_t>(before.st_size - 4096), 0xFF);
    const auto written = [] {
        std::ofstream(in("probe")) << "x";
        return std::filesystem::last_write_time(in("probe"));
    };
    for (const auto first = written(); written() == first;)
        ; // until a write gets a later time
    CHECK(pwrite(fd, ones.data(), ones.size(), 4096) == static_cast<ssize_t>(ones.size()));
    const struct timespec times[] = { before.st_atim, before.st_mtim };
    CHECK(futimens(fd, times) == 0 && close(fd) == 0);
    CHECK(!f.check() && f.recheck() == BLOOMFILE_ECHANGED && f.contains("stone"));
}

void test_empty_handles_answer_maybe_and_report_closed()
{
    bloomfile::builder b;
    b.add("apple");
    b.write(in("moved.bloom"));
    expect_maybe(bloomfile::filter());
    bloomfile::filter f(in("moved.bloom"));
    bloomfile::filter g(std::move(f));
    expect_maybe(f);
    CHECK(f.check() == bloomfile::errc::closed && !g.contains("stone") && !g.check());
    f = std::move(g);
    expect_maybe(g);
    CHECK(!f.contains("stone"));
    auto &same = f;
    f = std::move(same);
    CHECK(!f.contains("stone"));
    bloomfile_filter *raw = f.release();
    expect_maybe(f);
    bloomfile_close(raw);
    f = bloomfile::filter(in("moved.bloom"));
    CHECK(!f.contains("stone") && !f.is_stale());
    f.close();
    expect_maybe(f);
    f.close();

    std::error_code ec;
    bloomfile::builder c(std::move(b));
    b.add("pear", ec);
    CHECK(ec == bloomfile::errc::closed && b.count(ec) == 0 && ec == bloomfile::errc::closed);
    b.write(in("moved.bloom"), write_flags::replace, ec);
    CHECK(ec == bloomfile::errc::closed && b.get() == nullptr);
    b = std::move(c);
    CHECK(b.count() == 1);
    bloomfile::live_filter<> live;
    CHECK(live.add("a", ec) && ec == bloomfile::errc::closed);
    CHECK(thrown([&] { live.finish(); }) == bloomfile::errc::closed);
}

/* A filter that lacks keys is not published, even if the program ignores errors. */
void test_builder_with_a_failed_add_does_not_publish()
{
    const std::string nowhere = in("no-such-folder").string();
    bloomfile::params p;
    p.memory = 1 << 20;
    p.spool = nowhere.c_str();
    std::error_code ec;
    bloomfile::builder b(p, ec);
    for (int i = 0; i < 1000000 && !ec; i++)
        b.add(std::to_string(i), ec);
    CHECK(ec == std::errc::no_such_file_or_directory);
    b.write(in("lacks.bloom"), ec);
    CHECK(ec == std::errc::no_such_file_or_directory);
    CHECK(!std::filesystem::exists(in("lacks.bloom")));
    CHECK(thrown([&] { (void)b.write_memory(); }) == ec);
}

struct odd {
    int number;
};

struct odd_hasher {
    static constexpr std::uint32_t id = 0x9C41D2E7;
    static odd example()
    {
        return { 1 };
    }
    static std::string bytes_of(const odd &key)
    {
        if (key.number % 2 == 0)
            throw std::bad_alloc();
        return std::to_string(key.number);
    }
};

/* Keys that were not looked up count as present, or as new. */
void test_keys_of_a_throwing_range_count_as_present_or_new()
{
    bloomfile::params p;
    p.capacity = 10000;
    auto f = bloomfile::live_filter<odd, odd_hasher>::create_memory(p);
    std::vector<odd> keys(5000, odd{ 3 });
    keys[4321].number = 4;
    for (const bool adding : { false, true }) {
        std::array<bool, 6000> hits{};
        bool caught = false;
        try {
            if (adding)
                f.add_many(keys, hits);
            else
                (void)f.contains_many(keys, hits);
        } catch (const std::bad_alloc &) {
            caught = true;
        }
        CHECK(caught);
        for (std::size_t i = 0; i < 4096; i++)
            CHECK(hits[i] == (adding && i == 0));
        for (std::size_t i = 4096; i < 6000; i++)
            CHECK(hits[i]);
    }
}

/* ---- code that must not compile */

template <class F, class Key, class = void> constexpr bool looks_up_v = false;
template <class F, class Key>
constexpr bool
    looks_up_v<F, Key,
               std::void_t<decltype(std::declval<const F &>().contains(std::declval<Key>())),
                           decltype(std::declval<const F &>().digest(std::declval<Key>()))>> = true;

template <class F, class Key, class = void> constexpr bool adds_v = false;
template <class F, class Key>
constexpr bool adds_v<F, Key,
                      std::void_t<decltype(std::declval<F &>().add(std::declval<Key>())),
                                  decltype(std::declval<F &>().add(
                                      std::declval<Key>(), std::declval<std::error_code &>()))>> =
    true;

template <class F, class Key, class = void> constexpr bool removes_v = false;
template <class F, class Key>
constexpr bool
    removes_v<F, Key,
              std::void_t<decltype(std::declval<F &>().remove(std::declval<Key>())),
                          decltype(std::declval<F &>().remove(
                              std::declval<Key>(), std::declval<std::error_code &>()))>> = true;

/* takes: every function with a key accepts each of these types; refuses: no function accepts
 * any. */
template <class Key, class... Wanted> constexpr bool takes()
{
    using filter = bloomfile::filter<Key>;
    using live = bloomfile::live_filter<Key>;
    using builder = bloomfile::builder<Key>;
    return (... && (looks_up_v<filter, Wanted> && looks_up_v<live, const Wanted &> &&
                    adds_v<builder, Wanted &> && adds_v<live, Wanted> && removes_v<live, Wanted>));
}
template <class Key, class... Others> constexpr bool refuses()
{
    using filter = bloomfile::filter<Key>;
    using live = bloomfile::live_filter<Key>;
    using builder = bloomfile::builder<Key>;
    return !(... || (looks_up_v<filter, Others> || looks_up_v<live, Others> ||
                     adds_v<builder, Others> || adds_v<live, Others> || removes_v<live, Others>));
}

enum class colour : std::uint16_t {
    red = 0x1234
};

enum class shade : std::uint16_t {
    dark
};
enum plain_enum {
    one_of_them
};
struct to_int {
    operator int() const;
};

static_assert(takes<std::uint64_t, std::int8_t, unsigned char, short, unsigned, long, long long,
                    std::uint64_t, const int>());
static_assert(takes<signed char, std::uint64_t>());
static_assert(
    refuses<std::uint64_t, double, float, bool, char, wchar_t, char16_t, char32_t, std::nullptr_t,
            void *, const char *, std::string, std::byte, shade, plain_enum, to_int,
            std::atomic<std::int64_t>, std::vector<bool>::reference>());
static_assert(takes<shade, shade>() && refuses<shade, int, std::uint16_t, colour, bool>());
static_assert(takes<plain_enum, plain_enum>() && refuses<plain_enum, int, bool>());
using five = std::array<unsigned char, 5>;
static_assert(
    takes<five, five>() &&
    refuses<five, std::array<unsigned char, 4>, std::string, int, const unsigned char *>());
static_assert(takes<bloomfile::text, std::string, std::string_view, const char *, char[6], slice,
                    bloomfile::text>());
static_assert(takes<std::string, std::string_view, const char *>());
static_assert(refuses<bloomfile::text, int, bool, char, std::nullptr_t, void *, std::vector<int>,
                      std::wstring, std::u16string, std::vector<unsigned char>, five,
                      bloomfile::bytes, const unsigned char *>());
static_assert(takes<bloomfile::bytes, std::vector<std::byte>, unsigned char[5], five, std::string,
                    slice, bloomfile::text>());
static_assert(refuses<bloomfile::bytes, int, bool, std::nullptr_t, void *, std::vector<int>,
                      std::u16string, const unsigned char *>());
static_assert(takes<std::vector<std::byte>, std::vector<unsigned char>>());

template <class... Arguments>
constexpr bool opens_v = std::is_constructible_v<bloomfile::filter<>, Arguments...>;
template <class... Arguments>
constexpr bool opens_live_v = std::is_constructible_v<bloomfile::live_filter<>, Arguments...>;
static_assert(opens_v<const char *> && opens_v<const char *, open_flags> &&
              opens_v<const char *, open_flags, std::error_code &> &&
              opens_v<const char *, std::error_code &>);
static_assert(opens_live_v<const char *> && opens_live_v<const char *, live_flags> &&
              opens_live_v<const char *, live_flags, std::error_code &> &&
              opens_live_v<const char *, std::error_code &>);
template <class... Wrong>
constexpr bool no_flags_v =
    !(... ||
      (opens_v<const char *, Wrong> || opens_v<const char *, Wrong, std::error_code &> ||
       opens_live_v<const char *, Wrong> || opens_live_v<const char *, Wrong, std::error_code &>));
static_assert(no_flags_v<int, unsigned, bool, char, long, double, std::nullptr_t, write_flags>);
static_assert(!opens_v<const char *, live_flags> && !opens_live_v<const char *, open_flags>);
static_assert((open_flags::copy | open_flags::lock) != open_flags::copy &&
              ((open_flags::copy | open_flags::lock) & open_flags::copy) == open_flags::copy);
template <class A, class B, class = void> constexpr bool combine_v = false;
template <class A, class B>
constexpr bool combine_v<A, B, std::void_t<decltype(std::declval<A>() | std::declval<B>())>> = true;
static_assert(combine_v<open_flags, open_flags> && !combine_v<open_flags, live_flags> &&
              !combine_v<open_flags, unsigned> && !combine_v<bloomfile::errc, bloomfile::errc>);

/* No handle converts to a handle of another kind. */
template <class One, class Other>
constexpr bool are_apart_v =
    !std::is_assignable_v<One &, Other> && !std::is_assignable_v<Other &, One> &&
    !std::is_constructible_v<One, Other> && !std::is_constructible_v<Other, One> &&
    !std::is_swappable_with_v<One &, Other &>;
using of_text = bloomfile::filter<>;
using live_of_text = bloomfile::live_filter<>;
static_assert(are_apart_v<of_text, live_of_text> && are_apart_v<of_text, bloomfile::filter<int>> &&
              are_apart_v<live_of_text, bloomfile::live_filter<int>>);
static_assert(std::is_nothrow_swappable_v<of_text> && std::is_nothrow_swappable_v<live_of_text>);
template <class Base>
constexpr bool is_fixed_v =
    !std::is_move_assignable_v<Base> && !std::is_move_constructible_v<Base> &&
    !std::is_default_constructible_v<Base> && !std::is_swappable_v<Base>;
static_assert(is_fixed_v<bloomfile::lookups<>> && !std::is_move_assignable_v<bloomfile::handle> &&
              !std::is_swappable_v<bloomfile::handle>);
static_assert(std::is_convertible_v<live_of_text &, const bloomfile::lookups<> &> &&
              std::is_final_v<live_of_text> && std::is_final_v<of_text>);

/* Some keys hashed before the exception are not added, so the filter is not published. */
void test_builder_with_a_throwing_add_does_not_publish()
{
    std::vector<odd> keys(5000, odd{ 3 });
    keys[4321].number = 4;
    for (const bool one : { true, false }) {
        bloomfile::builder<odd, odd_hasher> b;
        std::error_code ec;
        bool caught = false;
        b.add(odd{ 5 });
        try {
            if (one)
                b.add(odd{ 6 }, ec);
            else
                b.add_many(keys, ec);
        } catch (const std::bad_alloc &) {
            caught = true;
        }
        CHECK(caught);
        b.write(in("threw.bloom"), ec);
        CHECK(ec == std::errc::operation_canceled && !std::filesystem::exists(in("threw.bloom")));
    }
}

void test_damaged_pages_answer_maybe()
{
    bloomfile::builder b;
    b.add_many(numbered("k", 20000));
    b.write(in("damaged.bloom"));
    const int fd = open(in("damaged.bloom").c_str(), O_RDWR);
    const std::vector<char> zeros(4096);
    CHECK(fd >= 0 && pwrite(fd, zeros.data(), zeros.size(), 8192) == 4096);
    close(fd);
    const bloomfile::filter f(in("damaged.bloom"));
    CHECK(f.contains_many(numbered("k", 20000)) == 20000 && f.check() == BLOOMFILE_EPAGE);
    std::error_code ec;
    bloomfile_fault fault;
    f.verify(2, &fault, ec);
    CHECK(ec == BLOOMFILE_EPAGE && fault.page == 1);
    CHECK(thrown([&] { f.verify(); }) == BLOOMFILE_EPAGE);
    const bloomfile::filter g(in("damaged.bloom"), open_flags::verify_full, ec);
    CHECK(ec == BLOOMFILE_EPAGE && g.contains("stone"));
}

struct edge {
    std::uint32_t from, to;
    bool directed;
};

/* The template's arguments make the same hasher under another name, or with another example's
 * digest. */
template <std::uint32_t number, bool turned> struct edge_hasher {
    static constexpr std::uint32_t id = number;
    static edge example()
    {
        return { 1, 2, true };
    }
    static auto bytes_of(const edge &e)
    {
        return turned ? bloomfile::packed(e.to, e.from, e.directed)
                      : bloomfile::packed(e.from, e.to, e.directed);
    }
};
using edges = edge_hasher<0x9C41D2E7u, false>;

struct own_hasher {
    static constexpr std::uint32_t id = 0x80000001u;
    static int example()
    {
        return 1;
    }
    static std::uint64_t digest_of(const int &key, std::uint64_t seed)
    {
        return (static_cast<std::uint64_t>(key) + seed) * 0x9E3779B97F4A7C15u;
    }
};

/* A record with an agreed byte representation. */
struct point {
    std::int16_t x, y;
};
struct point_bytes {
    static constexpr auto kind = BLOOMFILE_KEYS_FIXED;
    static auto bytes_of(const point &p)
    {
        return bloomfile::packed(p.x, p.y);
    }
};

template <class Key, class Hasher = bloomfile::hasher<Key>>
std::error_code opening(const char *name)
{
    std::error_code ec;
    const bloomfile::filter<Key, Hasher> f(in(name), ec);
    if (ec)
        CHECK(!f && f.check() == ec && f.contains(Key{}));
    return ec;
}

void test_records_with_a_byte_representation_are_keys()
{
    const auto bytes = bloomfile::packed(std::uint16_t{ 0x0102 }, colour::red, true,
                                         std::array<char, 2>{ 'o', 'k' }, std::int32_t{ -2 });
    const std::array<unsigned char, 11> wanted = { 2,   1,    0x34, 0x12, 1,   'o',
                                                   'k', 0xfe, 0xff, 0xff, 0xff };
    CHECK(bytes == wanted);

    bloomfile::builder<std::uint64_t> b(with_fpr(1e-6));
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 2000; i++)
        numbers.push_back(i * i);
    b.add_many(numbers);
    b.add_many({ 1u << 31, 7 });
    b.add(-3);
    b.write(in("numbers.bloom"));
    const bloomfile::filter<std::uint64_t> f(in("numbers.bloom"));
    CHECK(f.contains_many(numbers) == 2000 && f.contains(1ull << 31) && !f.contains(2) &&
          !f.contains({ 10 }) && f.contains_many({ 7, 9ll, 10u }) == 2);
    CHECK(f.info().key_kind == BLOOMFILE_KEYS_INTEGERS && f.info().hash_id == 1);

    /* The same integer in another width is the same key, with these bytes. */
    const bloomfile::filter<signed char> narrow(in("numbers.bloom"));
    CHECK(narrow.contains(std::int8_t{ 9 }) && narrow.contains(std::uint16_t{ 9 }) &&
          narrow.contains(std::int8_t{ -3 }) && narrow.contains(-3ll) &&
          narrow.contains(~std::uint64_t{ 2 }) && !narrow.contains(~std::uint32_t{ 2 }));
    const five::value_type nine[8] = { 9 }, minus[8] = { 0xfd, 255, 255, 255, 255, 255, 255, 255 };
    CHECK(bloomfile_contains(f.get(), nine, 8) && bloomfile_contains(f.get(), minus, 8));
    const bloomfile::filter<std::array<unsigned char, 8>> eight(in("numbers.bloom"));
    CHECK(eight.contains({ 9 }) && !eight.contains({ 10 }));

    bloomfile::builder<colour> colours;
    colours.add(colour::red);
    colours.write(in("colours.bloom"));
    CHECK(bloomfile::filter<int>(in("colours.bloom")).contains(0x1234));

    bloomfile::builder<point, point_bytes> points;
    points.add({ 1, -1 });
    points.write(in("points.bloom"));
    const bloomfile::filter<point, point_bytes> h(in("points.bloom"));
    CHECK(h.contains({ 1, -1 }) && !h.contains({ -1, 1 }) && h.info().key_size == 4);
    CHECK((opening<edge, edges>("points.bloom") == BLOOMFILE_EHASH));
}

/* The types that may open a filter, by the key kind that it records. The order: text, bytes,
 * integers, records of 8 and of 5 bytes. */
void expect_types(const char *name, const std::array<bool, 5> &fit)
{
    const std::array<std::error_code, 5> results = {
        opening<std::string>(name), opening<bloomfile::bytes>(name), opening<int>(name),
        opening<std::array<char, 8>>(name), opening<five>(name)
    };
    for (std::size_t i = 0; i < fit.size(); i++)
        CHECK(fit[i] ? !results[i] : results[i] == BLOOMFILE_EKEYKIND);
}

template <class Key> void build_kind(std::uint32_t kind, std::uint32_t size, std::error_code &ec)
{
    bloomfile::params p;
    p.key_kind = kind;
    p.key_size = size;
    bloomfile::builder<Key> b(p, ec);
    b.write(in("kind.bloom"), write_flags::replace, ec);
}

void test_filters_open_only_with_types_of_their_key_kind()
{
    std::error_code ec;
    build_kind<bloomfile::text>(0, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { true, true, false, false, false });
    build_kind<bloomfile::bytes>(0, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { false, true, false, true, true });
    build_kind<int>(0, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { false, false, true, true, false });
    build_kind<std::array<char, 8>>(0, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { false, false, false, true, false });
    build_kind<five>(0, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { false, false, false, false, true });
    bloomfile_params p = BLOOMFILE_PARAMS_INIT;
    p.capacity = 10;
    bloomfile_filter *raw;
    CHECK(bloomfile_create(&raw, in("unknown.bloom").c_str(), &p, 0) == 0);
    bloomfile_close(raw);
    expect_types("unknown.bloom", { true, true, true, true, true });
    CHECK(thrown([] { bloomfile::live_filter<int> f(in("kind.bloom")); }) == BLOOMFILE_EKEYKIND);

    build_kind<int>(BLOOMFILE_KEYS_TEXT, 0, ec);
    CHECK(ec == BLOOMFILE_EKEYKIND);
    build_kind<bloomfile::text>(BLOOMFILE_KEYS_INTEGERS, 0, ec);
    CHECK(ec == BLOOMFILE_EKEYKIND);
    build_kind<five>(BLOOMFILE_KEYS_FIXED, 4, ec);
    CHECK(ec == BLOOMFILE_EKEYKIND);
    build_kind<std::array<char, 8>>(BLOOMFILE_KEYS_INTEGERS, 0, ec);
    CHECK(!ec);
    expect_types("kind.bloom", { false, false, true, true, false });

    p.hash_id = own_hasher::id;
    CHECK(thrown([&] { bloomfile::builder<int> c(p); }) == BLOOMFILE_EHASH);
    CHECK(thrown([&] { bloomfile::builder<> c(p); }) == BLOOMFILE_EHASH);
    CHECK(thrown([&] { bloomfile::builder<edge, edges> c(p); }) == BLOOMFILE_EVALUE);
}

/* Strings and bytes are folded, singly and in batches, from any container. */
void test_lower_case_filters_ignore_case()
{
    std::vector<std::string> keys, upper, absent;
    for (int i = 0; i < 100; i++) {
        keys.push_back("Key [" + std::to_string(i) +
                       "] \xc3\x89 of a Length above any Small String");
        upper.push_back(keys.back());
        upper.back()[1] = 'E';
        absent.push_back("no" + keys.back());
    }
    bloomfile::params p = with_fpr(1e-6);
    p.key_kind = BLOOMFILE_KEYS_LOWER;
    p.capacity = 100;
    bloomfile::builder b(p);
    b.add(keys[0]);
    b.add_many(std::list<std::string>(keys.begin() + 1, keys.begin() + 50));
    b.add_many(std::vector<std::string>(keys.begin() + 50, keys.end()));
    CHECK(b.digest("A@[Z`{\xc3\x89") == bloomfile_hash(0, "a@[z`{\xc3\x89", 8));
    b.write(in("lower.bloom"));
    auto live = bloomfile::live_filter<bloomfile::bytes>::create_memory(p);
    CHECK(live.add_many(keys) == 100 && live.add_many(upper) == 0 && !live.add(upper[7]));
    const bloomfile::filter f(in("lower.bloom"));
    const bloomfile::filter<bloomfile::bytes> g(in("lower.bloom"));
    const std::list<std::string> linked(upper.begin(), upper.end());
    CHECK(f.contains_many(upper) == 100 && g.contains_many(upper) == 100 &&
          live.contains_many(upper) == 100 && f.contains_many(linked) == 100 &&
          g.contains(upper[0]) && live.contains(upper[0]) && f.contains_many(absent) == 0);
    const std::string one = upper[3];
    CHECK(!bloomfile_contains(f.get(), one.data(), one.size()));
}

void test_hasher_must_match_the_recorded_number_and_self_test()
{
    for (std::uint64_t seed : { 0u, 77u }) {
        bloomfile::params p = with_fpr(1e-6);
        p.seed = seed;
        bloomfile::builder<edge, edges> b(p);
        edge padded;
        std::memset(&padded, 0xff, sizeof padded);
        padded.from = 3, padded.to = 4, padded.directed = false;
        b.add(padded);
        b.write(in("edges.bloom"), write_flags::replace);
        const bloomfile::filter<edge, edges> f(in("edges.bloom"));
        CHECK(f.contains({ 3, 4, false }) && !f.contains({ 4, 3, false }) &&
              !f.contains({ 3, 4, true }));
        CHECK(f.contains_many({ edge{ 3, 4, false }, edge{ 4, 4, false } }) == 1);
        CHECK(f.info().hash_id == edges::id);

        CHECK((opening<edge, edge_hasher<edges::id, true>>("edges.bloom") == BLOOMFILE_ESELFTEST));
        CHECK((opening<edge, edge_hasher<edges::id + 1, false>>("edges.bloom") == BLOOMFILE_EHASH));
        CHECK((opening<int, own_hasher>("edges.bloom") == BLOOMFILE_EHASH));
        CHECK(opening<std::string>("edges.bloom") == BLOOMFILE_EHASH);
        CHECK(opening<std::uint64_t>("edges.bloom") == BLOOMFILE_EHASH);
        std::error_code ec;
        const bloomfile::filter<> g(in("edges.bloom"), ec);
        CHECK(ec == BLOOMFILE_EHASH && g.contains("stone"));

        bloomfile::builder<int, own_hasher> c(p);
        c.add(5);
        c.write(in("own.bloom"), write_flags::replace);
        const bloomfile::filter<int, own_hasher> h(in("own.bloom"));
        CHECK(h.contains(5) && !h.contains(6));
        CHECK(h.contains_digest(own_hasher::digest_of(5, seed)));
        bloomfile_filter *raw;
        const std::string path = in("own.bloom");
        const bloomfile_source from = bloomfile_from_path(path.c_str());
        bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
        how.expect = BLOOMFILE_EXPECT_HASH;
        how.hash_id = own_hasher::id;
        how.self_test_of = [](void *, std::uint64_t s) { return own_hasher::digest_of(1, s); };
        CHECK(bloomfile_open_with(&raw, &from, &how) == 0);
        auto adopted = bloomfile::filter<int, own_hasher>::adopt(raw);
        CHECK(adopted.contains(5) && !adopted.contains(6));

        auto live = bloomfile::live_filter<int, own_hasher>::create_memory([&] {
            bloomfile::params q;
            q.capacity = 100;
            q.seed = seed;
            return q;
        }());
        CHECK(live.add(5) && !live.add(5) && live.contains(5) && !live.contains(6));
        live.copy_sealed(in("own.bloom"), write_flags::replace);
        CHECK((!opening<int, own_hasher>("own.bloom")));
    }
}

void test_live_filter_wraps_every_operation()
{
    bloomfile::params p;
    p.capacity = 50000;
    p.fpr = 1e-4;
    auto f = bloomfile::live_filter<>::create(in("live.bloom"), p);
    const auto keys = numbered("key ", 20000);
    constexpr int threads = 4;
    std::vector<std::thread> crew;
    std::array<std::size_t, threads> fresh{};
    for (int t = 0; t < threads; t++)
        crew.emplace_back([&, t] {
            for (int i = t; i < 20000; i += threads) {
                fresh[static_cast<std::size_t>(t)] += f.add(keys[static_cast<std::size_t>(i)]);
                CHECK(f.contains(keys[static_cast<std::size_t>(i)]));
            }
        });
    for (auto &thread : crew)
        thread.join();
    CHECK(f.contains_many(keys) == 20000 && fresh[0] + fresh[1] + fresh[2] + fresh[3] > 19900);

    bool pair[2] = { true, false };
    std::error_code none;
    CHECK(f.add_many({ "key 1", "one" }, none) == 1 && !none);
    CHECK(f.add_many({ "key 1", "another" }, pair, none) == 1 && !none && !pair[0] && pair[1]);

    const auto more = numbered("more ", 1200);
    bool was_new[1000] = {};
    CHECK(f.add_many(more, bloomfile::span<bool>(was_new, 1000)) > 1190 && was_new[0] &&
          was_new[999]);
    CHECK(f.add_many(more, was_new) == 0 && !was_new[0] && !was_new[999]);
    CHECK(f.add_many({ "more 1", "a", "a" }, was_new) == 1 && !was_new[0] && was_new[1] &&
          !was_new[2]);
    f.sync();
    f.sync({ { 7 } });
    CHECK(f.info().watermark[0] == 7);

    bloomfile::live_filter<> second(in("live.bloom"));
    CHECK(second.contains("a") && second.add("b") && f.contains("b"));
    second.finish();
    std::error_code ec;
    CHECK(second.add("c", ec) && ec == BLOOMFILE_EREADONLY);
    was_new[0] = was_new[1] = false;
    CHECK(second.add_many(more, was_new, ec) == 1200 && ec == BLOOMFILE_EREADONLY && was_new[0] &&
          was_new[999]);
    CHECK(thrown([&] { second.add("c"); }, "cannot add keys") == BLOOMFILE_EREADONLY);
    CHECK(second.contains("b") && !second.contains("c"));
    CHECK(thrown([&] { f.remove("a"); }) == BLOOMFILE_ENOTCOUNTING);

    f.copy_sealed(in("copy.bloom"));
    CHECK(bloomfile::filter(in("copy.bloom")).contains_many(keys) == 20000);
    CHECK(thrown([&] { f.copy_sealed(in("copy.bloom")); }, in("copy.bloom").string()) ==
          std::errc::file_exists);
    f.rescue(in("rescued.bloom"));
    CHECK(bloomfile::filter(in("rescued.bloom")).contains("b"));
    f.seal();
    CHECK(f.contains("b") && !f.contains("c") && f.contains_many(keys) == 20000 && !f.check());
    CHECK(thrown([] { bloomfile::live_filter<> g(in("live.bloom")); }, "for writing") ==
          BLOOMFILE_ESEALED);

    /* finish() returns its error every time. */
    auto replaced = bloomfile::live_filter<>::create(in("replaced.bloom"), p);
    replaced.add("a");
    std::filesystem::rename(in("copy.bloom"), in("replaced.bloom"));
    replaced.finish(ec);
    CHECK(ec == BLOOMFILE_EREPLACED && replaced.contains("a") && !replaced.contains("b") &&
          replaced.is_stale());
    CHECK(thrown([&] { replaced.finish(); }) == BLOOMFILE_EREPLACED);

    p.layout = BLOOMFILE_LAYOUT_COUNTING;
    auto counted = bloomfile::live_filter<std::uint32_t>::create_memory(p);
    CHECK(counted.add(1u) && counted.contains(1u));
    counted.remove(1u);
    CHECK(!counted.contains(1u) && thrown([&] { counted.remove(1u); }) == BLOOMFILE_EABSENT);
    CHECK(thrown([] {
              (void)bloomfile::live_filter<>::create(in("x.bloom"), bloomfile::params());
          }) == BLOOMFILE_EVALUE);
}

/* Over capacity. */
void test_full_filter_reports_the_keys_added()
{
    bloomfile::params p;
    p.capacity = 5000;
    p.fpr = 0.01;
    auto f = bloomfile::live_filter<>::create_memory(p);
    const auto keys = numbered("k", 20000);
    bool was_new[20000] = {};
    std::error_code ec;
    std::size_t done = 0;
    f.add_many(keys, was_new, ec, &done);
    CHECK(ec == BLOOMFILE_EFULL && done > 5000 && done < 6500);
    for (std::size_t i = 0; i < keys.size(); i++)
        CHECK(i < done ? f.contains(keys[i]) : was_new[i]);
    CHECK(!f.contains(keys[done]) && !f.check() && !f.add(keys[0]));
    try {
        f.add_many(keys);
        CHECK(false);
    } catch (const bloomfile::add_error &e) {
        CHECK(e.code() == BLOOMFILE_EFULL && e.done == done);
    }
    auto accepts = bloomfile::live_filter<>::create_memory(p, live_flags::over_capacity);
    accepts.add_many(keys, ec, &done);
    CHECK(!ec && done == keys.size());
}

void test_reader_finds_keys_of_a_growing_series()
{
    bloomfile::params p;
    p.capacity = 1000;
    p.series = BLOOMFILE_SERIES_GROW;
    auto f = bloomfile::live_filter<>::create(in("grows.bloom"), p);
    const auto keys = numbered("key ", 10000);
    const bloomfile::filter reader(in("grows.bloom"));
    for (const auto &key : keys) {
        f.add(key);
        CHECK(reader.contains(key));
    }
    CHECK(f.info().layers > 2 && reader.contains_many(keys) == 10000 &&
          f.contains_many(keys) == 10000);
    f.finish();
    CHECK(f.contains_many(keys) == 10000 && f.contains_many(numbered("no ", 10000)) < 200);
}

/* bloomfile_join() accepts the slices that builders make from params. */
void test_slices_join_into_the_whole()
{
    constexpr std::uint32_t slices = 3;
    const auto keys = numbered("key ", 20000);
    bloomfile::params p;
    p.capacity = 20000;
    bloomfile::builder whole(p);
    whole.add_many(keys);
    whole.write(in("whole.bloom"));
    const std::uint64_t bits = bloomfile::filter<>(in("whole.bloom")).info().bits;

    std::vector<bloomfile::filter<>> parts;
    p.slices = slices;
    for (p.slice = 0; p.slice < slices; p.slice++) {
        bloomfile::builder part(p);
        part.add_many(keys);
        part.write(in("part.bloom"), write_flags::replace);
        parts.emplace_back(in("part.bloom"));
    }
    for (const auto &key : keys)
        for (std::uint32_t i = 0; i < slices; i++)
            CHECK(parts[i].contains(key));
    for (const auto &key : numbered("absent ", 1000)) {
        const std::uint32_t own = bloomfile_slice_of(bits, slices, parts[0].digest(key));
        for (std::uint32_t i = 0; i < slices; i++)
            CHECK(i == own || parts[i].contains(key));
    }

    const bloomfile_filter *const list[] = { parts[2].get(), parts[0].get(), parts[1].get() };
    const std::filesystem::path joined = in("joined.bloom");
    bloomfile_destination to = bloomfile_to_path(joined.c_str(), 0);
    bloomfile::throw_if(bloomfile_join(&to, list, slices, nullptr, 0), "join slices");
    const auto read = [](const char *name) {
        std::ifstream file(in(name), std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    CHECK(!read("whole.bloom").empty() && read("joined.bloom") == read("whole.bloom"));
    CHECK(thrown([&] {
              bloomfile::throw_if(bloomfile_join(&to, list, 2, nullptr, 0), "join slices");
          }) == BLOOMFILE_EINCOMPLETE);
    CHECK(thrown([&] {
              bloomfile::builder part(p); /* p.slice is 3 */
          }) == BLOOMFILE_EVALUE);
}

void test_views_find_their_keys()
{
    std::error_code ec;
    const bloomfile::view view(100, 0.01);
    std::vector<unsigned char> blob(view.compact_size());
    std::vector<bloomfile_digest> digests;
    for (const auto &key : numbered("k", 100))
        digests.push_back(bloomfile_hash(7, key.data(), key.size()));
    view.add_digests(blob, digests, ec);
    CHECK(!ec);
    view.seal(blob, 7, ec);
    CHECK(!ec);
    const auto found = bloomfile::view::of(blob, 7);
    CHECK(std::memcmp(&found.get(), &view.get(), sizeof(bloomfile_view)) == 0);
    std::size_t false_hits = 0;
    for (const auto &key : numbered("k", 100))
        CHECK(found.contains(blob, 7, key));
    for (const auto &key : numbered("absent", 1000))
        false_hits += found.contains(blob, 7, key);
    CHECK(false_hits < 40);

    const bloomfile::bytes less(blob.data(), view.size() - 1);
    CHECK(found.contains(less, 7, "stone") && bloomfile::view().contains(blob, 7, "stone"));
    view.add_digests({ blob.data(), view.size() - 1 }, digests, ec);
    CHECK(ec == bloomfile::errc::closed);
    view.seal({ blob.data(), view.size() }, 7, ec);
    CHECK(ec == bloomfile::errc::closed);
    const auto other = bloomfile::view::of(blob, 8, ec);
    CHECK(ec == BLOOMFILE_ENOTCOMPACT && other.contains(blob, 8, "stone"));
    CHECK(thrown([&] { (void)bloomfile::view::of(less, 7); }) == BLOOMFILE_ENOTCOMPACT);
    CHECK(thrown([] { bloomfile::view none(0, 0.01); }) == BLOOMFILE_EVALUE);
}

} // namespace

int main()
{
    test_errors_are_error_codes_or_exceptions();
    test_only_byte_ranges_are_keys();
    test_any_range_of_keys_is_accepted();
    test_keys_that_share_a_buffer_are_distinct();
    for (std::uint32_t layout : { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                  BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON })
        test_answers_match_the_c_interface(layout, layout == BLOOMFILE_LAYOUT_CLASSIC ? 12345 : 0);
    test_every_source_and_destination_is_accepted();
    test_handles_of_the_c_interface_are_adopted();
    test_empty_handles_answer_maybe_and_report_closed();
    test_recheck_notices_a_write_that_puts_times_back();
    test_builder_with_a_failed_add_does_not_publish();
    test_builder_with_a_throwing_add_does_not_publish();
    test_keys_of_a_throwing_range_count_as_present_or_new();
    test_damaged_pages_answer_maybe();
    test_records_with_a_byte_representation_are_keys();
    test_filters_open_only_with_types_of_their_key_kind();
    test_lower_case_filters_ignore_case();
    test_hasher_must_match_the_recorded_number_and_self_test();
    test_live_filter_wraps_every_operation();
    test_full_filter_reports_the_keys_added();
    test_reader_finds_keys_of_a_growing_series();
    test_slices_join_into_the_whole();
    test_views_find_their_keys();
    return 0;
}
