// SPDX-License-Identifier: MIT
//
// bloomfile.hpp: that it answers as the C interface does, that handles without a filter answer
// "maybe", that files of other keys are refused, and errors in both ways.
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

[[noreturn]] void fail(int line, const char *condition)
{
    std::fprintf(stderr, "test_cplusplus.cc:%d: not true: %s\n", line, condition);
    std::exit(1);
}

/* A folder that is gone at the end. */
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

/* A slice as storage engines have them. */
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

void test_errors()
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

template <class A, class B, class = void> constexpr bool can_swap = false;
template <class A, class B>
constexpr bool
    can_swap<A, B, std::void_t<decltype(std::declval<A &>().swap(std::declval<B &>()))>> = true;

/* What a key may be, and what not. */
void test_arguments()
{
    using bloomfile::bytes;
    static_assert(!std::is_constructible_v<bytes, std::nullptr_t>);
    static_assert(!std::is_constructible_v<bytes, int>);
    static_assert(!std::is_constructible_v<bytes, std::vector<int>>);
    static_assert(!std::is_constructible_v<bytes, std::u16string>);
    static_assert(!std::is_constructible_v<bloomfile::span<bool>, std::vector<bool> &>);
    static_assert(!std::is_constructible_v<bloomfile::span<bool>, const std::vector<char> &>);
    static_assert(!std::is_constructible_v<bloomfile::path_arg, std::string_view>);
    static_assert(!std::is_copy_constructible_v<bloomfile::filter<>>);
    static_assert(std::is_nothrow_move_assignable_v<bloomfile::live_filter<>>);
    static_assert(std::is_move_constructible_v<bloomfile::builder<>>);
    static_assert(can_swap<bloomfile::filter<int>, bloomfile::filter<int>>);
    static_assert(!can_swap<bloomfile::filter<int>, bloomfile::filter<unsigned>>);
    static_assert(!std::is_move_assignable_v<bloomfile::handle>);

    bloomfile::builder b;
    b.add("apple");
    b.write(in("fruit.bloom"), BLOOMFILE_TO_REPLACE);
    const bloomfile::filter f(in("fruit.bloom").string());
    const unsigned char raw[] = { 'a', 'p', 'p', 'l', 'e' };
    const char text[] = "apple";
    const std::vector<std::byte> array(reinterpret_cast<const std::byte *>(raw),
                                       reinterpret_cast<const std::byte *>(raw) + 5);
    CHECK(f.contains("apple") && f.contains(std::string("apple")) && f.contains(text));
    CHECK(f.contains(std::string_view("apples", 5)) && f.contains(slice{ "apples", 5 }));
    CHECK(f.contains(raw) && f.contains(array) && f.contains(text, 5));
    CHECK(!f.contains("stone") && !f.contains(std::string_view()) && !f.contains(text, 6));
#if __cplusplus >= 202002L
    const std::span<const std::byte> stretch(array);
    bool hit = false;
    CHECK(f.contains(stretch) && f.contains_many(std::vector{ "apple" }, std::span(&hit, 1)) == 1 &&
          hit);
#endif
}

/* Keys that do not outlive the next one: made as they are asked for, and read from a stream. */
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

/* Views of one buffer, as line readers and transforming views have them. */
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

void test_keys_in_one_buffer()
{
    std::string text;
    for (const auto &line : numbered("line ", 3000))
        text += line + '\n';
    std::istringstream first(text), again(text);
    bloomfile::builder b(with_fpr(1e-6));
    b.add_many(viewed{ first });
    CHECK(b.count() == 3000);
    const bloomfile::filter<> f =
        bloomfile::filter<>::from_memory(b.write_memory(), BLOOMFILE_OPEN_COPY);
    CHECK(f.contains_many(numbered("line ", 3000)) == 3000);
    CHECK(f.contains_many(viewed{ again }) == 3000);
    const std::vector<std::string_view> views(40, "line 7");
    CHECK(f.contains_many(views) == 40);
}

void test_passing_keys()
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
        bloomfile::filter<>::from_memory(b.write_memory(), BLOOMFILE_OPEN_COPY);
    CHECK(f.contains_many(made{ "key-", 3000 }) == 3000 &&
          f.contains_many(made{ "absent-", 3000 }) < 5);
    CHECK(f.contains_many(read{ again }) == 3000);
    const auto longer = numbered("a-word-that-is-longer-than-a-string-", 3000);
    CHECK(f.contains_many(longer) == 3000);
}

/* The same string, whatever key it is: as tokenizers do that say they are forward iterators. */
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

