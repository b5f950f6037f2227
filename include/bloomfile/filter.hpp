/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: lookups by key. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_FILTER_HPP
#define BLOOMFILE_CPP_FILTER_HPP

#include <bloomfile/handle.hpp>
#include <bloomfile_open.h>

namespace bloomfile
{
inline namespace v1
{

namespace detail
{

/* What owns the bytes that it holds, and is about to go; a view is a pointer and a size. */
template <class T>
inline constexpr bool is_leaving_owner_v =
    !std::is_reference_v<T> &&
    (!std::is_trivially_copyable_v<T> || sizeof(T) > 2 * sizeof(void *)) &&
    is_bytes_v<std::remove_const_t<T>>;

} // namespace detail

/* A filter of Keys, open for reading; by default of bytes, which any string is. keys.hpp tells what
 * a Hasher is, and which files are refused since they are not of this one: by BLOOMFILE_EHASH,
 * BLOOMFILE_ESELFTEST or errc::other_keys.
 *
 * What can fail is there twice, as in std::filesystem: with a std::error_code, which it sets and
 * clears, or without one. Then it throws bloomfile::error, and is not there at all where
 * exceptions are switched off. */
template <class Key = bytes, class Hasher = hasher<Key>> class filter : public handle
{
  protected:
    using recipe = detail::recipe<Key, Hasher>;

  public:
    using key_type = Key;
    using argument = typename recipe::argument;

    /* Nothing is open: "maybe" to all. */
    filter() noexcept = default;

    /* As bloomfile_open(); flags are those of bloomfile.h, and any_keys. */
    filter(path_arg path, flag_bits flags, std::error_code &ec)
    {
        open_these(bloomfile_from_path(path.c_str()), with_flags(flags), ec);
    }
    filter(path_arg path, std::error_code &ec) : filter(path, {}, ec)
    {
    }

    /* As bloomfile_open_with(): how.flags may have any_keys. The Hasher names the hash. */
    static filter open(const bloomfile_source &from, const bloomfile_open_params &how,
                       std::error_code &ec)
    {
        filter made;
        made.open_these(from, how, ec);
        return made;
    }

    /* Those bytes of an open file, whose descriptor stays the caller's. */
    static filter from_fd(int fd, std::uint64_t offset, std::uint64_t length, flag_bits flags,
                          std::error_code &ec)
    {
        return open(bloomfile_from_fd(fd, offset, length), with_flags(flags), ec);
    }

    /* The image must outlive the filter, unless flags have BLOOMFILE_OPEN_COPY. */
    static filter from_memory(bytes image, flag_bits flags, std::error_code &ec)
    {
        return open(bloomfile_from_memory(image.data(), image.size()), with_flags(flags), ec);
    }

    /* Copies an image that nobody keeps. */
    template <class Owner, class = std::enable_if_t<detail::is_leaving_owner_v<Owner>>>
    static filter from_memory(Owner &&made, flag_bits flags, std::error_code &ec)
    {
        return from_memory(bytes(made), flags | BLOOMFILE_OPEN_COPY, ec);
    }

    /* Owns what the C interface has opened; after an error it is closed. */
    static filter adopt(bloomfile_filter *f, flag_bits flags, std::error_code &ec)
    {
        filter made;
        made.admit(f, f != nullptr ? 0 : BLOOMFILE_EVALUE, flags, ec);
        return made;
    }

#ifdef __cpp_exceptions
    explicit filter(path_arg path, flag_bits flags = {})
    {
        std::error_code ec;
        *this = filter(path, flags, ec);
        throw_if(ec, "open", path.c_str());
    }
    static filter open(const bloomfile_source &from, const bloomfile_open_params &how)
    {
        std::error_code ec;
        filter made = open(from, how, ec);
        throw_if(ec, "open", from.kind == BLOOMFILE_FROM_PATH ? from.path : "a filter");
        return made;
    }
    static filter from_fd(int fd, std::uint64_t offset = 0,
                          std::uint64_t length = BLOOMFILE_FROM_REST, flag_bits flags = {})
    {
        std::error_code ec;
        filter made = from_fd(fd, offset, length, flags, ec);
        throw_if(ec, "open a filter in a file");
        return made;
    }
    static filter from_memory(bytes image, flag_bits flags = {})
    {
        std::error_code ec;
        filter made = from_memory(image, flags, ec);
        throw_if(ec, "open a filter in memory");
        return made;
    }
    template <class Owner, class = std::enable_if_t<detail::is_leaving_owner_v<Owner>>>
    static filter from_memory(Owner &&made, flag_bits flags = {})
    {
        return from_memory(bytes(made), flags | BLOOMFILE_OPEN_COPY);
    }
    static filter adopt(bloomfile_filter *f, flag_bits flags = {})
    {
        std::error_code ec;
        filter made = adopt(f, flags, ec);
        throw_if(ec, "use the filter for these keys");
        return made;
    }
#endif

    /* Only with one of the same type, which a live filter is not. */
    template <class Other, class = std::enable_if_t<std::is_same_v<Other, filter>>>
    void swap(Other &other) noexcept
    {
        handle::swap(other);
    }

    /* What the filter knows of a key. */
    bloomfile_digest digest(argument key) const
    {
        return recipe::digest(key, seed());
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    bloomfile_digest digest(const Other &) const = delete;

    /* false: the key is certainly not in the set. true: it may be. */
    [[nodiscard]] BLOOMFILE_CPP_PART_ bool contains(argument key) const
    {
        return contains_digest(digest(key));
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    bool contains(const Other &) const = delete;
    template <class A = argument, class = std::enable_if_t<std::is_same_v<A, bytes>>>
    [[nodiscard]] BLOOMFILE_CPP_PART_ bool contains(const void *key, std::size_t size) const
    {
        return contains(bytes(key, size));
    }

    /* All keys of a range (a container, an array), which is read once. Returns how many may be in
     * the set; hits[i] is set for each, as far as `hits` goes. If the keys or their Hasher throw an
     * exception, all from some key on are true. */
    template <class Keys>
    BLOOMFILE_CPP_PART_ std::size_t contains_many(const Keys &keys, span<bool> hits = {}) const
    {
        std::size_t found = 0;
        detail::presumed rest(hits);
        detail::each_chunk<recipe>(keys, seed(),
                                   [&](const bloomfile_digest *digests, std::size_t n)
                                       BLOOMFILE_CPP_LAMBDA_PART_ {
                                           found += contains_digests({ digests, n }, rest.next(n));
                                           return std::error_code();
                                       });
        rest.end();
        return found;
    }
    BLOOMFILE_CPP_PART_ std::size_t contains_many(std::initializer_list<Key> keys,
                                                  span<bool> hits = {}) const
    {
        return contains_many<std::initializer_list<Key>>(keys, hits);
    }

  protected:
    static bloomfile_open_params with_flags(unsigned flags) noexcept
    {
        bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
        how.flags = flags;
        return how;
    }

    void open_these(const bloomfile_source &from, bloomfile_open_params how, std::error_code &ec)
    {
        bloomfile_filter *f;
        const unsigned flags = how.flags;
        how.flags &= ~any_keys;
        how.expect |= BLOOMFILE_EXPECT_HASH;
        how.hash_id = hash_id;
        if constexpr (recipe::named)
            how.self_test_of = recipe::self_test;
        const int error = bloomfile_open_with(&f, &from, &how);
        admit(f, error, flags, ec);
    }

    /* Takes what was opened, and keeps it if it is a filter of these keys. */
    void admit(bloomfile_filter *f, int error, unsigned flags, std::error_code &ec)
    {
        ec = code(error);
        take(f, ec);
        if (!ec)
            ec = of_these_keys(flags);
        if (ec)
            take(nullptr, ec);
    }

  private:
    static constexpr std::uint32_t hash_id = recipe::named ? recipe::id : BLOOMFILE_HASH_XXH3;

    std::error_code of_these_keys(unsigned flags)
    {
        const bloomfile_info all = info();
        if (all.hash_id != hash_id)
            return code(BLOOMFILE_EHASH);
        if (recipe::named && all.self_test != recipe::self_test(seed()))
            return code(BLOOMFILE_ESELFTEST);
        if (recipe::record_size == 0 || (flags & any_keys) != 0 ||
            (all.key_kind == BLOOMFILE_KEYS_FIXED && all.key_size == recipe::record_size))
            return std::error_code();
        return make_error_code(errc::other_keys);
    }
};

} // namespace v1
} // namespace bloomfile

#endif
