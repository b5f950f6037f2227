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

/* What the library has no number for. Its own numbers are negative. */
enum class errc {
    closed = 1,     /* no filter is open here: opening failed, or it was moved from */
    other_keys = 2, /* the file does not say that its keys are those of this type */
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
        switch (static_cast<errc>(value)) {
        case errc::closed:
            return "no filter is open here: opening it failed, or it was moved from";
        case errc::other_keys:
            return "the file does not say that its keys are records of this size "
                   "(bloomfile::any_keys opens it all the same)";
        }
        return bloomfile_strerror(value);
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

/* That of BLOOMFILE_E* and errc. One object in the whole program, whatever its shared libraries
 * hide. */
BLOOMFILE_API inline const std::error_category &category() noexcept
{
    static const detail_of_errors::category_type it;
    return it;
}

inline std::error_code make_error_code(errc error) noexcept
{
    return std::error_code(static_cast<int>(error), category());
}

/* What a function of the C interface returned: 0, an errno (of std::generic_category(), so that it
 * compares with std::errc) or a BLOOMFILE_E*. */
inline std::error_code code(int error) noexcept
{
    return error == 0 ? std::error_code()
                      : std::error_code(error, error > 0 ? std::generic_category() : category());
}

#ifdef __cpp_exceptions

/* What is thrown. what(): "cannot open urls.bloom: not a filter file". */
class BLOOMFILE_API error : public std::system_error
{
  public:
    using std::system_error::system_error;
};

/* What live_filter::add_many() throws: the first `done` keys were added. */
class BLOOMFILE_API add_error : public error
{
  public:
    add_error(std::error_code result, const char *attempt, std::size_t added)
        : error(result, std::string("cannot ") + attempt), done(added)
    {
    }
    std::size_t done;
};

/* Throws unless `result` is none; `attempt` is what could not be done: "open", and to what. */
inline void throw_if(std::error_code result, const char *attempt, const char *path = "")
{
    if (result)
        throw error(result, std::string("cannot ") + attempt + (*path != '\0' ? " " : "") + path);
}

/* The same for what a function of the C interface returned. */
inline void throw_if(int result, const char *attempt, const char *path = "")
{
    throw_if(code(result), attempt, path);
}

#endif

} // namespace bloomfile

/* So BLOOMFILE_EPAGE and its like are std::error_codes: if (ec == BLOOMFILE_EPAGE). */
inline std::error_code make_error_code(bloomfile_error error) noexcept
{
    return bloomfile::code(error);
}

template <> struct std::is_error_code_enum<bloomfile_error> : std::true_type {
};
template <> struct std::is_error_code_enum<bloomfile::errc> : std::true_type {
};

#endif
