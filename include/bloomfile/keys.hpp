/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: types of keys. Include bloomfile.hpp.
 *
 * The Key of a builder or a filter has a type of this table. Nothing else compiles: no bool, no
 * floating point, no pointer and no struct.
 *
 *     Key                          recorded as   lookups and adds take
 *     text, containers of char     text          strings of char or char8_t
 *     bytes, other containers      bytes         any bytes, also of strings
 *     an integer of any width      integers      all integers
 *     an enumeration of integers   integers      this enumeration
 *     std::array of N bytes        records       this array
 *
 * A container has data() and size(), as std::string and std::vector have. Its elements are char or
 * char8_t, or other bytes: unsigned char, signed char or std::byte.
 *
 * An integer of any width is 8 bytes, little-endian, two's complement: the same key has the same
 * bytes in every language. An unsigned integer from 2^63 on shares its key with a negative one.
 *
 * A filter is opened only if its keys can be of this type, as bloomfile_check_keys() says;
 * otherwise the error is BLOOMFILE_EKEYKIND. If the filter holds text in lower case, strings and
 * bytes are folded before they are hashed (ASCII). So no lookup pays for a check of the kind.
 *
 * Any other type needs a Hasher, a class with static members. It has a kind or an id:
 *
 * - `kind`: all programs agree on the bytes of a key. bytes_of(key) returns them: a std::array for
 *   BLOOMFILE_KEYS_FIXED, as packed() makes it, and 8 bytes for BLOOMFILE_KEYS_INTEGERS; for
 *   BLOOMFILE_KEYS_TEXT and BLOOMFILE_KEYS_BYTES any bytes. Files record the kind and the size, so
 *   another order of the same members is not detected.
 *
 * - `id`, BLOOMFILE_APP_HASH_FIRST or above, chosen at random, and example(), which returns a key.
 *   bytes_of(key) returns the bytes that XXH3 hashes, or digest_of(key, seed) returns 64 bits that
 *   are as good as random. Files record the id and the digest of the example. A file of another
 *   hasher, or of an earlier version of this one, is refused when it is opened.
 *
 *     struct edge { // has padding, which is not part of the key
 *         std::uint32_t from, to;
 *         bool directed;
 *     };
 *     struct edge_hasher {
 *         static constexpr std::uint32_t id = 0x9C41D2E7u;
 *         static edge example() { return { 1, 2, true }; }
 *         static auto bytes_of(const edge &e)
 *         {
 *             return bloomfile::packed(e.from, e.to, e.directed);
 *         }
 *     };
 *     bloomfile::builder<edge, edge_hasher> b;
 *
 * std::hash is not a hasher: it differs between libraries and their versions, and for integers it
 * is often the integer itself. A digest_of() may call it: bloomfile_hash() of its result spreads
 * its bits.
 */
#ifndef BLOOMFILE_CPP_KEYS_HPP
#define BLOOMFILE_CPP_KEYS_HPP

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

/* Marks a function that is always inlined. If two files are compiled for different processors, a
 * linker could keep the function of one for both, with instructions that a processor lacks. The
 * address of such a function is that of a function of this object alone (clang), or does not link
 * (gcc). */
#if defined __clang__
#define BLOOMFILE_CPP_PART_ __attribute__((always_inline, internal_linkage)) inline
#else
#define BLOOMFILE_CPP_PART_ __attribute__((always_inline, gnu_inline)) inline
#endif
#define BLOOMFILE_CPP_LAMBDA_PART_ __attribute__((always_inline))

