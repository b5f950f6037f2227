/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: an open filter, whatever its keys. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_HANDLE_HPP
#define BLOOMFILE_CPP_HANDLE_HPP

#include <bloomfile/error.hpp>
#include <bloomfile/keys.hpp>
#include <bloomfile_inline.h>

/* Lookups are compiled into callers that are compiled for processors with vectors. Other callers
 * call the library: see the costs in bloomfile_inline.h. */
#define BLOOMFILE_CPP_INLINED_ (BLOOMFILE_PINNED_INLINED_ != 0)

namespace bloomfile
{
inline namespace v1
{

/* Owns a handle of bloomfile_open(), and closes it. It can be moved, not copied.
 *
 * A handle that has been moved from, or could not be opened, answers "maybe" to every lookup, and
 * check() returns the reason. So a program that ignores an error reads more, and loses nothing.
 *
 * Any number of threads may call the const functions concurrently. Pass get() to the C
 * interface to fold, merge, join slices, patch or measure: these have no wrapper. */
class handle
{
  public:
    handle() noexcept = default;
    ~handle()
    {
        bloomfile_close(f_);
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;

    /* Whether a filter is open here. */
    explicit operator bool() const noexcept
    {
        return f_ != nullptr;
    }

    /* For the functions of the C interface; nullptr if no filter is open. release() gives up the
     * filter, and the caller must close it. */
    bloomfile_filter *get() const noexcept
    {
        return f_;
    }
    [[nodiscard]] bloomfile_filter *release() noexcept
    {
        bloomfile_filter *f = std::exchange(f_, nullptr);
        pin_ = BLOOMFILE_PINNED_INIT;
        why_ = make_error_code(errc::closed);
        return f;
    }

    /* Closes the filter. The handle answers "maybe" from then on. */
    void close() noexcept
    {
        bloomfile_close(release());
    }

    /* The first damage met on this handle, as bloomfile_damage(). If no filter is open, the reason.
     */
    std::error_code damage() const noexcept
    {
        return f_ != nullptr ? code(bloomfile_damage(f_)) : why_;
    }

    /* Like damage(), but first examines the file: see bloomfile_check(). */
    std::error_code check() const noexcept
    {
        return f_ != nullptr ? code(bloomfile_check(f_)) : why_;
    }

    /* Like bloomfile_recheck(): check() for answers already given. Call it before using them. */
    std::error_code recheck() const noexcept
    {
        return f_ != nullptr ? code(bloomfile_recheck(f_)) : why_;
    }

    /* Whether to open the path again: see bloomfile_is_stale(). */
    bool is_stale() const noexcept
    {
        return f_ != nullptr && bloomfile_is_stale(f_);
    }

    /* The seed of its digests. */
    std::uint64_t seed() const noexcept
    {
        return how_.seed;
    }

    /* The contents of the header; all zero if no filter is open. */
    bloomfile_info info() const noexcept
    {
        bloomfile_info all = BLOOMFILE_INFO_INIT;
        if (f_ != nullptr)
            bloomfile_get_info(f_, &all);
        return all;
    }

    /* Reads and checks the whole body, as bloomfile_verify(). */
    void verify(unsigned threads, bloomfile_fault *fault, on_error ec = {}) const
    {
        ec(f_ != nullptr ? code(bloomfile_verify(f_, threads, fault)) : why_, "verify the filter");
    }
    void verify(on_error ec = {}) const
    {
        verify(0, nullptr, ec);
    }

    /* Looks up a digest, made with the filter's seed and its hash function. Returns false if the
     * key is certainly not in the set. */
    [[nodiscard]] BLOOMFILE_CPP_PART_ bool contains_digest(bloomfile_digest digest) const noexcept
    {
        /* Like bloomfile_pinned_contains_digest(); a handle without a filter counts as a doubt, so
         * an open filter needs no test for it. */
        if constexpr (BLOOMFILE_CPP_INLINED_)
            if (bloomfile_pinned_sure_(&pin_)) {
                const uint8_t *block = bloomfile_block_of(pin_.body_, pin_.blocks_, digest);
                if (bloomfile_block_has(block, pin_.hashes_, digest))
                    return true;
                if (bloomfile_pinned_absent_(&pin_))
                    return false;
            }
        return f_ == nullptr || bloomfile_contains_digest(f_, digest);
    }

    /* Looks up a batch of digests, several times faster than one by one on filters larger than the
     * caches. Returns the number of hits; hits[i] is set for each, as far as `hits` goes. */
    BLOOMFILE_CPP_PART_ std::size_t contains_digests(span<const bloomfile_digest> digests,
                                                     span<bool> hits = {}) const noexcept
    {
        const std::size_t n = digests.size(), told = hits.size() < n ? hits.size() : n;
        if (__builtin_expect(told != n && told != 0, 0))
            return many(digests.data(), told, hits.data()) +
                   many(digests.data() + told, n - told, nullptr);
        return many(digests.data(), n, told != 0 ? hits.data() : nullptr);
    }

    /* Requests the cache line that a later lookup reads: see bloomfile_pinned_prefetch(). */
    BLOOMFILE_CPP_PART_ void prefetch_digest(bloomfile_digest digest) const noexcept
    {
        bloomfile_pinned_prefetch(&pin_, digest);
    }

  protected:
    /* Protected, so that a filter of one key type cannot be moved to a filter of another. */
    handle(handle &&other) noexcept
    {
        swap(other);
    }
    handle &operator=(handle &&other) noexcept
    {
        handle old(std::move(other));
        swap(old);
        return *this;
    }
    void swap(handle &other) noexcept
    {
        std::swap(f_, other.f_);
        std::swap(pin_, other.pin_);
        std::swap(how_, other.how_);
        std::swap(why_, other.why_);
    }

    /* Closes the open filter and takes ownership of `f`. If `ec` is an error, also closes `f`. */
    void take(bloomfile_filter *f, detail::hashing how, std::error_code ec) noexcept
    {
        close();
        why_ = ec;
        if (ec) {
            bloomfile_close(f);
            return;
        }
        f_ = f;
        how_ = how;
        pin();
    }

    const detail::hashing &how() const noexcept
    {
        return how_;
    }

    /* Pins the filter again, after its state has changed. */
    void pin() noexcept
    {
        pin_ = BLOOMFILE_PINNED_INIT;
        if (f_ != nullptr)
            bloomfile_pin(f_, &pin_);
    }

  private:
    BLOOMFILE_CPP_PART_ std::size_t many(const bloomfile_digest *digests, std::size_t n,
                                         bool *hits) const noexcept
    {
        if (__builtin_expect(f_ == nullptr, 0)) {
            for (std::size_t i = 0; hits != nullptr && i < n; i++)
                hits[i] = true;
            return n;
        }
        if constexpr (BLOOMFILE_CPP_INLINED_)
            return bloomfile_pinned_contains_digests(&pin_, digests, n, hits);
        else
            return bloomfile_contains_digests(f_, digests, n, hits);
    }

    bloomfile_filter *f_ = nullptr;
    bloomfile_pinned pin_ = BLOOMFILE_PINNED_INIT; /* answers "maybe" where no filter is open */
    detail::hashing how_;
    std::error_code why_ = make_error_code(errc::closed); /* no filter is open here */
};

} // namespace v1
} // namespace bloomfile

#endif
