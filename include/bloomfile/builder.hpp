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

/* The parameters of bloomfile.h, which explains them: params p; p.fpr = 0.001; */
struct params : bloomfile_params {
    params() noexcept : bloomfile_params(BLOOMFILE_PARAMS_INIT)
    {
    }
};

/* An embedded image in memory, which is freed with it. */
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
        image old(std::move(other));
        std::swap(data_, old.data_);
        std::swap(size_, old.size_);
        return *this;
    }

    /* Takes memory that a function of the C interface has made for bloomfile_to_memory(). */
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

/* Makes a sealed filter of Keys. With params.threads above 1 any number of threads may add at once.
 *
 * An add that failed is not forgotten: a filter that lacks a key would say a wrong "no" to it, so
 * writing returns the same error then, and publishes nothing. If the keys or their Hasher threw
 * an exception, that is ECANCELED. */
template <class Key = bytes, class Hasher = hasher<Key>> class builder
{
    using recipe = detail::recipe<Key, Hasher>;

  public:
    using key_type = Key;
    using argument = typename recipe::argument;

    builder(const bloomfile_params &p, std::error_code &ec)
    {
        ec = begin(p);
    }
    explicit builder(std::error_code &ec) : builder(params(), ec)
    {
    }
    ~builder()
    {
        bloomfile_builder_free(b_);
    }
    builder(const builder &) = delete;
    builder &operator=(const builder &) = delete;
    builder(builder &&other) noexcept
        : b_(std::exchange(other.b_, nullptr)), seed_(other.seed_),
          failed_(other.failed_.exchange(0))
    {
    }
    builder &operator=(builder &&other) noexcept
    {
        builder old(std::move(other));
        std::swap(b_, old.b_);
        std::swap(seed_, old.seed_);
        failed_ = old.failed_.exchange(failed_);
        return *this;
    }

    /* For the functions of the C interface; nullptr if there is none. */
    bloomfile_builder *get() const noexcept
    {
        return b_;
    }

    /* That of its digests. */
    std::uint64_t seed() const noexcept
    {
        return seed_;
    }
    bloomfile_digest digest(argument key) const
    {
        return recipe::digest(key, seed_);
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    bloomfile_digest digest(const Other &) const = delete;

    void add(argument key, std::error_code &ec)
    {
        unfinished adding_one(failed_);
        const bloomfile_digest one = digest(key);
        ec = put(&one, 1);
        adding_one.end();
    }

    template <class Other, class = detail::if_other_number_t<argument, Other>>
    void add(const Other &, std::error_code &ec) = delete;

    /* All keys of a range (a container, an array), which is read once. */
    template <class Keys> void add_many(const Keys &keys, std::error_code &ec)
    {
        unfinished adding_some(failed_);
        ec = detail::each_chunk<recipe>(
            keys, seed_, [&](const bloomfile_digest *all, std::size_t n) { return put(all, n); });
        adding_some.end();
    }
    void add_many(std::initializer_list<Key> keys, std::error_code &ec)
    {
        add_many<std::initializer_list<Key>>(keys, ec);
    }

    /* Digests of keys, made by digest(). */
    void add_digests(span<const bloomfile_digest> digests, std::error_code &ec) noexcept
    {
        ec = put(digests.data(), digests.size());
    }

    /* How many distinct keys there are so far. Reads them all. */
    std::uint64_t count(std::error_code &ec) noexcept
    {
        std::uint64_t n = 0;
        ec = state();
        if (!ec)
            ec = code(bloomfile_builder_count(b_, &n));
        return n;
    }

    /* Replaces the tag of the params, for an identity that is known only after the last row. */
    void set_tag(const std::array<std::uint8_t, BLOOMFILE_TAG_SIZE> &tag) noexcept
    {
        if (b_ != nullptr)
            bloomfile_builder_set_tag(b_, tag.data());
    }

    /* Writes the filter, as bloomfile_builder_write(): to a path, to any destination
     * (bloomfile_to_fd() and the others), or to an image in memory. The builder may go on. */
    void write(bloomfile_destination &to, std::error_code &ec) noexcept
    {
        ec = state();
        if (!ec)
            ec = code(bloomfile_builder_write(b_, &to));
    }
    void write(bloomfile_destination &&to, std::error_code &ec) noexcept
    {
        write(to, ec);
    }
    void write(path_arg path, flag_bits flags, std::error_code &ec) noexcept
    {
        write(bloomfile_to_path(path.c_str(), flags), ec);
    }
    void write(path_arg path, std::error_code &ec) noexcept
    {
        write(path, {}, ec);
    }
    image write_memory(std::error_code &ec) noexcept
    {
        bloomfile_destination to = bloomfile_to_memory();
        write(to, ec);
        return image(to.memory, to.size);
    }

#ifdef __cpp_exceptions
    explicit builder(const bloomfile_params &p = params())
    {
        throw_if(begin(p), "start to build a filter");
    }
    void add(argument key)
    {
        std::error_code ec;
        add(key, ec);
        throw_if(ec, adding);
    }
    template <class Other, class = detail::if_other_number_t<argument, Other>>
    void add(const Other &) = delete;
    template <class Keys> void add_many(const Keys &keys)
    {
        std::error_code ec;
        add_many(keys, ec);
        throw_if(ec, adding);
    }
    void add_many(std::initializer_list<Key> keys)
    {
        add_many<std::initializer_list<Key>>(keys);
    }
    void add_digests(span<const bloomfile_digest> digests)
    {
        throw_if(put(digests.data(), digests.size()), adding);
    }
    std::uint64_t count()
    {
        std::error_code ec;
        const std::uint64_t n = count(ec);
        throw_if(ec, "count the keys");
        return n;
    }
    void write(path_arg path, flag_bits flags = {})
    {
        std::error_code ec;
        write(path, flags, ec);
        throw_if(ec, "build", path.c_str());
    }
    void write(bloomfile_destination &to)
    {
        std::error_code ec;
        write(to, ec);
        throw_if(ec, "build a filter");
    }
    void write(bloomfile_destination &&to)
    {
        write(to);
    }
    image write_memory()
    {
        std::error_code ec;
        image made = write_memory(ec);
        throw_if(ec, "build a filter in memory");
        return made;
    }
#endif

  private:
    /* Notes that an exception left an add. */
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
        seed_ = p.seed;
        failed_ = error;
        return code(error);
    }

    /* Why it cannot finish. */
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
    std::uint64_t seed_ = 0;
    std::atomic<int> failed_ = 0; /* how it began, or ECANCELED */
};

} // namespace v1
} // namespace bloomfile

#endif
