/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++: errors. Include bloomfile.hpp.
 */
#ifndef BLOOMFILE_CPP_ERROR_HPP
#define BLOOMFILE_CPP_ERROR_HPP

#include <bloomfile.h>

#include <string>
#include <system_error>
#include <type_traits>

namespace bloomfile
{

/* Errors beyond those of the library, whose numbers are negative. */
enum class errc {
    closed = 1, /* no filter is open here: opening failed, or it was moved from */
};

namespace detail_of_errors
{

class category_type final : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "bloomfile";
    }

    std::string message(int value) const override
    {
        return value == static_cast<int>(errc::closed)
                   ? "no filter is open here: opening it failed, or it was moved from"
                   : bloomfile_strerror(value);
    }

    std::error_condition default_error_condition(int value) const noexcept override
    {
        if (bloomfile_error_kind(value) == BLOOMFILE_KIND_USAGE)
            return std::errc::invalid_argument;
        if (value == static_cast<int>(errc::closed))
            return std::errc::bad_file_descriptor;
        return std::error_condition(value, *this);
    }
};

} // namespace detail_of_errors

/* The category of BLOOMFILE_E* and errc. A program has only one, even if libraries hide symbols. */
BLOOMFILE_API inline const std::error_category &category() noexcept
{
    static const detail_of_errors::category_type it;
    return it;
}

inline std::error_code make_error_code(errc error) noexcept
{
    return std::error_code(static_cast<int>(error), category());
}

/* The result of a function of the C interface as a std::error_code: 0, an errno (of
 * std::generic_category(), so that it compares with std::errc) or a BLOOMFILE_E*. */
inline std::error_code code(int error) noexcept
{
    return error == 0 ? std::error_code()
                      : std::error_code(error, error > 0 ? std::generic_category() : category());
}

#ifdef __cpp_exceptions

/* The exception of all functions. what(): "cannot open urls.bloom: not a filter file". */
class BLOOMFILE_API error : public std::system_error
{
  public:
    using std::system_error::system_error;
};

/* The exception of live_filter::add_many(): the first `done` keys were added. */
class BLOOMFILE_API add_error : public error
{
  public:
    add_error(std::error_code result, const char *attempt, std::size_t added)
        : error(result, std::string("cannot ") + attempt), done(added)
    {
    }
    std::size_t done;
};

/* Throws if `result` is an error. `attempt` is the verb of the message, and `path` its object. */
inline void throw_if(std::error_code result, const char *attempt, const char *path = "")
{
    if (result)
        throw error(result, std::string("cannot ") + attempt + (*path != '\0' ? " " : "") + path);
}

/* The same for a result of the C interface. */
inline void throw_if(int result, const char *attempt, const char *path = "")
{
    throw_if(code(result), attempt, path);
}

#endif

/* Where an error goes: to the caller's std::error_code, which is set or cleared. A call that omits
 * it throws bloomfile::error; if exceptions are switched off, such a call does not compile. */
class on_error
{
  public:
#ifdef __cpp_exceptions
    on_error() noexcept = default;
#else
    __attribute__((error("bloomfile: without exceptions, pass a std::error_code"))) on_error();
#endif
    on_error(std::error_code &ec) noexcept : ec_(&ec)
    {
    }

    bool throws() const noexcept
    {
        return ec_ == nullptr;
    }
    void operator()(std::error_code result, const char *attempt, const char *path = "") const
    {
        if (ec_ != nullptr)
            *ec_ = result;
#ifdef __cpp_exceptions
        else
            throw_if(result, attempt, path);
#else
        (void)attempt, (void)path;
#endif
    }

  private:
    std::error_code *ec_ = nullptr;
};

} // namespace bloomfile

/* Makes BLOOMFILE_E* comparable with std::error_code: if (ec == BLOOMFILE_EPAGE). */
inline std::error_code make_error_code(bloomfile_error error) noexcept
{
    return bloomfile::code(error);
}

template <> struct std::is_error_code_enum<bloomfile_error> : std::true_type {
};
template <> struct std::is_error_code_enum<bloomfile::errc> : std::true_type {
};

#endif
