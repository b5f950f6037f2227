// SPDX-License-Identifier: MIT
//
// The same through bloomfile.hpp, with error codes instead of exceptions.
#include <bloomfile.hpp>

#include <cstdio>

namespace
{

void publish(const char *path, std::error_code &ec)
{
    bloomfile::params params;
    params.fpr = 1e-6;
    params.label = "fruit";
    bloomfile::builder b(params, ec);
    b.add_many({ "apple", "pear", "quince" }, ec);
    b.write(path, bloomfile::write_flags::replace, ec);
}

} // namespace

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "fruit.bloom";
    std::error_code ec;
    publish(path, ec);
    const bloomfile::filter f(path, bloomfile::open_flags::verify_full, ec);
    if (ec) {
        std::fprintf(stderr, "%s: %s\n", path, ec.message().c_str());
        return 1;
    }
    const bloomfile_info info = f.info();
    std::printf("%s: %d keys, %d of 3 found, stone: %s\n", info.label, static_cast<int>(info.keys),
                static_cast<int>(f.contains_many({ "apple", "stone", "pear" })),
                f.contains("stone") ? "maybe" : "no");
    return 0;
}