/* All answers are those of the C interface, whatever the filter is. */
void test_answers(std::uint32_t layout, std::uint64_t seed)
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
    b.write(in("answers.bloom"), BLOOMFILE_TO_REPLACE);

    const bloomfile::filter f(in("answers.bloom"), BLOOMFILE_OPEN_VERIFY_FULL);
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

/* Wherever the bytes come from. */
void test_places()
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
    f = bloomfile::filter<>::from_memory(image, BLOOMFILE_OPEN_COPY);
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
    CHECK(!bloomfile::filter<>::adopt(nullptr, {}, ec) && ec == BLOOMFILE_EVALUE);
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

/* As `cp -p` over the file. */
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

void test_empty_handles()
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
    b.write(in("moved.bloom"), BLOOMFILE_TO_REPLACE, ec);
    CHECK(ec == bloomfile::errc::closed && b.get() == nullptr);
    b = std::move(c);
    CHECK(b.count() == 1);
    bloomfile::live_filter<> live;
    CHECK(live.add("a", ec) && ec == bloomfile::errc::closed);
    CHECK(thrown([&] { live.finish(); }) == bloomfile::errc::closed);
}

/* A filter that lacks keys is not published, however little the program looks at errors. */
void test_failed_adds()
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

/* Keys that no answer was made of are presumed there, or new. */
void test_lookups_and_live_adds_that_throw()
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

/* ---- what does not compile */

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

template <class One, class Other, class = void> constexpr bool swaps_v = false;
template <class One, class Other>
constexpr bool swaps_v<One, Other,
                       std::void_t<decltype(std::declval<One &>().swap(std::declval<Other &>()))>> =
    true;

/* Keys of that type are taken, and of none that would be converted to it. */
template <class Key, class... Others> constexpr bool takes_alone()
{
    using filter = bloomfile::filter<Key>;
    using live = bloomfile::live_filter<Key>;
    using builder = bloomfile::builder<Key>;
    static_assert(looks_up_v<filter, Key> && looks_up_v<live, const Key &> &&
                  adds_v<builder, Key &> && adds_v<live, Key> && removes_v<live, Key>);
    return !(... || (looks_up_v<filter, Others> || looks_up_v<live, Others> ||
                     adds_v<builder, Others> || adds_v<live, Others> || removes_v<live, Others>));
}

enum class shade : std::uint16_t {
    dark
};

template <class Number> struct converts {
    operator Number() const;
};

static_assert(takes_alone<std::uint64_t, double, float, bool, char, int, unsigned, std::int64_t,
                          converts<int>, converts<double>, std::atomic<std::int64_t>,
                          std::reference_wrapper<int>, std::uint8_t>());
static_assert(takes_alone<std::int32_t, double, float, bool, unsigned, std::int64_t, short>());
static_assert(takes_alone<bool, int, double, unsigned char>());
static_assert(takes_alone<shade, int, std::uint16_t>());
static_assert(looks_up_v<bloomfile::filter<std::uint64_t>, unsigned long long> &&
              looks_up_v<bloomfile::filter<std::int64_t>, long long>);
/* What has an operator for a key. */
template <class Key, class... Others> constexpr bool takes_also()
{
    using live = bloomfile::live_filter<Key>;
    return (... && (looks_up_v<bloomfile::filter<Key>, Others &> && looks_up_v<live, Others &> &&
                    adds_v<bloomfile::builder<Key>, Others &> && adds_v<live, Others &> &&
                    removes_v<live, Others &>));
}
static_assert(takes_also<std::uint64_t, std::atomic<std::uint64_t>, converts<std::uint64_t>,
                         const std::atomic<std::uint64_t>, std::reference_wrapper<std::uint64_t>,
                         std::reference_wrapper<const std::uint64_t>>());
static_assert(takes_also<shade, converts<shade>, std::atomic<shade>>());
static_assert(takes_also<bool, std::vector<bool>::reference>());
static_assert(looks_up_v<bloomfile::filter<>, std::string> &&
              looks_up_v<bloomfile::filter<>, const char *> &&
              !looks_up_v<bloomfile::filter<>, int> && !looks_up_v<bloomfile::filter<>, bool>);

template <class... Arguments>
constexpr bool opens_v = std::is_constructible_v<bloomfile::filter<>, Arguments...>
    &&std::is_constructible_v<bloomfile::live_filter<>, Arguments...>;
static_assert(opens_v<const char *> && opens_v<const char *, unsigned> &&
              opens_v<const char *, unsigned, std::error_code &> &&
              opens_v<const char *, std::error_code &>);
template <class Wrong>
constexpr bool no_flags_v =
    !std::is_constructible_v<bloomfile::filter<>, const char *, Wrong> &&
    !std::is_constructible_v<bloomfile::live_filter<>, const char *, Wrong, std::error_code &> &&
    !std::is_convertible_v<Wrong, bloomfile::flag_bits>;