namespace bloomfile
{
inline namespace v1
{

namespace detail
{

template <class T, class... Types>
inline constexpr bool is_any_of_v = (std::is_same_v<T, Types> || ...);

#ifdef __cpp_char8_t
using utf8 = char8_t;
#else
using utf8 = char;
#endif
template <class T> inline constexpr bool is_text_char_v = is_any_of_v<T, char, utf8>;
template <class T>
inline constexpr bool is_char_v =
    is_text_char_v<T> || is_any_of_v<T, signed char, unsigned char, std::byte>;

/* Integers that are keys. */
template <class T>
inline constexpr bool is_integer_v = std::is_integral_v<T> && sizeof(T) <= sizeof(std::uint64_t) &&
                                     !is_any_of_v<T, bool, char, utf8, wchar_t, char16_t, char32_t>;

template <class C> using data_t = decltype(std::data(std::declval<C &>()));
template <class C> using element_t = std::remove_pointer_t<data_t<C>>;

/* Whether C has data() and size(), and its elements are T, perhaps less const. */
template <class C, class T, class = void> inline constexpr bool holds_v = false;
template <class C, class T>
inline constexpr bool
    holds_v<C, T, std::void_t<data_t<C>, decltype(std::size(std::declval<C &>()))>> =
        std::is_convertible_v<element_t<C> (*)[], T (*)[]>;

/* is_bytes_v: whether C is a contiguous range of bytes; is_text_v: of characters. Not an array of
 * char, which may be a literal. */
template <class C, class = void> inline constexpr bool is_bytes_v = false;
template <class C>
inline constexpr bool
    is_bytes_v<C, std::void_t<data_t<C>, decltype(std::size(std::declval<C &>()))>> =
        is_char_v<std::remove_cv_t<element_t<C>>> &&
        !(std::is_array_v<C> && is_text_char_v<std::remove_cv_t<element_t<C>>>);
template <class C, class = void> inline constexpr bool is_text_v = false;
template <class C>
inline constexpr bool is_text_v<C, std::enable_if_t<is_bytes_v<C>>> =
    is_text_char_v<std::remove_cv_t<element_t<C>>>;

} // namespace detail

/* A view of the caller's memory, for arguments. Arrays, std::vector, std::array and, from C++20 on,
 * std::span convert to it. */
template <class T> class span
{
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    template <class C, class = std::enable_if_t<detail::holds_v<C, T>>>
    constexpr span(C &c) noexcept : data_(std::data(c)), size_(std::size(c))
    {
    }
    template <class C, class = std::enable_if_t<detail::holds_v<const C, T>>>
    constexpr span(const C &c) noexcept : data_(std::data(c)), size_(std::size(c))
    {
    }

    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }

    /* The rest, from that element on. */
    constexpr span from(std::size_t first) const noexcept
    {
        return first < size_ ? span(data_ + first, size_ - first) : span();
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* The answers of a batch: a bool for each key, in order. */
class answers
{
  public:
    answers() noexcept = default;
    /* Answers for n keys; all are false. */
    explicit answers(std::size_t n)
    {
        std::fill_n(more(n).data(), n, false);
    }
    answers(answers &&other) noexcept : it_(std::exchange(other.it_, {}))
    {
    }
    answers &operator=(answers &&other) noexcept
    {
        it_ = std::exchange(other.it_, {});
        return *this;
    }

    bool *data() noexcept
    {
        return it_.data.get();
    }
    const bool *data() const noexcept
    {
        return it_.data.get();
    }
    std::size_t size() const noexcept
    {
        return it_.size;
    }
    bool operator[](std::size_t i) const noexcept
    {
        return it_.data[i];
    }
    const bool *begin() const noexcept
    {
        return data();
    }
    const bool *end() const noexcept
    {
        return data() + size();
    }

  private:
    template <class, class> friend class lookups;

    /* Makes room for the answers of n more keys, and returns it. */
    span<bool> more(std::size_t n)
    {
        if (it_.room - it_.size < n) {
            it_.room = it_.size + (n > it_.size ? n : it_.size);
            std::unique_ptr<bool[]> larger(new bool[it_.room]);
            std::copy_n(data(), it_.size, larger.get());
            it_.data = std::move(larger);
        }
        it_.size += n;
        return { data() + (it_.size - n), n };
    }

    struct {
        std::unique_ptr<bool[]> data;
        std::size_t size = 0, room = 0;
    } it_;
};

/* A view of the caller's bytes: a key, or an image. A std::string, a std::string_view and a
 * zero-terminated string convert to it. So do all types with data() and size() of char, unsigned
 * char or std::byte, such as the Slice of storage engines. */
class bytes
{
  public:
    constexpr bytes() noexcept = default;
    constexpr bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    bytes(const char *text) noexcept : data_(text), size_(std::strlen(text))
    {
    }
    bytes(std::nullptr_t) = delete;
    template <class C, class = std::enable_if_t<detail::is_bytes_v<C>>>
    constexpr bytes(const C &c) noexcept : data_(std::data(c)), size_(std::size(c))
    {
    }

    constexpr const void *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }

  private:
    const void *data_ = nullptr;
    std::size_t size_ = 0;
};

/* A string that is a key: a std::string, a std::string_view, a zero-terminated string, or any type
 * with data() and size() of char or char8_t. */
class text : public bytes
{
  public:
    constexpr text() noexcept = default;
    constexpr text(const char *data, std::size_t size) noexcept : bytes(data, size)
    {
    }
    text(const char *string) noexcept : bytes(string)
    {
    }
#ifdef __cpp_char8_t
    text(const char8_t *string) noexcept : bytes(string, std::char_traits<char8_t>::length(string))
    {
    }
#endif
    text(std::nullptr_t) = delete;
    template <class C, class = std::enable_if_t<detail::is_text_v<C>>>
    constexpr text(const C &c) noexcept : bytes(std::data(c), std::size(c))
    {
    }
};

/* An integer that is a key: of any width and sign. Refuses bool, characters and conversions. */
class integer
{
  public:
    template <class T, class = std::enable_if_t<detail::is_integer_v<T>>>
    constexpr integer(T value) noexcept : bits_(static_cast<std::uint64_t>(value))
    {
    }

    /* As 64 bits, two's complement. */
    constexpr std::uint64_t bits() const noexcept
    {
        return bits_;
    }

  private:
    std::uint64_t bits_;
};

/* The name of a file: a zero-terminated string, a std::string or a std::filesystem::path. */
class path_arg
{
  public:
    path_arg(const char *path) noexcept : path_(path)
    {
    }
    path_arg(std::nullptr_t) = delete;
    template <class P, class = std::enable_if_t<std::is_convertible_v<
                           decltype(std::declval<const P &>().c_str()), const char *>>>
    path_arg(const P &path) noexcept : path_(path.c_str())
    {
    }

    const char *c_str() const noexcept
    {
        return path_;
    }

  private:
    const char *path_;
};

namespace detail
{

template <class T> using plain_t = std::remove_cv_t<std::remove_reference_t<T>>;

/* Enumerations of flags. */
template <class Flags> inline constexpr bool is_flags_v = false;
template <class Flags> using if_flags_t = std::enable_if_t<is_flags_v<Flags>, Flags>;

/* The N of a std::array of N bytes; 0 for other types. */
template <class T> inline constexpr std::size_t array_size_v = 0;
template <class T, std::size_t N>
inline constexpr std::size_t array_size_v<std::array<T, N>> = is_char_v<T> ? N : 0;

/* Numbers have their least significant byte first on every machine. */
template <class T> void pack(const T &value, unsigned char *&to) noexcept
{
    static_assert(std::is_integral_v<T> || std::is_enum_v<T> || array_size_v<T> > 0,
                  "bloomfile::packed() takes integers, enumerations and std::arrays of bytes: "
                  "floating point has two zeros, structs have padding, pointers mean nothing to "
                  "others");
    if constexpr (array_size_v < T >> 0) {
        std::memcpy(to, value.data(), sizeof value);
        to += sizeof value;
    } else {
        auto bits = static_cast<std::uint64_t>(value);
        static_assert(sizeof value <= sizeof bits, "integers have at most 64 bits");
        for (std::size_t i = 0; i < sizeof value; i++, bits >>= 8)
            *to++ = static_cast<unsigned char>(bits & 0xff);
    }
}

} // namespace detail

/* Flags of the same type combine. */
template <class Flags> constexpr detail::if_flags_t<Flags> operator|(Flags a, Flags b) noexcept
{
    return static_cast<Flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
template <class Flags> constexpr detail::if_flags_t<Flags> operator&(Flags a, Flags b) noexcept
{
    return static_cast<Flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
template <class Flags> constexpr detail::if_flags_t<Flags> &operator|=(Flags &a, Flags b) noexcept
{
    return a = a | b;
}

/* Returns the bytes of these members in order, without padding and the same on every machine, as
 * for a bytes_of(). Note: long has 4 or 8 bytes; std::int64_t has 8. */
template <class... T> auto packed(const T &...members) noexcept
{
    std::array<unsigned char, (std::size_t{ 0 } + ... + sizeof(T))> all{};
    unsigned char *to = all.data();
    (detail::pack(members, to), ..., static_cast<void>(to));
    return all;
}

/* The default hasher of a key. */
template <class Key, class = void> struct hasher {
    static_assert(sizeof(Key) == 0,
                  "bloomfile: this type is not a key, as its bytes are not known. Name a Hasher, "
                  "filter<Key, Hasher>: see the head of bloomfile/keys.hpp");
};

template <class Key>
struct hasher<Key, std::enable_if_t<
                       (detail::is_bytes_v<Key> ||
                        detail::is_any_of_v<Key, bytes, text>)&&detail::array_size_v<Key> == 0>> {
    static constexpr bool is_text = detail::is_text_v<Key> || std::is_same_v<Key, text>;
    static constexpr auto kind = is_text ? BLOOMFILE_KEYS_TEXT : BLOOMFILE_KEYS_BYTES;
    using argument = std::conditional_t<is_text, text, bytes>;
    static bytes bytes_of(bytes key) noexcept
    {
        return key;
    }
};

template <class Key> struct hasher<Key, std::enable_if_t<detail::is_integer_v<Key>>> {
    static constexpr auto kind = BLOOMFILE_KEYS_INTEGERS;
    using argument = integer;
    static auto bytes_of(integer key) noexcept
    {
        return packed(key.bits());
    }
};

template <class Key>
struct hasher<Key, std::enable_if_t<std::is_enum_v<Key> && !std::is_same_v<Key, std::byte>>> {
    static constexpr auto kind = BLOOMFILE_KEYS_INTEGERS;
    static auto bytes_of(Key key) noexcept
    {
        return packed(integer(static_cast<std::underlying_type_t<Key>>(key)).bits());
    }
};

template <class T, std::size_t N>
struct hasher<std::array<T, N>, std::enable_if_t<detail::is_char_v<T>>> {
    static constexpr auto kind = BLOOMFILE_KEYS_FIXED;
    static auto bytes_of(const std::array<T, N> &key) noexcept
    {
        return packed(key);
    }
};

namespace detail
{

template <class H, class = void> inline constexpr std::uint32_t id_v = BLOOMFILE_HASH_XXH3;
template <class H> inline constexpr std::uint32_t id_v<H, std::void_t<decltype(H::id)>> = H::id;

template <class H, class = void> inline constexpr bool has_example_v = false;
template <class H>
inline constexpr bool has_example_v<H, std::void_t<decltype(H::example())>> = true;

template <class H, class = void> inline constexpr std::uint32_t kind_v = BLOOMFILE_KEYS_UNKNOWN;
template <class H>
inline constexpr std::uint32_t kind_v<H, std::void_t<decltype(H::kind)>> = H::kind;

/* A number that is not converted from another type. */
template <class Key> struct exactly {
    template <class T, class = std::enable_if_t<std::is_same_v<T, Key>>>
    constexpr exactly(T number) noexcept : value(number)
    {
    }
    constexpr operator const Key &() const noexcept
    {
        return value;
    }
    Key value;
};

/* The type of the argument of lookups and adds. */
template <class H, class Key, class = void> struct argument_of {
    using type = std::conditional_t<std::is_arithmetic_v<Key> || std::is_enum_v<Key>, exactly<Key>,
                                    const Key &>;
};
template <class H, class Key> struct argument_of<H, Key, std::void_t<typename H::argument>> {
    using type = typename H::argument;
};

template <class H, class A, class = void> inline constexpr bool has_bytes_v = false;
template <class H, class A>
inline constexpr bool has_bytes_v<H, A, std::void_t<decltype(H::bytes_of(std::declval<A>()))>> =
    std::is_convertible_v<decltype(H::bytes_of(std::declval<A>())), bytes>;

template <class H, class A, class = void> inline constexpr bool has_digest_v = false;
template <class H, class A>
inline constexpr bool
    has_digest_v<H, A, std::void_t<decltype(H::digest_of(std::declval<A>(), std::uint64_t{}))>> =
        std::is_same_v<decltype(H::digest_of(std::declval<A>(), std::uint64_t{})), std::uint64_t>;

/* Bytes of each key; 0: sizes differ. */
template <class H, class A> constexpr std::size_t size_of()
{
    if constexpr (has_bytes_v<H, A>)
        return array_size_v<plain_t<decltype(H::bytes_of(std::declval<A>()))>>;
    else
        return 0;
}

inline bloomfile_digest hash_lower(std::uint64_t seed, const void *key, std::size_t size)
{
    std::string all(static_cast<const char *>(key), size);
    for (char &c : all)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return bloomfile_hash(seed, all.data(), size);
}

/* How a filter makes digests. */
struct hashing {
    std::uint64_t seed = 0;
    bloomfile_digest (*hash)(std::uint64_t seed, const void *key, std::size_t size) =
        bloomfile_hash; /* of strings and bytes; hash_lower for text in lower case */
};

/* The checked properties of a Hasher. */
template <class Key, class Hasher> struct recipe {
    using argument = typename argument_of<Hasher, Key>::type;
    using list = std::initializer_list<plain_t<argument>>; /* of keys in braces */

    static constexpr bool by_bytes = has_bytes_v<Hasher, argument>;
    static constexpr std::uint32_t id = id_v<Hasher>, kind = kind_v<Hasher>;
    static constexpr bool named = id != BLOOMFILE_HASH_XXH3;
    static constexpr std::size_t size = size_of<Hasher, argument>();
    static constexpr auto key_size =
        static_cast<std::uint32_t>(kind == BLOOMFILE_KEYS_FIXED ? size : 0);
    /* Keys are contiguous bytes, hashed in place. */
    static constexpr bool stretches = !named && std::is_base_of_v<bytes, argument>;

    static_assert(by_bytes || has_digest_v<Hasher, argument>,
                  "bloomfile: a Hasher has static bytes_of(key) or std::uint64_t digest_of(key, "
                  "seed). std::hash is none, as it differs between libraries: see the head of "
                  "bloomfile/keys.hpp");
    static_assert(named || by_bytes || !has_digest_v<Hasher, argument>,
                  "bloomfile: a hash function of your own needs an `id` and an example(), by "
                  "which files of another one are refused");
    static_assert(named != (kind != BLOOMFILE_KEYS_UNKNOWN) || !by_bytes,
                  "bloomfile: give the Hasher an `id` and an example(), by which files of another "
                  "one are refused; or a `kind`, if all programs agree on these bytes");
    static_assert(!named || has_example_v<Hasher>,
                  "bloomfile: a Hasher with an `id` has a static example(), some key, whose "
                  "digest files record");
    static_assert(!named || id >= BLOOMFILE_APP_HASH_FIRST,
                  "bloomfile: an `id` is BLOOMFILE_APP_HASH_FIRST or above");
    static_assert(kind != BLOOMFILE_KEYS_FIXED || (size > 0 && size <= BLOOMFILE_MAX_KEY_SIZE),
                  "bloomfile: bytes_of() of BLOOMFILE_KEYS_FIXED returns a std::array, so that "
                  "files can record its size");
    static_assert(kind != BLOOMFILE_KEYS_INTEGERS || size == sizeof(std::uint64_t),
                  "bloomfile: bytes_of() of BLOOMFILE_KEYS_INTEGERS returns a std::array of 8");
    static_assert(kind <= BLOOMFILE_KEYS_BYTES && kind != BLOOMFILE_KEYS_LOWER,
                  "bloomfile: a `kind` is BLOOMFILE_KEYS_TEXT, _INTEGERS, _FIXED or _BYTES");

    static bloomfile_digest digest(argument key, hashing how)
    {
        if constexpr (by_bytes) {
            const auto &all = Hasher::bytes_of(key);
            const bytes b(all);
            if constexpr (kind == BLOOMFILE_KEYS_TEXT || kind == BLOOMFILE_KEYS_BYTES)
                return how.hash(how.seed, b.data(), b.size());
            else
                return bloomfile_hash(how.seed, b.data(), b.size());
        } else
            return Hasher::digest_of(key, how.seed);
    }

    static std::uint64_t self_test(std::uint64_t seed)
    {
        if constexpr (named)
            return digest(Hasher::example(), { seed, bloomfile_hash });
        else
            return (void)seed, 0;
    }

    /* How digests are made for a filter with these params or this header. */
    template <class Header> static hashing of(const Header &h) noexcept
    {
        return { h.seed, h.key_kind == BLOOMFILE_KEYS_LOWER ? hash_lower : bloomfile_hash };
    }

    /* Checks whether a filter may have these keys. Returns 0 or an error. */
    static int fit(const bloomfile_info &filter)
    {
        if (filter.hash_id != id)
            return BLOOMFILE_EHASH;
        if constexpr (named)
            return filter.self_test == self_test(filter.seed) ? 0 : BLOOMFILE_ESELFTEST;
        else
            return bloomfile_check_keys(&filter, kind, key_size);
    }

    /* Completes the params with the kind of keys. Returns 0 or an error. */
    static int complete(bloomfile_params &p)
    {
        if constexpr (named) {
            if (p.hash_id != 0 && p.hash_id != id)
                return BLOOMFILE_EVALUE;
            p.hash_id = id;
            p.self_test = self_test(p.seed);
            return 0;
        } else {
            if (p.key_kind == BLOOMFILE_KEYS_UNKNOWN) {
                p.key_kind = kind;
                p.key_size = key_size;
            }
            bloomfile_info wanted = BLOOMFILE_INFO_INIT;
            wanted.hash_id = p.hash_id != 0 ? p.hash_id : id;
            wanted.key_kind = p.key_kind;
            wanted.key_size = p.key_size;
            return fit(wanted);
        }
    }
};

/* Whether the bytes of a range's elements stay where they are while the next elements are read.
 * They do if they are an array, as those of std::vector. An iterator that makes each element when
 * it is dereferenced may make the next in the same place, even if it returns a reference. */
template <class Keys>
using element_of_t = std::remove_reference_t<decltype(*std::begin(std::declval<const Keys &>()))>;
template <class Keys, class = void> inline constexpr bool stays_v = false;
template <class Keys>
inline constexpr bool
    stays_v<Keys, std::void_t<decltype(std::data(std::declval<const Keys &>()))>> =
        std::is_same_v<decltype(std::data(std::declval<const Keys &>())), element_of_t<Keys> *>;

/* A guard that sets all bools to true ("maybe" or "new") that an exception leaves unset. */
class presumed
{
  public:
    BLOOMFILE_CPP_PART_ explicit presumed(span<bool> bools) noexcept : rest_(bools)
    {
    }
    BLOOMFILE_CPP_PART_ ~presumed()
    {
        for (std::size_t i = 0; i < rest_.size(); i++)
            rest_.data()[i] = true;
    }
    presumed(const presumed &) = delete;
    presumed &operator=(const presumed &) = delete;

    /* Returns the bools of the next n keys, all set to true. */
    BLOOMFILE_CPP_PART_ span<bool> next(std::size_t n) noexcept
    {
        const span<bool> these(rest_.data(), n < rest_.size() ? n : rest_.size());
        rest_ = rest_.from(n);
        return these;
    }
    /* Ends the guard without setting the rest: the keys did not throw an exception. */
    BLOOMFILE_CPP_PART_ void end() noexcept
    {
        rest_ = {};
    }

  private:
    span<bool> rest_;
};

/* Passes digests on in chunks that are large enough for their cache misses to overlap in the batch
 * call. Keys may be scattered in memory, so the cache lines of a group are prefetched before it is
 * hashed. */
inline constexpr std::size_t chunk = 2048, group = 64;
static_assert(chunk % group == 0);

template <class Recipe, class Keys, class Do>
BLOOMFILE_CPP_PART_ std::error_code each_chunk(const Keys &keys, hashing how, Do what)
{
    using argument = typename Recipe::argument;
    static_assert(std::is_convertible_v<const element_of_t<Keys> &, argument>,
                  "bloomfile: the elements of this range are not keys of this type");
    constexpr bool in_place = Recipe::stretches && stays_v<Keys>;
    bloomfile_digest digests[chunk];
    std::conditional_t<in_place, argument, bytes> requested[group];
    std::size_t n = 0, held = 0;
    const auto hash_held = [&]() BLOOMFILE_CPP_LAMBDA_PART_ {
        if constexpr (in_place)
            for (std::size_t i = 0; i < held; i++)
                digests[n++] = Recipe::digest(requested[i], how);
        held = 0;
    };
    for (const auto &key : keys) {
        if constexpr (in_place) {
            const argument one(key);
            __builtin_prefetch(one.data());
            __builtin_prefetch(static_cast<const char *>(one.data()) + one.size());
            requested[held++] = one;
            if (held == group)
                hash_held();
        } else
            digests[n++] = Recipe::digest(key, how);
        if (n == chunk) {
            if (const std::error_code error = what(digests, n))
                return error;
            n = 0;
        }
    }
    hash_held();
    return n == 0 ? std::error_code() : what(digests, n);
}

} // namespace detail

} // namespace v1
} // namespace bloomfile

#endif
