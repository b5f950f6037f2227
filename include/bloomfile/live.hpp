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

/* How to open or make a live filter: the flags of bloomfile_open(), bloomfile_create() and
 * bloomfile_create_memory(), whose comments list the flags they accept. */
enum class live_flags : unsigned {
    accept_unclean = BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
    add_exact = BLOOMFILE_OPEN_ADD_EXACT,
    prefault = BLOOMFILE_OPEN_PREFAULT,
    lock = BLOOMFILE_OPEN_LOCK,
    sole_adder = BLOOMFILE_OPEN_SOLE_ADDER,
    one_thread = BLOOMFILE_OPEN_ONE_THREAD,
    over_capacity = BLOOMFILE_OPEN_OVER_CAPACITY,
    replace = BLOOMFILE_TO_REPLACE,
};
template <> inline constexpr bool detail::is_flags_v<live_flags> = true;

/* A live filter that is open for writing: see bloomfile_live.h. Any number of threads may call
 * add(), remove(), sync() and lookups concurrently.
 *
 * Call finish() after the last add. The destructor also ends writing, but cannot report that the
 * last adds could not be written to disk. */
template <class Key = text, class Hasher = hasher<Key>>
class live_filter final : public lookups<Key, Hasher>
{
    using base = lookups<Key, Hasher>;
    using recipe = typename base::recipe;

  public:
    using argument = typename base::argument;
    using base::get;

    live_filter() noexcept = default;

    /* Opens an existing filter, as bloomfile_open() with BLOOMFILE_OPEN_WRITE. */
    explicit live_filter(path_arg path, live_flags flags = {}, on_error ec = {})
    {
        const unsigned all = static_cast<unsigned>(flags) | BLOOMFILE_OPEN_WRITE;
        this->open_these(bloomfile_from_path(path.c_str()), base::with(all), ec,
                         "open for writing");
    }
    live_filter(path_arg path, on_error ec) : live_filter(path, {}, ec)
    {
    }

    /* Makes a live filter, as bloomfile_create() and bloomfile_create_memory(). */
    static live_filter create(path_arg path, const bloomfile_params &p, live_flags flags = {},
                              on_error ec = {})
    {
        return make(p, ec, path.c_str(), [&](bloomfile_filter **f, const bloomfile_params *all) {
            return bloomfile_create(f, path.c_str(), all, static_cast<unsigned>(flags));
        });
    }
    static live_filter create_memory(const bloomfile_params &p, live_flags flags = {},
                                     on_error ec = {})
    {
        return make(p, ec, "a live filter in memory",
                    [&](bloomfile_filter **f, const bloomfile_params *all) {
                        return bloomfile_create_memory(f, all, static_cast<unsigned>(flags));
                    });
    }

    /* Takes over a filter that the C interface has created or opened for writing; after an error it
     * is closed. A filter that is open for reading is refused: BLOOMFILE_EREADONLY, _ESEALED. */
    static live_filter adopt(bloomfile_filter *f, on_error ec = {})
    {
        live_filter made;
        int error = f != nullptr ? bloomfile_add_digests(f, nullptr, 0, nullptr, nullptr, nullptr)
                                 : BLOOMFILE_EVALUE;
        if (error != BLOOMFILE_EREADONLY && error != BLOOMFILE_ESEALED)
            error = 0; /* such as BLOOMFILE_EPOISONED: lookups and rescue() go on */
        made.admit(f, error, ec, "use the live filter for these keys");
        return made;
    }

    /* Adds a key. Returns whether it was new, that is, whether the add changed the filter. After
     * BLOOMFILE_EFULL the key was not added; after another error it may have been. Either way it
     * counts as new, so that nothing is left undone. */
    bool add(argument key, on_error ec = {})
    {
        return add_digest(this->digest(key), ec);
    }
    bool add_digest(bloomfile_digest digest, on_error ec = {})
    {
        bool was_new = true;
        ec(with([&](bloomfile_filter *f) { return bloomfile_add_digest(f, digest, &was_new); }),
           adding);
        return was_new;
    }

