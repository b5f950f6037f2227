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

/* Whether T is an rvalue that owns its bytes; a view (a pointer and a size) does not. */
template <class T>
inline constexpr bool is_leaving_owner_v =
    !std::is_reference_v<T> &&
    (!std::is_trivially_copyable_v<T> || sizeof(T) > 2 * sizeof(void *)) &&
    is_bytes_v<std::remove_const_t<T>>;

} // namespace detail

/* How to open a sealed filter: the flags BLOOMFILE_OPEN_* of bloomfile.h. */
enum class open_flags : unsigned {
    verify_full = BLOOMFILE_OPEN_VERIFY_FULL,
    verify_none = BLOOMFILE_OPEN_VERIFY_NONE,
    accept_unclean = BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
    prefault = BLOOMFILE_OPEN_PREFAULT,
    lock = BLOOMFILE_OPEN_LOCK,
    copy = BLOOMFILE_OPEN_COPY,
};
template <> inline constexpr bool detail::is_flags_v<open_flags> = true;

/* Lookups in a filter of Keys, whether it is open for reading or for writing. Only a filter or a
 * live_filter can be made: pass a `const lookups<Key> &` to functions that take either. */
template <class Key = text, class Hasher = hasher<Key>> class lookups : public handle
{
  protected:
    using recipe = detail::recipe<Key, Hasher>;

  public:
    using key_type = Key;
    using argument = typename recipe::argument;
    using list = typename recipe::list;

    /* Returns the digest of a key in this filter. */
    bloomfile_digest digest(argument key) const
    {
        return recipe::digest(key, how());
    }

    /* Returns false if the key is certainly not in the set, and true if it may be. */
    [[nodiscard]] BLOOMFILE_CPP_PART_ bool contains(argument key) const
    {
        return contains_digest(digest(key));
    }

    /* Looks up all keys of a range (a container, an array, keys in braces), which is read once.
     * Returns how many may be in the set; hits[i] is set for each, as far as `hits` goes. If the
     * keys or their Hasher throw an exception, all answers from some key on are true. */
    template <class Keys = list>
    BLOOMFILE_CPP_PART_ std::size_t contains_many(const Keys &keys, span<bool> hits = {}) const
    {
        std::size_t found = 0;
        detail::presumed rest(hits);
        detail::each_chunk<recipe>(keys, how(),
                                   [&](const bloomfile_digest *digests, std::size_t n)
                                       BLOOMFILE_CPP_LAMBDA_PART_ {
                                           found += contains_digests({ digests, n }, rest.next(n));
                                           return std::error_code();
                                       });
        rest.end();
        return found;
    }

    /* Like contains_many(), but returns an answer for each key. */
    template <class Keys = list> BLOOMFILE_CPP_PART_ answers contains_each(const Keys &keys) const
    {
        answers all;
        detail::each_chunk<recipe>(keys, how(),
                                   [&](const bloomfile_digest *digests, std::size_t n)
                                       BLOOMFILE_CPP_LAMBDA_PART_ {
                                           contains_digests({ digests, n }, all.more(n));
                                           return std::error_code();
                                       });
        return all;
    }

  protected:
    lookups() noexcept = default;
    lookups(lookups &&) noexcept = default;
    lookups &operator=(lookups &&) noexcept = default;

    void open_these(const bloomfile_source &from, bloomfile_open_params how, on_error ec,
                    const char *attempt)
    {
        how.expect |= BLOOMFILE_EXPECT_HASH;
        how.hash_id = recipe::id;
        if constexpr (recipe::named)
            how.self_test_of = [](void *, std::uint64_t seed) { return recipe::self_test(seed); };
        else {
            how.expect |= BLOOMFILE_EXPECT_KEYS;
            how.key_kind = recipe::kind;
            how.key_size = recipe::key_size;
        }
        bloomfile_filter *f;
        const int error = bloomfile_open_with(&f, &from, &how);
        admit(f, error, ec, attempt, from.kind == BLOOMFILE_FROM_PATH ? from.path : "a filter");
    }
    static bloomfile_open_params with(unsigned flags) noexcept
    {
        bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
        how.flags = flags;
        return how;
    }

    /* Takes ownership of an opened filter, if its keys are of this type. */
    void admit(bloomfile_filter *f, int error, on_error ec, const char *attempt,
               const char *path = "")
    {
        bloomfile_info all = BLOOMFILE_INFO_INIT;
        if (error == 0)
            error = f != nullptr ? bloomfile_get_info(f, &all) : BLOOMFILE_EVALUE;
        if (error == 0)
            error = recipe::fit(all);
        take(f, recipe::of(all), code(error));
        ec(code(error), attempt, path);
    }
};

/* A filter of Keys, open for reading; by default the keys are text. keys.hpp describes Key and
 * Hasher. A file of another kind of keys or of another hash is refused: BLOOMFILE_EKEYKIND,
 * BLOOMFILE_EHASH or BLOOMFILE_ESELFTEST.
 *
 * A function that can fail takes a std::error_code as its last argument, which it sets or clears.
 * If it is omitted, an error is thrown. */
template <class Key = text, class Hasher = hasher<Key>>
class filter final : public lookups<Key, Hasher>
{
  public:
    filter() noexcept = default;

    /* Like bloomfile_open(). */
    explicit filter(path_arg path, open_flags flags = {}, on_error ec = {})
    {
        this->open_these(bloomfile_from_path(path.c_str()), with(flags), ec, "open");
    }
    filter(path_arg path, on_error ec) : filter(path, {}, ec)
    {
    }

    /* Like bloomfile_open_with(). The types name the expected hash and kind of keys. */
    static filter open(const bloomfile_source &from, const bloomfile_open_params &how,
                       on_error ec = {})
    {
        filter made;
        made.open_these(from, how, ec, "open");
        return made;
    }

    /* Opens a range of bytes of an open file. The caller keeps the descriptor. */
    static filter from_fd(int fd, std::uint64_t offset = 0,
                          std::uint64_t length = BLOOMFILE_FROM_REST, open_flags flags = {},
                          on_error ec = {})
    {
        bloomfile_source from = bloomfile_from_fd(fd);
        from.offset = offset;
        from.length = length;
        return open(from, with(flags), ec);
    }

    /* Opens an image, which must outlive the filter, unless flags have open_flags::copy. */
    static filter from_memory(bytes image, open_flags flags = {}, on_error ec = {})
    {
        return open(bloomfile_from_memory(image.data(), image.size()), with(flags), ec);
    }

    /* Copies a temporary image. */
    template <class Owner, class = std::enable_if_t<detail::is_leaving_owner_v<Owner>>>
    static filter from_memory(Owner &&made, open_flags flags = {}, on_error ec = {})
    {
        return from_memory(bytes(made), flags | open_flags::copy, ec);
    }

    /* Takes ownership of a filter that the C interface has opened. After an error it is closed. */
    static filter adopt(bloomfile_filter *f, on_error ec = {})
    {
        filter made;
        made.admit(f, 0, ec, "use the filter for these keys");
        return made;
    }

  private:
    static bloomfile_open_params with(open_flags flags) noexcept
    {
        return lookups<Key, Hasher>::with(static_cast<unsigned>(flags));
    }
};

} // namespace v1
} // namespace bloomfile

#endif
