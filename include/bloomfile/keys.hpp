/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: what a key is. Include bloomfile.hpp.
 *
 * A filter knows 64 bits of each key, its digest. A Hasher says how these are made of a Key. It has
 * static members only. Two kinds are good.
 *
 * A hasher with a number of its own has `id` (BLOOMFILE_APP_HASH_FIRST or above, chosen at random),
 * example(), which returns some key, and either bytes_of(key), the bytes of which XXH3 makes the
 * digest, or digest_of(key, seed), the digest itself: 64 bits as good as random, the topmost above
 * all. Files record `id` and the digest of the example. So a file of another hasher, or of this one
 * before it was changed, is refused when it is opened, and never says a wrong "no".
 *
 * A hasher of plain bytes, which are the key for everybody, for the tools, C and Python too, has no
 * `id`, but bytes_of(), which returns a std::array, and `plain_bytes = true`. Files record the size
 * of their keys, and nothing else of them: another order of the same members is not noticed.
 *
 * For integers, enumerations and arrays of bytes there is one of the second kind, for strings the
 * bytes are the key. For anything else name your own:
 *
 *     struct edge { // with padding, which is no key
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
 * std::hash is no hasher: it differs between libraries and their versions, and for integers it is
 * often the integer itself. A digest_of() that calls it is possible, and gets an `id` and an
 * example by which a file of another std::hash is refused; bloomfile_hash() of its result spreads
 * its bits.
 */
#ifndef BLOOMFILE_CPP_KEYS_HPP
#define BLOOMFILE_CPP_KEYS_HPP

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

/* A part of its caller, never a function of its own: of one that has the instructions of this
 * processor a linker could take the same for callers that were compiled for another. The address of
 * one is that of a function of this object alone (clang), or does not link (gcc). */
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

template <class T>
inline constexpr bool is_char_v = std::is_same_v<T, char> || std::is_same_v<T, signed char> ||
                                  std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>
#ifdef __cpp_char8_t
                                  || std::is_same_v<T, char8_t>
#endif
    ;

template <class C> using data_t = decltype(std::data(std::declval<C &>()));
template <class C> using element_t = std::remove_pointer_t<data_t<C>>;

/* Whether C has data() and size(), and its elements are T's, perhaps less const. */
template <class C, class T, class = void> inline constexpr bool holds_v = false;
template <class C, class T>
inline constexpr bool
    holds_v<C, T, std::void_t<data_t<C>, decltype(std::size(std::declval<C &>()))>> =
        std::is_convertible_v<element_t<C> (*)[], T (*)[]>;

/* Whether C is a stretch of bytes. An array of char is not, as it may be a literal with its zero.
 */
template <class C, class = void> inline constexpr bool is_bytes_v = false;
template <class C>
inline constexpr bool
    is_bytes_v<C, std::void_t<data_t<C>, decltype(std::size(std::declval<C &>()))>> =
        is_char_v<std::remove_cv_t<element_t<C>>> &&
        (!std::is_array_v<C> || std::is_same_v<std::remove_cv_t<element_t<C>>, unsigned char> ||
         std::is_same_v<std::remove_cv_t<element_t<C>>, std::byte>);

} // namespace detail