    /* Adds all keys of a range (a container, an array, keys in braces), which is read once. Returns
     * how many were new. Sets was_new[i] for each key, as far as it goes, and *done (may be null)
     * to the number added. After an error the first *done keys were added, and all other keys are
     * reported as new. The same holds after an exception of the keys or their Hasher. After
     * BLOOMFILE_EFULL only the first *done keys were added. If no std::error_code is passed, it
     * throws add_error, which has `done`. */
    template <class Keys = typename recipe::list>
    std::size_t add_many(const Keys &keys, span<bool> was_new = {}, on_error ec = {},
                         std::size_t *done = nullptr)
    {
        std::size_t fresh = 0, ignored;
        std::size_t &added = done != nullptr ? *done : ignored;
        added = 0;
        std::error_code error;
        detail::presumed rest(was_new);
        (void)detail::each_chunk<recipe>(keys, this->how(),
                                         [&](const bloomfile_digest *digests, std::size_t n) {
                                             fresh += put(digests, n, rest.next(n), error, added);
                                             return std::error_code(); /* the rest counts as new */
                                         });
        rest.end();
#ifdef __cpp_exceptions
        if (error && ec.throws())
            throw add_error(error, adding, added);
#endif
        ec(error, adding);
        return fresh;
    }
    template <class Keys = typename recipe::list>
    std::size_t add_many(const Keys &keys, on_error ec, std::size_t *done = nullptr)
    {
        return add_many(keys, {}, ec, done);
    }

    /* Takes back one add of a key, in the counting layout: see bloomfile_remove(). */
    void remove(argument key, on_error ec = {})
    {
        const bloomfile_digest digest = this->digest(key);
        ec(with([&](bloomfile_filter *f) { return bloomfile_remove_digest(f, digest); }),
           "remove a key");
    }

    using watermark = std::array<std::uint8_t, BLOOMFILE_WATERMARK_SIZE>;

    /* Writes all adds to disk, so that they survive a crash of the machine: bloomfile_sync(). */
    void sync(on_error ec = {})
    {
        ec(with([](bloomfile_filter *f) { return bloomfile_sync(f, nullptr); }), syncing);
    }
    void sync(const watermark &mark, on_error ec = {})
    {
        ec(with([&](bloomfile_filter *f) { return bloomfile_sync(f, mark.data()); }), syncing);
    }

    /* Ends writing, like bloomfile_finish(). Lookups work as before, even after an error. */
    void finish(on_error ec = {})
    {
        const std::error_code error = with(bloomfile_finish);
        this->pin();
        ec(error, "finish a live filter");
    }

    /* Seals the filter in place, like bloomfile_seal(). */
    void seal(on_error ec = {})
    {
        const std::error_code error =
            with([](bloomfile_filter *f) { return bloomfile_seal(f, nullptr); });
        this->pin();
        ec(error, "seal a live filter");
    }

    /* copy_sealed() writes a sealed copy while adding goes on. rescue() writes the memory of a live
     * filter, which may be poisoned, to a new live file: see bloomfile_rescue(). */
    void copy_sealed(bloomfile_destination &to, on_error ec = {}) const
    {
        ec(with([&](bloomfile_filter *f) { return bloomfile_copy_sealed(&to, f, nullptr); }),
           "seal a copy as", to.kind == BLOOMFILE_TO_PATH ? to.path : "a filter");
    }
    void copy_sealed(bloomfile_destination &&to, on_error ec = {}) const
    {
        copy_sealed(to, ec);
    }
    void copy_sealed(path_arg path, write_flags flags = {}, on_error ec = {}) const
    {
        copy_sealed(bloomfile_to_path(path.c_str(), static_cast<unsigned>(flags)), ec);
    }
    void rescue(path_arg path, write_flags flags = {}, on_error ec = {}) const
    {
        ec(with([&](bloomfile_filter *f) {
               return bloomfile_rescue(path.c_str(), f, static_cast<unsigned>(flags));
           }),
           "save a live filter as", path.c_str());
    }

  private:
    static constexpr const char *adding = "add keys to a live filter";
    static constexpr const char *syncing = "write a live filter to disk";

    template <class Make>
    static live_filter make(bloomfile_params p, on_error ec, const char *what, Make how)
    {
        live_filter made;
        bloomfile_filter *f = nullptr;
        int error = recipe::complete(p);
        if (error == 0)
            error = how(&f, &p);
        made.admit(f, error, ec, "create", what);
        return made;
    }

    /* The result of a function of the C interface for the filter, if a filter is open. */
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
