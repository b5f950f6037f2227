/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: filters without a file. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_VIEW_HPP
#define BLOOMFILE_CPP_VIEW_HPP

#include <bloomfile/error.hpp>
#include <bloomfile/keys.hpp>
#include <bloomfile_view.h>

namespace bloomfile
{
inline namespace v1
{

/* The shape of filters whose bytes belong to the caller, see bloomfile_view.h. Small, and cheap to
 * copy. Memory smaller than the shape needs is never read or written: lookups answer "maybe", and
 * adding returns errc::closed. The same holds for a view without a shape. */
class view
{
  public:
    view() noexcept = default;

    /* The shape for n keys at a rate, as bloomfile_view_for(); layout 0: the best for the size. */
    view(std::uint64_t n, double fpr, std::uint32_t layout, on_error ec = {})
    {
        ec(code(find(n, fpr, layout)), "size a filter");
    }
    view(std::uint64_t n, double fpr, on_error ec = {}) : view(n, fpr, 0, ec)
    {
    }

    /* The shape of a compact form, as bloomfile_view_open(), which verifies its checksum and that
     * it was made with this seed. `blob` is the body of the calls below. */
    static view of(bytes blob, std::uint64_t seed, on_error ec = {})
    {
        view found;
        ec(code(bloomfile_view_open(&found.shape_, seed, blob.data(), blob.size())),
           "open a compact filter");
        return found;
    }

    /* For the functions of the C interface. */
    const bloomfile_view &get() const noexcept
    {
        return shape_;
    }

    /* Bytes of a body, and of a compact form, which has a trailer after it. */
    std::size_t size() const noexcept
    {
        return shape_.size;
    }
    std::size_t compact_size() const noexcept
    {
        return shape_.size + BLOOMFILE_TRAILER_SIZE;
    }

    /* Adds digests, made by bloomfile_hash(), to a body that was all zeros before the first. */
    void add_digests(span<unsigned char> body, span<const bloomfile_digest> digests,
                     on_error ec = {}) const
    {
        const bool fit = fits(body.size(), 0);
        if (fit)
            bloomfile_view_add_digests(&shape_, body.data(), digests.data(), digests.size());
        ec(fit ? std::error_code() : make_error_code(errc::closed), "add keys to a compact filter");
    }

    /* Makes the compact form of a body whose digests were made with that seed. */
    void seal(span<unsigned char> blob, std::uint64_t seed, on_error ec = {}) const
    {
        const bool fit = fits(blob.size(), BLOOMFILE_TRAILER_SIZE);
        if (fit)
            bloomfile_view_write_trailer(&shape_, seed, blob.data());
        ec(fit ? std::error_code() : make_error_code(errc::closed), "seal a compact filter");
    }

    /* Returns false if the key of this digest was certainly not added. */
    [[nodiscard]] bool contains_digest(bytes body, bloomfile_digest digest) const noexcept
    {
        return !fits(body.size(), 0) ||
               bloomfile_view_contains_digest(&shape_, body.data(), digest);
    }

    /* Looks up a key, hashed with that seed. */
    [[nodiscard]] bool contains(bytes body, std::uint64_t seed, bytes key) const noexcept
    {
        return contains_digest(body, bloomfile_hash(seed, key.data(), key.size()));
    }

  private:
    int find(std::uint64_t n, double fpr, std::uint32_t layout) noexcept
    {
        bloomfile_size size = BLOOMFILE_SIZE_INIT;
        size.layout = layout;
        size.keys = n;
        size.fpr = fpr;
        return bloomfile_view_for(&shape_, &size);
    }

    bool fits(std::size_t size, std::size_t more) const noexcept
    {
        return shape_.size != 0 && size >= more && size - more >= shape_.size;
    }

    bloomfile_view shape_ = {};
};

} // namespace v1
} // namespace bloomfile

#endif