/* A stretch of memory that belongs to somebody else, for arguments: arrays, std::vector, std::array
 * and, from C++20 on, std::span convert to it. */
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

    /* What is left from that element on. */
    constexpr span from(std::size_t first) const noexcept
    {
        return first < size_ ? span(data_ + first, size_ - first) : span();
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Bytes that belong to somebody else: a key, or an image. Made of a std::string, a
 * std::string_view, a string that ends with a zero, and of all that has data() and size() of char,
 * unsigned char or std::byte, such as the slices of storage engines. */
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

/* The name of a file: a string that ends with a zero, a std::string, a std::filesystem::path. */
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

/* Flags of the C interface, which are unsigned: BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_COPY.
 * 0: none. Neither a bool nor a number of another type is one. */
class flag_bits
{
  public:
    constexpr flag_bits() noexcept = default;
    constexpr flag_bits(unsigned bits) noexcept : bits_(bits)
    {
    }
    constexpr flag_bits(int bits) noexcept : bits_(static_cast<unsigned>(bits))
    {
    }
    template <class T,
              class = std::enable_if_t<!std::is_same_v<T, unsigned> && !std::is_same_v<T, int>>>
    flag_bits(T) = delete;

    constexpr operator unsigned() const noexcept
    {
        return bits_;
    }

  private:
    unsigned bits_ = 0;
};

namespace detail
{

template <class T> using plain_t = std::remove_cv_t<std::remove_reference_t<T>>;

/* Whether integers of both types have the same bytes. */
template <class T, class U>
inline constexpr bool same_integers_v =
    std::is_integral_v<T> &&std::is_integral_v<U> && !std::is_same_v<T, bool> &&
    !std::is_same_v<U, bool> && sizeof(T) == sizeof(U) &&
    std::is_signed_v<T> == std::is_signed_v<U>;

template <class T> inline constexpr bool is_number_v = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/* Whether a T is made of this without a loss, such as by an operator T(). */
template <class T, class Given, class = void> inline constexpr bool makes_v = false;
template <class T, class Given>
inline constexpr bool makes_v<T, Given, std::void_t<decltype(T{ std::declval<Given &>() })>> = true;

/* Whether keys are numbers or enumerations and this is a number of another type, or converts to
 * one that does not fit: it would be converted, and be another key. */
template <class Key, class Given>
inline constexpr bool is_other_key_v =
    is_number_v<Given> ? !std::is_same_v<Key, Given> && !same_integers_v<Key, Given>
                       : !makes_v<Key, Given>;
template <class Argument, class Given>
inline constexpr bool is_other_number_v =
    is_number_v<plain_t<Argument>> &&is_other_key_v<plain_t<Argument>, plain_t<Given>>;

/* Compilers show this name with the deleted function that was called. */
template <class Key> struct number_of_another_type_would_be_another_key_so_write_static_cast_to;
template <class Argument, class Given>
using if_other_number_t = std::enable_if_t<
    is_other_number_v<Argument, Given>,
    number_of_another_type_would_be_another_key_so_write_static_cast_to<plain_t<Argument>>>;

/* The bytes of a number, least significant first on every machine. */
template <class T> struct little_endian {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>,
                  "bloomfile::packed() takes integers, enumerations and std::arrays of bytes: "
                  "floating point has two zeros, structs have padding, pointers mean nothing to "
                  "others");
    static constexpr std::size_t size = sizeof(T);
    static void put(T value, unsigned char *to) noexcept
    {
        auto bits = static_cast<std::uint64_t>(value);
        static_assert(sizeof value <= sizeof bits, "integers have at most 64 bits");
        for (std::size_t i = 0; i < size; i++, bits >>= 8)
            to[i] = static_cast<unsigned char>(bits & 0xff);
    }
};

template <class T, std::size_t N> struct little_endian<std::array<T, N>> {
    static_assert(is_char_v<T>, "of arrays, bloomfile::packed() takes those of bytes");
    static constexpr std::size_t size = N;
    static void put(const std::array<T, N> &value, unsigned char *to) noexcept
    {
        if (N > 0)
            std::memcpy(to, value.data(), N);
    }
};

template <class T> inline constexpr std::size_t array_size_v = 0;
template <class T, std::size_t N> inline constexpr std::size_t array_size_v<std::array<T, N>> = N;

} // namespace detail

/* The bytes of these members, one behind the other, without padding and the same on every machine:
 * what a bytes_of() returns. Mind that long has 4 or 8 bytes; std::int64_t has 8. */
template <class... T> auto packed(const T &...members) noexcept
{
    std::array<unsigned char, (std::size_t{ 0 } + ... + detail::little_endian<T>::size)> all{};
    unsigned char *to = all.data();
    (void)to;
    ((detail::little_endian<T>::put(members, to), to += detail::little_endian<T>::size), ...);
    return all;
}

/* The hasher of a key that names none. */
template <class Key, class = void> struct hasher {
    static_assert(sizeof(Key) == 0,
                  "bloomfile: it is not known what the bytes of this key are. Name a Hasher, "
                  "filter<Key, Hasher>: the head of bloomfile/keys.hpp tells what it must have");
};

