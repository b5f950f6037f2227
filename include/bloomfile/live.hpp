/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: live filters. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_LIVE_HPP
#define BLOOMFILE_CPP_LIVE_HPP

#include <array>
#include <bloomfile/builder.hpp>
#include <bloomfile/filter.hpp>
#include <bloomfile_live.h>

namespace bloomfile
{
inline namespace v1
{

/* A live filter that is open for writing; bloomfile_live.h tells what that means. add(), remove()
 * and sync() may run in any number of threads at once, lookups meanwhile.
 *
 * Call finish() when you have added all. The destructor ends writing, too, but has nobody to tell
 * that the last adds could not be written to disk. */
template <class Key = bytes, class Hasher = hasher<Key>>
class live_filter : public filter<Key, Hasher>
{
    using base = filter<Key, Hasher>;
    using recipe = typename base::recipe;

  public:
    using argument = typename base::argument;
    using base::get;
    using base::seed;

    live_filter() noexcept = default;

    /* Only with another live filter: one that is open for reading takes no keys. */
    template <class Other, class = std::enable_if_t<std::is_same_v<Other, live_filter>>>
    void swap(Other &other) noexcept
    {
        handle::swap(other);
    }

    /* Opens one that is there, as bloomfile_open() with BLOOMFILE_OPEN_WRITE. */
    live_filter(path_arg path, flag_bits flags, std::error_code &ec)
        : base(path, flags | BLOOMFILE_OPEN_WRITE, ec)
    {
    }
    live_filter(path_arg path, std::error_code &ec) : live_filter(path, {}, ec)
    {
    }

    /* Make one, as bloomfile_create() and bloomfile_create_memory(). */
    static live_filter create(path_arg path, const bloomfile_params &p, flag_bits flags,
                              std::error_code &ec)
    {
        return make(p, ec, [&](bloomfile_filter **f, const bloomfile_params *all) {
            return bloomfile_create(f, path.c_str(), all, flags);
        });
    }
    static live_filter create_memory(const bloomfile_params &p, flag_bits flags,
                                     std::error_code &ec)
    {
        return make(p, ec, [&](bloomfile_filter **f, const bloomfile_params *all) {
            return bloomfile_create_memory(f, all, flags);
        });
    }

    /* Adds a key, and returns whether it was new: whether that changed the filter. After
     * BLOOMFILE_EFULL the key was not added, after another error it may have been; either way it
     * counts as new, so that nothing is left undone. */
    bool add(argument key, std::error_code &ec)
    {
        return add_digest(this->digest(key), ec);
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    bool add(const Other &, std::error_code &ec) = delete;
    bool add_digest(bloomfile_digest digest, std::error_code &ec) noexcept
    {
        bool was_new = true;
        ec = with([&](bloomfile_filter *f) { return bloomfile_add_digest(f, digest, &was_new); });
        return was_new;
    }

    /* Adds all keys of a range (a container, an array), which is read once. Returns how many were
     * new. Sets was_new[i] for each key, as far as it goes, and *done (may be null) to the number
     * added. After an error the first *done keys were added, and all other keys are reported as
     * new; so they are after an exception of the keys or their Hasher. After BLOOMFILE_EFULL only
     * the first *done keys were added. */
    template <class Keys>
    std::size_t add_many(const Keys &keys, span<bool> was_new, std::error_code &ec,
                         std::size_t *done = nullptr)
    {
        std::size_t fresh = 0, ignored;
        std::size_t &added = done != nullptr ? *done : ignored;
        detail::presumed rest(was_new);
        added = 0;
        ec = std::error_code();
        (void)detail::each_chunk<recipe>(
            keys, seed(), [&](const bloomfile_digest *digests, std::size_t n) {
                fresh += put(digests, n, rest.next(n), ec, added);
                return std::error_code(); /* what is left counts as new */
            });
        rest.end();
        return fresh;
    }
    template <class Keys>
    std::size_t add_many(const Keys &keys, std::error_code &ec, std::size_t *done = nullptr)
    {
        return add_many(keys, {}, ec, done);
    }
    std::size_t add_many(std::initializer_list<Key> keys, span<bool> was_new, std::error_code &ec,
                         std::size_t *done = nullptr)
    {
        return add_many<std::initializer_list<Key>>(keys, was_new, ec, done);
    }
    std::size_t add_many(std::initializer_list<Key> keys, std::error_code &ec,
                         std::size_t *done = nullptr)
    {
        return add_many<std::initializer_list<Key>>(keys, {}, ec, done);
    }

    /* Takes back one add of a key, in the counting layout: bloomfile_remove() says when. */
    void remove(argument key, std::error_code &ec)
    {
        const bloomfile_digest digest = this->digest(key);
        ec = with([&](bloomfile_filter *f) { return bloomfile_remove_digest(f, digest); });
    }

    template <class Other, class = detail::if_other_number_t<argument, Other>>
    void remove(const Other &, std::error_code &ec) = delete;

    /* Writes all adds to disk: they survive the machine once this has returned no error. */
    void sync(std::error_code &ec) noexcept
    {
        ec = with([](bloomfile_filter *f) { return bloomfile_sync(f, nullptr); });
    }

    using watermark = std::array<std::uint8_t, BLOOMFILE_WATERMARK_SIZE>;

    /* The same, and records a watermark: see bloomfile_sync(). */
    void sync(const watermark &mark, std::error_code &ec) noexcept
    {
        ec = with([&](bloomfile_filter *f) { return bloomfile_sync(f, mark.data()); });
    }

    /* Ends writing; whatever comes of it, lookups go on. An error is told again by each call. */
    void finish(std::error_code &ec) noexcept
    {
        ec = with(bloomfile_finish);
        this->pin();
    }

    /* Seals the filter in place, as bloomfile_seal(). */
    void seal(std::error_code &ec) noexcept
    {
        ec = with([](bloomfile_filter *f) { return bloomfile_seal(f, nullptr); });
        this->pin();
    }

    /* Write a sealed copy while adding goes on; and what memory holds of a poisoned filter, as
     * bloomfile_rescue(). */
    void copy_sealed(bloomfile_destination &to, std::error_code &ec) const noexcept
    {
        ec = with([&](bloomfile_filter *f) { return bloomfile_copy_sealed(&to, f, nullptr); });
    }
    void copy_sealed(bloomfile_destination &&to, std::error_code &ec) const noexcept
    {
        copy_sealed(to, ec);
    }
    void copy_sealed(path_arg path, flag_bits flags, std::error_code &ec) const noexcept
    {
        copy_sealed(bloomfile_to_path(path.c_str(), flags), ec);
    }
    void rescue(path_arg path, flag_bits flags, std::error_code &ec) const noexcept
    {
        ec = with([&](bloomfile_filter *f) { return bloomfile_rescue(path.c_str(), f, flags); });
    }

#ifdef __cpp_exceptions
    explicit live_filter(path_arg path, flag_bits flags = {})
    {
        std::error_code ec;
        *this = live_filter(path, flags, ec);
        throw_if(ec, "open for writing", path.c_str());
    }
    static live_filter create(path_arg path, const bloomfile_params &p, flag_bits flags = {})
    {
        std::error_code ec;
        live_filter made = create(path, p, flags, ec);
        throw_if(ec, "create", path.c_str());
        return made;
    }
    static live_filter create_memory(const bloomfile_params &p, flag_bits flags = {})
    {
        std::error_code ec;
        live_filter made = create_memory(p, flags, ec);
        throw_if(ec, "create a live filter in memory");
        return made;
    }
    bool add(argument key)
    {
        return add_digest(this->digest(key));
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    bool add(const Other &) = delete;
    bool add_digest(bloomfile_digest digest)
    {
        std::error_code ec;
        const bool was_new = add_digest(digest, ec);
        throw_if(ec, adding);
        return was_new;
    }
    /* Throws add_error, which has `done`. */
    template <class Keys> std::size_t add_many(const Keys &keys, span<bool> was_new = {})
    {
        std::error_code ec;
        std::size_t done;
        const std::size_t fresh = add_many(keys, was_new, ec, &done);
        if (ec)
            throw add_error(ec, adding, done);
        return fresh;
    }
    std::size_t add_many(std::initializer_list<Key> keys, span<bool> was_new = {})
    {
        return add_many<std::initializer_list<Key>>(keys, was_new);
    }
    void remove(argument key)
    {
        std::error_code ec;
        remove(key, ec);
        throw_if(ec, "remove a key");
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    void remove(const Other &) = delete;
    void sync()
    {
        std::error_code ec;
        sync(ec);
        throw_if(ec, "write a live filter to disk");
    }

    void sync(const watermark &mark)
    {
        std::error_code ec;
        sync(mark, ec);
        throw_if(ec, "write a live filter to disk");
    }
    void finish()
    {
        std::error_code ec;
        finish(ec);
        throw_if(ec, "finish a live filter");
    }
    void seal()
    {
        std::error_code ec;
        seal(ec);
        throw_if(ec, "seal a live filter");
    }
    void copy_sealed(path_arg path, flag_bits flags = {}) const
    {
        std::error_code ec;
        copy_sealed(path, flags, ec);
        throw_if(ec, "seal a copy as", path.c_str());
    }
    void copy_sealed(bloomfile_destination &to) const
    {
        std::error_code ec;
        copy_sealed(to, ec);
        throw_if(ec, "seal a copy");
    }
    void copy_sealed(bloomfile_destination &&to) const
    {
        copy_sealed(to);
    }
    void rescue(path_arg path, flag_bits flags = {}) const
    {
        std::error_code ec;
        rescue(path, flags, ec);
        throw_if(ec, "save a live filter as", path.c_str());
    }
#endif

  private:
    static constexpr const char *adding = "add keys to a live filter";

    template <class Make> static live_filter make(bloomfile_params p, std::error_code &ec, Make how)
    {
        live_filter made;
        bloomfile_filter *f = nullptr;
        int error = recipe::complete(p);
        if (error == 0)
            error = how(&f, &p);
        made.admit(f, error, any_keys, ec);
        return made;
    }

    /* What a function of the C interface makes of the filter, if one is open. */
    template <class Do> std::error_code with(Do what) const
    {
        return get() != nullptr ? code(what(get())) : this->check();
    }

    /* Adds to `done`. */
    std::size_t put(const bloomfile_digest *digests, std::size_t n, span<bool> was_new,
                    std::error_code &ec, std::size_t &done) noexcept
    {
        bool told[detail::chunk];
        std::size_t fresh = 0, added = 0;
        if (!ec)
            ec = with([&](bloomfile_filter *f) {
                return bloomfile_add_digests(f, digests, n, told, &fresh, &added);
            });
        for (std::size_t i = 0; i < n && i < was_new.size(); i++)
            was_new.data()[i] = i < added ? told[i] : true;
        done += added;
        return fresh + (n - added);
    }
};

} // namespace v1
} // namespace bloomfile

#endif