static_assert(opens_v<const char *, int> && opens_v<const char *, int, std::error_code &>);
static_assert(no_flags_v<bool> && no_flags_v<char> && no_flags_v<long> && no_flags_v<float> &&
              no_flags_v<double> && no_flags_v<std::nullptr_t> && no_flags_v<std::uint64_t>);
static_assert(bloomfile::flag_bits(0) == 0u && bloomfile::flag_bits(BLOOMFILE_OPEN_COPY) != 0u);

/* 0 means no flags, as it does for C. */
void test_no_flags()
{
    using bloomfile::filter;
    using bloomfile::live_filter;
    std::error_code ec;
    bloomfile_params p = BLOOMFILE_PARAMS_INIT;
    p.capacity = 10;
    live_filter<> l = live_filter<>::create(in("plain.live"), p, 0, ec);
    CHECK(!ec && l.add("plum"));
    l.copy_sealed(in("plain.bloom"), 0);
    const filter<> f(in("plain.bloom"), 0), g(in("plain.bloom"), 0, ec);
    CHECK(!ec && f.contains("plum") && g.contains("plum"));
    CHECK(std::make_unique<filter<>>(in("plain.bloom"), 0)->contains("plum"));
}

static_assert(swaps_v<bloomfile::filter<>, bloomfile::filter<>> &&
              swaps_v<bloomfile::live_filter<>, bloomfile::live_filter<>> &&
              !swaps_v<bloomfile::live_filter<>, bloomfile::filter<>> &&
              !swaps_v<bloomfile::filter<>, bloomfile::live_filter<>> &&
              !swaps_v<bloomfile::filter<>, bloomfile::filter<int>>);

/* What was hashed before it is not all added. */
void test_adds_that_throw()
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

void test_damage()
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
    f.verify(ec, 2, &fault);
    CHECK(ec == BLOOMFILE_EPAGE && fault.page == 1);
    CHECK(thrown([&] { f.verify(); }) == BLOOMFILE_EPAGE);
    const bloomfile::filter g(in("damaged.bloom"), BLOOMFILE_OPEN_VERIFY_FULL, ec);
    CHECK(ec == BLOOMFILE_EPAGE && g.contains("stone"));
}

enum class colour : std::uint16_t {
    red = 0x1234
};

struct edge {
    std::uint32_t from, to;
    bool directed;
};

/* With a template's arguments: the same shape under another name, and with another example's
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

/* Records whose bytes everybody agrees on. */
struct point {
    std::int16_t x, y;
};
struct point_bytes {
    static constexpr bool plain_bytes = true;
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

void test_keys_of_bytes()
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
    b.add(std::uint64_t{ 1 } << 31);
    b.write(in("numbers.bloom"));
    const bloomfile::filter<std::uint64_t> f(in("numbers.bloom"));
    CHECK(f.contains_many(numbers) == 2000 && f.contains(1ull << 31) && !f.contains({ 2 }) &&
          !f.contains({ 10 }));
    CHECK(f.info().key_kind == BLOOMFILE_KEYS_FIXED && f.info().key_size == 8 &&
          f.info().hash_id == 1);
    const unsigned char nine[8] = { 9 };
    const std::atomic<std::uint64_t> one{ numbers[1999] };
    std::vector<std::reference_wrapper<std::uint64_t>> several(numbers.begin(), numbers.end());
    CHECK(f.contains(one) && f.contains_many(several) == 2000);
    const bloomfile::filter g(in("numbers.bloom"));
    CHECK(g.contains(nine) && bloomfile_contains(g.get(), nine, 8));
    CHECK(!opening<std::int64_t>("numbers.bloom"));
    CHECK(opening<std::uint32_t>("numbers.bloom") == bloomfile::errc::other_keys);
    CHECK((opening<point, point_bytes>("numbers.bloom") == bloomfile::errc::other_keys));
    CHECK((opening<edge, edges>("numbers.bloom") == BLOOMFILE_EHASH));

    bloomfile::builder<point, point_bytes> points;
    points.add({ 1, -1 });
    points.write(in("points.bloom"));
    const bloomfile::filter<point, point_bytes> h(in("points.bloom"));
    CHECK(h.contains({ 1, -1 }) && !h.contains({ -1, 1 }));

    /* Nothing says what the keys of this one are. */
    bloomfile::builder raw;
    raw.add(nine);
    raw.write(in("raw.bloom"));
    CHECK(!opening<std::string>("raw.bloom"));
    CHECK(opening<std::uint64_t>("raw.bloom") == bloomfile::errc::other_keys);
    CHECK(thrown([] { bloomfile::filter<int> i(in("raw.bloom")); }, "any_keys") ==
          bloomfile::errc::other_keys);
    const bloomfile::filter<std::uint64_t> trusted(in("raw.bloom"),
                                                   bloomfile::any_keys | BLOOMFILE_OPEN_COPY);
    CHECK(trusted.contains({ 9 }) && !trusted.contains({ 8 }));

