// SPDX-License-Identifier: MIT
//
// The same in C++, with an owner for each handle.
extern "C" { // as programs do with C headers
#include <bloomfile.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
}
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

void check(int error)
{
    if (error != 0)
        throw std::runtime_error(bloomfile_strerror(error));
}

struct release {
    void operator()(bloomfile_filter *f) const
    {
        bloomfile_close(f);
    }
    void operator()(bloomfile_builder *b) const
    {
        bloomfile_builder_free(b);
    }
};

void publish(const std::string &path)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = BLOOMFILE_LAYOUT_CLASSIC;
    params.fpr = 1e-6;
    params.label = "fruit";
    bloomfile_builder *made;
    check(bloomfile_builder_new(&made, &params));
    const std::unique_ptr<bloomfile_builder, release> builder(made);
    for (const std::string key : { "apple", "pear", "quince" })
        check(bloomfile_builder_add(made, key.data(), key.size()));
    bloomfile_destination to = bloomfile_to_path(path.c_str(), BLOOMFILE_TO_REPLACE);
    check(bloomfile_builder_write(made, &to));
}

class filter
{
  public:
    explicit filter(const std::string &path)
    {
        bloomfile_filter *opened;
        check(bloomfile_open(&opened, path.c_str(), BLOOMFILE_OPEN_VERIFY_FULL));
        f.reset(opened);
    }

    std::size_t count(const std::vector<bloomfile_key> &keys) const
    {
        const std::unique_ptr<bool[]> maybe(new bool[keys.size()]);
        return bloomfile_contains_many(f.get(), keys.data(), keys.size(), maybe.get());
    }

    bool contains(const std::string &key) const
    {
        bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
        check(bloomfile_pin(f.get(), &pin));
        return bloomfile_pinned_contains_digest(
            &pin, bloomfile_pinned_digest(&pin, key.data(), key.size()));
    }

    bloomfile_info info() const
    {
        bloomfile_info i = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(f.get(), &i);
        return i;
    }

  private:
    std::unique_ptr<bloomfile_filter, release> f;
};

} // namespace

int main(int argc, char **argv)
{
    const std::string path = argc > 1 ? argv[1] : "fruit.bloom";
    try {
        publish(path);
        const filter f(path);
        const std::vector<bloomfile_key> keys = { { "apple", 5 }, { "stone", 5 }, { "pear", 4 } };
        std::cout << f.info().label << ": " << f.info().keys << " keys, " << f.count(keys) << " of "
                  << keys.size() << " found, stone: " << (f.contains("stone") ? "maybe" : "no")
                  << '\n';
    } catch (const std::exception &trouble) {
        std::cerr << path << ": " << trouble.what() << '\n';
        return 1;
    }
    return 0;
}
