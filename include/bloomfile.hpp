/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++17 and later: owners, keys of any type, errors as codes or exceptions
 *
 *     bloomfile::params p;
 *     p.fpr = 0.001;
 *     bloomfile::builder b(p);
 *     b.add("apple");
 *     b.write("fruit.bloom", BLOOMFILE_TO_REPLACE);
 *
 *     const bloomfile::filter f("fruit.bloom"); // throws bloomfile::error
 *     if (f.contains(name))         // any string, any slice of bytes
 *         look_it_up_on_disk(name); // maybe there; false: certainly not
 *
 *     std::error_code ec; // or without exceptions, as std::filesystem does
 *     const bloomfile::filter<std::uint64_t> g("orders.bloom", ec);
 *     if (ec == std::errc::no_such_file_or_directory)
 *         build_it();
 *
 * All of it is in these headers, on the C interface, whose comments tell what each function does,
 * its errors and flags, and what is safe in threads. It needs no exceptions and no run-time types
 * (-fno-exceptions, -fno-rtti): what throws is not there then. Its parts:
 *
 *     bloomfile::builder, filter, live_filter<Key, Hasher>
 *                                      bloomfile/builder, filter, live.hpp
 *     what a key is                    bloomfile/keys.hpp
 *     what handles have in common      bloomfile/handle.hpp
 *     filters in a few bytes           bloomfile/view.hpp
 *     std::error_code, exceptions      bloomfile/error.hpp
 *
 * A filter that could not be opened, and one that was moved from, answer "maybe". A filter of other
 * keys than the type says is refused when it is opened.
 */
#ifndef BLOOMFILE_HPP
#define BLOOMFILE_HPP

#if !defined __cplusplus || __cplusplus < 201703L
#error "bloomfile.hpp needs C++17 (-std=c++17); bloomfile.h does with C++11"
#endif

#include <bloomfile/builder.hpp>
#include <bloomfile/error.hpp>
#include <bloomfile/filter.hpp>
#include <bloomfile/handle.hpp>
#include <bloomfile/keys.hpp>
#include <bloomfile/live.hpp>
#include <bloomfile/view.hpp>

#endif
