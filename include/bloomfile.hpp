/* SPDX-License-Identifier: MIT
 *
 * bloomfile in C++17 and later: owners, typed keys and flags, errors as codes or exceptions
 *
 *     bloomfile::params p;
 *     p.fpr = 0.001;
 *     bloomfile::builder b(p);
 *     b.add("apple");
 *     b.write("fruit.bloom", bloomfile::write_flags::replace);
 *
 *     const bloomfile::filter f("fruit.bloom"); // throws bloomfile::error
 *     if (f.contains(name))         // any string
 *         look_it_up_on_disk(name); // maybe there; false: certainly not
 *
 *     std::error_code ec; // or without exceptions
 *     const bloomfile::filter<std::uint64_t> g("orders.bloom", ec);
 *     if (ec == std::errc::no_such_file_or_directory)
 *         build_it();
 *
 * These headers use the C interface. Its comments describe each function, its errors and flags, and
 * the rules for threads. A function that can fail takes a std::error_code as an optional last
 * argument; otherwise it throws. -fno-exceptions and -fno-rtti are supported. The parts:
 *
 *     bloomfile::builder, filter, live_filter<Key, Hasher>
 *                                      bloomfile/builder, filter, live.hpp
 *     types of keys                    bloomfile/keys.hpp
 *     open filters of any keys         bloomfile/handle.hpp
 *     filters in a few bytes           bloomfile/view.hpp
 *     std::error_code, exceptions      bloomfile/error.hpp
 *
 * After an error, or when it was moved from, a filter answers "maybe". A file is refused if its
 * keys are of another kind than the type.
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
