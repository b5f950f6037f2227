/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: building. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_BUILDER_HPP
#define BLOOMFILE_CPP_BUILDER_HPP

#include <bloomfile/error.hpp>
#include <bloomfile/keys.hpp>

#include <atomic>

namespace bloomfile
{
inline namespace v1
{

/* The parameters of a filter: see bloomfile_params. params p; p.fpr = 0.001; */
struct params : bloomfile_params {
    params() noexcept : bloomfile_params(BLOOMFILE_PARAMS_INIT)
    {
    }
};

/* An embedded image in memory. Owns the memory, and frees it. */
class image
{
  public:
    image() noexcept = default;
    ~image()
    {
        bloomfile_free(data_);
    }
    image(const image &) = delete;
    image &operator=(const image &) = delete;
    image(image &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0))
    {
    }
    image &operator=(image &&other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    /* Takes ownership of memory that the C interface allocated for bloomfile_to_memory(). */
    image(void *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }

    const unsigned char *data() const noexcept
    {
        return static_cast<const unsigned char *>(data_);
    }
    std::size_t size() const noexcept
    {
        return size_;
    }

  private:
    void *data_ = nullptr;
    std::size_t size_ = 0;
};

/* How to write a file: the flags BLOOMFILE_TO_* of bloomfile_io.h. */
enum class write_flags : unsigned {
    replace = BLOOMFILE_TO_REPLACE,
};
template <> inline constexpr bool detail::is_flags_v<write_flags> = true;

/* Makes a sealed filter of Keys. Any number of threads may add concurrently if params.threads is
 * above 1. params.key_kind may name another kind that these keys fit, such as BLOOMFILE_KEYS_LOWER.
 *
 * After an add that failed, writing returns the same error and publishes nothing, because a filter
 * without that key would answer a wrong "no" for it. The error is ECANCELED if the keys or their
 * Hasher threw an exception. */
template <class Key = text, class Hasher = hasher<Key>> class builder
{
    using recipe = detail::recipe<Key, Hasher>;

  public:
    using key_type = Key;
    using argument = typename recipe::argument;

    explicit builder(const bloomfile_params &p, on_error ec = {})
    {
        ec(begin(p), "start to build a filter");
    }
    explicit builder(on_error ec = {}) : builder(params(), ec)
    {
    }
    ~builder()
    {
        bloomfile_builder_free(b_);
    }
    builder(const builder &) = delete;
    builder &operator=(const builder &) = delete;
    builder(builder &&other) noexcept
        : b_(std::exchange(other.b_, nullptr)), how_(other.how_), failed_(other.failed_.exchange(0))
    {
    }
    builder &operator=(builder &&other) noexcept
    {
        builder old(std::move(other));
        std::swap(b_, old.b_);
        std::swap(how_, old.how_);
        failed_ = old.failed_.exchange(failed_);
        return *this;
    }

    /* For the functions of the C interface; nullptr after an error or a move. */
    bloomfile_builder *get() const noexcept
    {
        return b_;
    }

    /* The seed of its digests. */
    std::uint64_t seed() const noexcept
    {
        return how_.seed;
    }
    bloomfile_digest digest(argument key) const
    {
        return recipe::digest(key, how_);
    }

    void add(argument key, on_error ec = {})
    {
        unfinished adding_one(failed_);
        const bloomfile_digest one = digest(key);
        const std::error_code error = put(&one, 1);
        adding_one.end();
        ec(error, adding);
    }

    /* Adds all keys of a range (a container, an array, keys in braces), which is read once. */
    template <class Keys = typename recipe::list> void add_many(const Keys &keys, on_error ec = {})
    {
        unfinished adding_some(failed_);
        const std::error_code error = detail::each_chunk<recipe>(
            keys, how_, [&](const bloomfile_digest *all, std::size_t n) { return put(all, n); });
        adding_some.end();
        ec(error, adding);
    }

    /* Adds digests that digest() returned. */
    void add_digests(span<const bloomfile_digest> digests, on_error ec = {})
    {
        ec(put(digests.data(), digests.size()), adding);
    }

    /* Returns the number of distinct keys so far, as bloomfile_builder_count(). */
    std::uint64_t count(on_error ec = {})
    {
        std::uint64_t n = 0;
        std::error_code error = state();
        if (!error)
            error = code(bloomfile_builder_count(b_, &n));
        ec(error, "count the keys");
        return n;
    }

    /* Replaces params.tag, as bloomfile_builder_set_tag(). */
    void set_tag(const std::array<std::uint8_t, BLOOMFILE_TAG_SIZE> &tag) noexcept
    {
        if (b_ != nullptr)
            bloomfile_builder_set_tag(b_, tag.data());
    }

    /* Builds the filter and writes it to a destination, to a file, or to new memory. The builder
     * may then add more keys and write again. */
    void write(bloomfile_destination &to, on_error ec = {})
    {
        std::error_code error = state();
        if (!error)
            error = code(bloomfile_builder_write(b_, &to));
        ec(error, "build", to.kind == BLOOMFILE_TO_PATH ? to.path : "a filter");
    }
    void write(bloomfile_destination &&to, on_error ec = {})
    {
        write(to, ec);
    }
    void write(path_arg path, write_flags flags = {}, on_error ec = {})
    {
        write(bloomfile_to_path(path.c_str(), static_cast<unsigned>(flags)), ec);
    }
    void write(path_arg path, on_error ec)
    {
        write(path, {}, ec);
    }
    image write_memory(on_error ec = {})
    {
        bloomfile_destination to = bloomfile_to_memory();
        write(to, ec);
        return image(to.memory, to.size);
    }

  private:
    /* A guard that records ECANCELED if an exception leaves an add. */
    class unfinished
    {
      public:
        explicit unfinished(std::atomic<int> &failed) noexcept : failed_(failed)
        {
        }
        ~unfinished()
        {
            int none = 0;
            if (!ended_)
                failed_.compare_exchange_strong(none, ECANCELED);
        }
        unfinished(const unfinished &) = delete;
        unfinished &operator=(const unfinished &) = delete;

        void end() noexcept
        {
            ended_ = true;
        }

      private:
        std::atomic<int> &failed_;
        bool ended_ = false;
    };

    static constexpr const char *adding = "add keys to a filter that is built";

    std::error_code begin(bloomfile_params p)
    {
        int error = recipe::complete(p);
        if (error == 0)
            error = bloomfile_builder_new(&b_, &p);
        how_ = recipe::of(p);
        failed_ = error;
        return code(error);
    }

    /* Returns the error because of which the builder cannot finish. */
    std::error_code state() const noexcept
    {
        const int error = failed_;
        return error == 0 && b_ == nullptr ? make_error_code(errc::closed) : code(error);
    }

    std::error_code put(const bloomfile_digest *digests, std::size_t n) noexcept
    {
        if (b_ == nullptr)
            return state();
        return code(bloomfile_builder_add_digests(b_, digests, n));
    }

    bloomfile_builder *b_ = nullptr;
    detail::hashing how_;
    std::atomic<int> failed_ = 0; /* the error of creating the builder, or ECANCELED */
};

} // namespace v1
} // namespace bloomfile

#endif
