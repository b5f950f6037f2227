#!/bin/sh
# SPDX-License-Identifier: MIT
# test_consumers.sh BUILD SOURCE: programs that use the installed library, found by pkg-config: shared and static, in
# several versions of C and C++, with each installed compiler, and with meson; and code that bloomfile.hpp must refuse.
. "$(dirname "$0")/installed.sh"

fail() {
    echo "$*"
    exit 1
}

# runs PROGRAM: its output must be a consumer's
runs() {
    "$1" "$work/fruit.bloom" >got || fail "$name: exit status $?"
    echo 'fruit: 3 keys, 2 of 3 found, stone: no' | cmp - got || fail "$name answers wrongly"
    rm "$work/fruit.bloom"
}

# compiles NAME COMMAND...
compiles() {
    name=$1
    shift
    "$@" -o consumer -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual \
        -Wundef -Wwrite-strings -Wredundant-decls -Wformat=2 -Werror ${SANITIZE-} ||
        fail "$name does not build"
}

# builds NAME COMMAND...: a consumer
builds() {
    compiles "$@"
    runs ./consumer
}

c=$source/tests/nightly/consumers/consumer.c cc=$source/tests/nightly/consumers/consumer.cc
header=$source/tests/nightly/consumers/header.cc plus=$source/tests/unit/test_cplusplus.cc
for_c='-Wstrict-prototypes -Wmissing-prototypes -Wc++-compat'
for_cc='-Wold-style-cast -Wzero-as-null-pointer-constant -Woverloaded-virtual'

[ "$(pkg-config --print-requires bloomfile)" = "" ] || fail "a shared library asks for others"
[ "$(pkg-config --print-requires-private bloomfile | sed 's/ .*//' | sort | xargs)" = "libdeflate" ] ||
    fail "Requires.private is not that of the static library"
shared=$(pkg-config --cflags --libs bloomfile)
static=$(pkg-config --cflags --libs --static bloomfile)
case $shared in *-lz* | *-lm*) fail "programs are told to link what the library does: $shared" ;; esac
archive=$(echo "$static" | sed 's/-lbloomfile/-l:libbloomfile.a/')

# alone PATTERN COMPILER OPTION...: each header compiles alone, without a warning.
alone() {
    pattern=$1
    shift
    for one in $(cd "$headers" && ls $pattern); do
        echo "#include <$one>" | "$@" -I"$headers" -Wall -Wextra -Wpedantic -Wconversion \
            -Wshadow -Wundef -Wredundant-decls -Werror -fsyntax-only - || fail "$*: $one cannot stand alone"
    done
}

# Functions that bloomfile.hpp compiles into the caller must not be visible to a linker, not even by their address: they
# contain instructions of this processor.
cat >address.cc <<'END'
#include <bloomfile.hpp>
using filter = bloomfile::filter<std::uint64_t>;
bool (filter::*one)(bloomfile::integer) const = &filter::contains;
bool (filter::*digest)(bloomfile_digest) const noexcept = &filter::contains_digest;
std::size_t (filter::*many)(const std::array<std::uint64_t, 2> &, bloomfile::span<bool>) const = &filter::contains_many;
bloomfile::answers (bloomfile::filter<std::uint64_t>::*each)(const std::array<std::uint64_t, 2> &) const = &filter::contains_each;
void (filter::*prefetch)(bloomfile_digest) const noexcept = &filter::prefetch_digest;
END

# no_shared_lookups C++-COMPILER
no_shared_lookups() {
    for level in -O0 -O2; do
        "$1" -std=c++17 $level -march=native -I"$headers" -c address.cc -o address.o || fail "$1: address.cc"
        nm -C address.o >symbols
        grep -q 'lookups.*::contains' symbols || { cat symbols; fail "$1: no lookups in address.o"; }
        ! grep '^[0-9a-f]* *[TWVu] .*\(contains\|prefetch\|presumed\|each_chunk\)' symbols ||
            fail "$1, $level: other objects could get these functions"
    done
}