/* Keys of any length. What is asked for and added may be any kind of bytes. */
template <class Key>
struct hasher<Key, std::enable_if_t<std::is_convertible_v<const Key &, bytes> &&
                                    detail::array_size_v<Key> == 0>> {
    static constexpr bool plain_bytes = true;
    using argument = bytes;
    static bytes bytes_of(bytes key) noexcept
    {
        return key;
    }
};

template <class Key>
struct hasher<Key, std::enable_if_t<std::is_integral_v<Key> || std::is_enum_v<Key>>> {
    static constexpr bool plain_bytes = true;
    static auto bytes_of(Key key) noexcept
    {
        return packed(key);
    }
};

template <class T, std::size_t N>
struct hasher<std::array<T, N>, std::enable_if_t<detail::is_char_v<T>>> {
    static constexpr bool plain_bytes = true;
    static auto bytes_of(const std::array<T, N> &key) noexcept
    {
        return packed(key);
    }
};

namespace detail
{

template <class H, class = void> inline constexpr bool has_id_v = false;
template <class H> inline constexpr bool has_id_v<H, std::void_t<decltype(H::id)>> = true;

template <class H, class = void> inline constexpr bool has_example_v = false;
template <class H>
inline constexpr bool has_example_v<H, std::void_t<decltype(H::example())>> = true;

template <class H, class = void> inline constexpr bool is_plain_v = false;
template <class H>
inline constexpr bool is_plain_v<H, std::void_t<decltype(H::plain_bytes)>> = H::plain_bytes;

template <class H, class Key, class = void> struct argument_of {
    using type = const Key &;
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

template <class H> constexpr std::uint32_t id_of()
{
    if constexpr (has_id_v<H>)
        return H::id;
    else
        return 0;
}

/* Bytes of each key; 0: not always the same. */
template <class H, class A> constexpr std::size_t size_of()
{
    if constexpr (has_bytes_v<H, A>)
        return array_size_v<decltype(H::bytes_of(std::declval<A>()))>;
    else
        return 0;
}

/* What a Hasher says, once it has been found to be one. */
template <class Key, class Hasher> struct recipe {
    using argument = typename argument_of<Hasher, Key>::type;

    static constexpr bool named = has_id_v<Hasher>;
    static constexpr bool by_bytes = has_bytes_v<Hasher, argument>;
    /* Nothing has to be recorded of them: keys are bytes, as they are for C. */
    static constexpr bool any_bytes = !named && std::is_same_v<argument, bytes>;
    static constexpr std::uint32_t id = id_of<Hasher>(); /* 0: XXH3 of plain bytes */
    static constexpr std::size_t size = size_of<Hasher, argument>();
    /* Bytes of each key, where files record that; else 0. */
    static constexpr auto record_size = static_cast<std::uint32_t>(named || any_bytes ? 0 : size);

    static_assert(by_bytes || has_digest_v<Hasher, argument>,
                  "bloomfile: a Hasher has static bytes_of(key) or std::uint64_t digest_of(key, "
                  "seed). std::hash is none, as it differs between libraries: see the head of "
                  "bloomfile/keys.hpp");
    static_assert(named || by_bytes || !has_digest_v<Hasher, argument>,
                  "bloomfile: a hash function of your own needs an `id` and an example(), by "
                  "which files of another one are refused");
    static_assert(named || is_plain_v<Hasher> || !by_bytes,
                  "bloomfile: give the Hasher an `id` and an example(), by which files of another "
                  "one are refused; or plain_bytes = true, if all programs agree on these bytes");
    static_assert(!named || has_example_v<Hasher>,
                  "bloomfile: a Hasher with an `id` has a static example(), some key, whose "
                  "digest files record");
    static_assert(!named || id >= BLOOMFILE_APP_HASH_FIRST,
                  "bloomfile: an `id` is BLOOMFILE_APP_HASH_FIRST or above");
    static_assert(named || any_bytes || !by_bytes || !is_plain_v<Hasher> ||
                      (size > 0 && size <= BLOOMFILE_MAX_KEY_SIZE),
                  "bloomfile: bytes_of() of plain bytes returns a std::array, so that files can "
                  "record its size; for keys of several sizes choose an `id`");

    static bloomfile_digest digest(argument key, std::uint64_t seed)
    {
        if constexpr (by_bytes) {
            const auto &all = Hasher::bytes_of(key);
            const bytes b(all);
            return bloomfile_hash(seed, b.data(), b.size());
        } else
            return Hasher::digest_of(key, seed);
    }

    static std::uint64_t self_test(std::uint64_t seed)
    {
        if constexpr (named)
            return digest(Hasher::example(), seed);
        else
            return (void)seed, 0;
    }

    /* Params that say what the keys are. */
    static int complete(bloomfile_params &p)
    {
        if constexpr (named) {
            if (p.hash_id != 0 && p.hash_id != id)
                return BLOOMFILE_EVALUE;
            p.hash_id = id;
            p.self_test = self_test(p.seed);
        } else if constexpr (record_size > 0) {
            if (p.key_kind != BLOOMFILE_KEYS_UNKNOWN &&
                (p.key_kind != BLOOMFILE_KEYS_FIXED || p.key_size != record_size))
                return BLOOMFILE_EVALUE;
            p.key_kind = BLOOMFILE_KEYS_FIXED;
            p.key_size = record_size;
        }
        return named || p.hash_id == 0 ? 0 : BLOOMFILE_EHASH;
    }
};

/* Whether the bytes of a range's elements stay where they are while the next ones are looked at: if
 * they are an array, as those of std::vector. An iterator that makes an element as it is asked may
 * make the next one in the same place, and may return a reference to it all the same. */
template <class Keys>
using element_of_t = std::remove_reference_t<decltype(*std::begin(std::declval<const Keys &>()))>;
template <class Keys, class = void> inline constexpr bool stays_v = false;
template <class Keys>
inline constexpr bool
    stays_v<Keys, std::void_t<decltype(std::data(std::declval<const Keys &>()))>> =
        std::is_same_v<decltype(std::data(std::declval<const Keys &>())), element_of_t<Keys> *>;

/* Sets all bools that an exception leaves unset: "maybe", or "new". */
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

    /* Those of the next n keys, which are set. */
    BLOOMFILE_CPP_PART_ span<bool> next(std::size_t n) noexcept
    {
        const span<bool> these(rest_.data(), n < rest_.size() ? n : rest_.size());
        rest_ = rest_.from(n);
        return these;
    }
    /* No exception came; what is left was not asked for. */
    BLOOMFILE_CPP_PART_ void end() noexcept
    {
        rest_ = {};
    }

  private:
    span<bool> rest_;
};

/* Hands digests on, so many at a time, as a batch has them side by side on their way from memory.
 * Keys may be far apart, so the lines of some are requested before the first of these is hashed. */
inline constexpr std::size_t chunk = 2048, group = 64;
static_assert(chunk % group == 0);

template <class Recipe, class Keys, class Do>
BLOOMFILE_CPP_PART_ std::error_code each_chunk(const Keys &keys, std::uint64_t seed, Do what)
{
    static_assert(!is_other_number_v<typename Recipe::argument, element_of_t<Keys>>,
                  "bloomfile: these are not of the type of the keys, and would be converted to "
                  "other keys. Write static_cast<Key>() where they are made");
    bloomfile_digest digests[chunk];
    bytes requested[group];
    std::size_t n = 0, held = 0;
    const auto hash_held = [&]() BLOOMFILE_CPP_LAMBDA_PART_ {
        for (std::size_t i = 0; i < held; i++)
            digests[n++] = bloomfile_hash(seed, requested[i].data(), requested[i].size());
        held = 0;
    };
    for (const auto &key : keys) {
        if constexpr (Recipe::any_bytes && stays_v<Keys>) {
            const bytes one(key);
            __builtin_prefetch(one.data());
            __builtin_prefetch(static_cast<const char *>(one.data()) + one.size());
            requested[held++] = one;
            if (held == group)
                hash_held();
        } else
            digests[n++] = Recipe::digest(key, seed);
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