    bloomfile::params p;
    p.key_kind = BLOOMFILE_KEYS_TEXT;
    CHECK(thrown([&] { bloomfile::builder<int> c(p); }) == BLOOMFILE_EVALUE);
    p.key_kind = 0;
    p.hash_id = own_hasher::id;
    CHECK(thrown([&] { bloomfile::builder<int> c(p); }) == BLOOMFILE_EHASH);
    CHECK(thrown([&] { bloomfile::builder<> c(p); }) == BLOOMFILE_EHASH);
    CHECK(thrown([&] { bloomfile::builder<edge, edges> c(p); }) == BLOOMFILE_EVALUE);
}

void test_hashers_with_a_number()
{
    for (std::uint64_t seed : { 0u, 77u }) {
        bloomfile::params p = with_fpr(1e-6);
        p.seed = seed;
        bloomfile::builder<edge, edges> b(p);
        edge padded;
        std::memset(&padded, 0xff, sizeof padded);
        padded.from = 3, padded.to = 4, padded.directed = false;
        b.add(padded);
        b.write(in("edges.bloom"), BLOOMFILE_TO_REPLACE);
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
        c.write(in("own.bloom"), BLOOMFILE_TO_REPLACE);
        const bloomfile::filter<int, own_hasher> h(in("own.bloom"));
        CHECK(h.contains(5) && !h.contains(6));
        CHECK(h.contains_digest(own_hasher::digest_of(5, seed)));
        bloomfile_filter *raw;
        const std::string path = in("own.bloom");
        const bloomfile_source from = bloomfile_from_path(path.c_str());
        bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
        how.expect = BLOOMFILE_EXPECT_HASH;
        how.hash_id = own_hasher::id;
        how.self_test_of = [](std::uint64_t s) { return own_hasher::digest_of(1, s); };
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
        live.copy_sealed(in("own.bloom"), BLOOMFILE_TO_REPLACE);
        CHECK((!opening<int, own_hasher>("own.bloom")));
    }
}

void test_live()
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

    /* The error of the end can be had, and again. */
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
    bloomfile::filter<std::uint32_t> slow(
        std::move(counted)); /* takes the filter, not the right to add */
    CHECK(!slow.contains(1u) && counted.contains(1u));
    CHECK(thrown([] {
              (void)bloomfile::live_filter<>::create(in("x.bloom"), bloomfile::params());
          }) == BLOOMFILE_EVALUE);
}

/* What is asked for while layers are made. */
/* Over capacity. */
void test_full()
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
    auto accepts = bloomfile::live_filter<>::create_memory(p, BLOOMFILE_OPEN_OVER_CAPACITY);
    accepts.add_many(keys, ec, &done);
    CHECK(!ec && done == keys.size());
}

void test_series()
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

/* The C interface joins what builders make of params. */
void test_slices()
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
        part.write(in("part.bloom"), BLOOMFILE_TO_REPLACE);
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
    bloomfile::throw_if(bloomfile_join(&to, list, slices, 0, nullptr), "join slices");
    const auto read = [](const char *name) {
        std::ifstream file(in(name), std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    CHECK(!read("whole.bloom").empty() && read("joined.bloom") == read("whole.bloom"));
    CHECK(thrown([&] {
              bloomfile::throw_if(bloomfile_join(&to, list, 2, 0, nullptr), "join slices");
          }) == BLOOMFILE_EINCOMPLETE);
    CHECK(thrown([&] {
              bloomfile::builder part(p); /* p.slice is 3 */
          }) == BLOOMFILE_EVALUE);
}

void test_views()
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
    CHECK(found.size() == view.size() && found.get().bits == view.get().bits);
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
    test_errors();
    test_arguments();
    test_passing_keys();
    test_keys_in_one_buffer();
    for (std::uint32_t layout : { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                  BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON })
        test_answers(layout, layout == BLOOMFILE_LAYOUT_CLASSIC ? 12345 : 0);
    test_places();
    test_empty_handles();
    test_recheck_notices_a_write_that_puts_times_back();
    test_failed_adds();
    test_adds_that_throw();
    test_lookups_and_live_adds_that_throw();
    test_damage();
    test_keys_of_bytes();
    test_hashers_with_a_number();
    test_no_flags();
    test_live();
    test_full();
    test_series();
    test_slices();
    test_views();
    return 0;
}