# all C-COMPILER C++-COMPILER
all() {
    alone 'bloomfile*.h' "$1" -xc -std=c99 -Wc++-compat -Wstrict-prototypes
    alone 'bloomfile*.h' "$2" -xc++ -std=c++11 -Wold-style-cast -Wzero-as-null-pointer-constant
    alone 'bloomfile/*.hpp' "$2" -xc++ -std=c++17 -Wold-style-cast -Wzero-as-null-pointer-constant
    for std in c99 c11 gnu17; do
        builds "$1, $std, shared" $1 -std=$std $for_c "$c" $shared
    done
    for std in c++11 c++17 c++20; do
        builds "$2, $std, shared" $2 -std=$std $for_cc "$cc" $shared
    done
    for std in c++17 c++2b; do
        builds "$2, $std, bloomfile.hpp without exceptions" $2 -std=$std -fno-exceptions -fno-rtti $for_cc "$header" $shared
    done
    # gcc aligns AddressSanitizer's stack to 32 bytes; AVX-512 needs 64.
    native=-march=native
    [ -z "${SANITIZE-}" ] || [ "$(uname -m)" != x86_64 ] || native="$native -mno-avx512f"
    compiles "$2, for this processor, tests of bloomfile.hpp" $2 -std=c++20 -pthread $native $for_cc "$plus" $shared
    ./consumer || fail "$name: they fail"
    no_shared_lookups "$2"
    builds "$1, for this processor" $1 -std=c11 -O2 -march=native $for_c "$c" $shared
    builds "$2, for this processor" $2 -std=c++17 -O2 -march=native $for_cc "$cc" $shared
    builds "$1, static" $1 -std=c11 $for_c "$c" $archive
    builds "$2, static" $2 -std=c++17 $for_cc "$cc" $archive
    builds "$2, static, bloomfile.hpp" $2 -std=c++17 $for_cc "$header" $archive
    readelf -d consumer | grep -q 'NEEDED.*bloomfile' && fail "$name needs the shared library"
    if [ -n "${SANITIZE-}" ]; then
        echo "$1: no program of static libraries alone with a sanitizer"
    elif [ ! -e "$($1 -print-file-name=libdeflate.a)" ]; then
        echo "$1: no program of static libraries alone, as libdeflate.a is missing"
    else
        builds "$1, all static" $1 -std=c11 -static $for_c "$c" $static
    fi
    echo "$1 and $2: good"
}

for compilers in "gcc g++" "clang clang++"; do
    set -- $compilers
    if ! command -v "$1" >/dev/null || ! command -v "$2" >/dev/null; then
        echo "$1 or $2 is not here: left out"
    elif [ -n "${SANITIZE-}" ] && [ "$1" != "${CC:-cc}" ]; then
        echo "$1 would bring another sanitizer: left out"
    else
        all "$1" "$2"
    fi
done

# Keys without a defined byte representation, and hash functions without a name for files.
cat >wrong.cc <<'END'
#include <bloomfile.hpp>
#include <functional>
#include <vector>
struct padded { int i; char c; };
struct nameless { static std::uint64_t digest_of(int, std::uint64_t) { return 0; } };
struct own_bytes { static auto bytes_of(const padded &p) { return bloomfile::packed(p.i, p.c); } };
struct low { static constexpr unsigned id = 7; static padded example() { return {}; }
             static auto bytes_of(const padded &p) { return bloomfile::packed(p.i, p.c); } };
struct lone { static constexpr unsigned id = BLOOMFILE_APP_HASH_FIRST;
              static auto bytes_of(const padded &p) { return bloomfile::packed(p.i, p.c); } };
struct uneven { static constexpr auto kind = BLOOMFILE_KEYS_FIXED;
                static std::string bytes_of(const padded &) { return ""; } };
struct narrow { static constexpr auto kind = BLOOMFILE_KEYS_INTEGERS;
                static auto bytes_of(const padded &p) { return bloomfile::packed(p.i); } };
struct other_kind { static constexpr unsigned kind = 6;
                    static auto bytes_of(const padded &p) { return bloomfile::packed(p.i); } };
template <class Key, class... Hasher> constexpr std::size_t size = sizeof(bloomfile::filter<Key, Hasher...>);
auto a = size<padded> + size<float> + size<bool> + size<char> + size<const char *> + size<int, std::hash<int>> +
         size<int, nameless> + size<padded, own_bytes> + size<padded, low> + size<padded, lone> + size<padded, uneven> +
         size<padded, narrow> + size<padded, other_kind>;
auto b = bloomfile::packed(1.5);
auto c = bloomfile::filter<std::uint64_t>().contains_many(std::vector<double>());
auto d = bloomfile::filter<std::uint64_t>().contains(5.5);
bloomfile::filter<> e("e", 1u);
END
! "${CXX:-c++}" -std=c++17 -I"$headers" -fsyntax-only wrong.cc 2>errors || fail "wrong.cc: compiles"
tr -s '\n' ' ' <errors >said
for words in 'hasher<padded.*Name a Hasher' 'hasher<float' 'hasher<bool' 'hasher<char' 'hasher<.*char.*\*' \
    'std::hash is none' 'hash function of your own needs an `id`' 'or a `kind`, if all programs agree' \
    'an `id` is BLOOMFILE_APP_HASH_FIRST or above' 'has a static example()' 'FIXED returns a std::array' \
    'INTEGERS returns a std::array of 8' 'a `kind` is BLOOMFILE_KEYS_TEXT' 'floating point has two zeros' \
    'elements of this range are not keys' 'integer' 'filter<>::filter\|open_flags'; do
    grep -q -- "$words" said || { cat errors; fail "not said: $words"; }
done
echo "what does not compile: good"

name=meson
meson setup meson "$source/tests/nightly/consumers" --wrap-mode=nofallback --buildtype=plain \
    -Db_sanitize="$(echo "${SANITIZE:-none}" | sed 's/-fsanitize=//')" -Db_lundef=false >log &&
    ninja -C meson >>log || { cat log; fail "meson cannot build"; }
runs meson/consumer-c
runs meson/consumer-cpp
runs meson/consumer-header
echo "meson: good"
