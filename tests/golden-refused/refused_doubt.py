# SPDX-License-Identifier: MIT
"""Results of readers in doubt (format-spec.md, section 14; app-hashes.md; ribbon.md 2): doubt.tsv.

Every file here that only a verification refuses has a row: a reader that does not verify gives these results."""

import pathlib

from craft import edit, field, flip, make, with_head
from craft_series import header as layer_header, live, sealed, split

import spec_reader
from spec_reader import layers_of, opened

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
COLUMNS = "file keys names name_errors maybes verify page maybes_verified".split()
URLS = (GOLDEN / "keys" / "urls.keys").read_bytes().splitlines()
FEW = (GOLDEN / "keys" / "few.keys").read_bytes().splitlines()
SHAPES = ("blocked", 144 * 512, 7), ("classic", 73727, 5), ("counting", 18431, 4), ("ribbon", 144 * 512, 0)
# The first list that fits is used. Every file of rule 12.4 has the bits of the keys in some list.
LISTS = "urls", "few", "half-first", "three", "none"


def several_pages(out):
    """Embedded images of three pages, the last one short, with keys in each page."""
    for layout, m, k in SHAPES:
        image = make(layout, m, k, URLS, embedded=True)
        H, page = 512, 4096
        first, second = image[H:H + page], image[H + page:H + 2 * page]
        out.add("EPAGE", "12.4", **{
            f"{layout}_first_page_is_zero": edit(image, at={H: bytes(page)}, checksums=False),
            f"{layout}_last_page_is_damaged": flip(image, H + 2 * page + 100),
            f"{layout}_two_pages_are_swapped": edit(image, at={H: second + first}, checksums=False)})
        out.add("EBODY", "12.4", **{f"{layout}_one_bit_too_many": edit(
            image, record={"ones": field(image, "ones", 0) + 1})})
    head = int.from_bytes(image[H + page:H + page + 8], "little")
    words = 16 * 64 - 2
    out.add("EBODY", "12.4", **{f"ribbon_of_a_head_with_{what}": with_head(image, 1, value)
            for what, value in (("bit_24", head | 1 << 24), ("1_block", head & ~0xFFFF | 1),
                                ("half_its_words_and_a_block", head & ~0xFFFF | words // 2 + 1))})


def several_layers(out):
    """Their first layer has two pages, and both layers have keys."""
    whole = sealed(live(layer_header(capacity=20, m=66 * 512, k=6), FEW))
    second = len(split(whole)[0])
    second += -second % 4096
    damaged = flip(whole, 4096 + 4096 + 20)
    tail = whole[second:]
    many = edit(tail, record={"ones": field(tail, "ones", 0) + 1})
    out.add("EPAGE", "12.4", first_layer_second_page_damaged=damaged,
            second_layer_page_is_zero=whole[:second + 4096] + bytes(4096) + whole[second + 8192:],
            first_layer_page_damaged_and_second_layer_ones_too_many=damaged[:second] + many)
    out.add("EBODY", "12.4", second_layer_of_all_keys_ones_too_many=whole[:second] + many)


def read(name, files):
    return files[name] if name in files else (GOLDEN / name).read_bytes()


def listed(name):
    return (GOLDEN / "keys" / name).read_bytes().splitlines()


def maybes(image, keys):
    return sum(image.maybe(key) for key in keys)


def keys_of(image):
    """The name of a list whose keys are all in the image."""
    return next(f"{name}.keys" for name in LISTS
                if all(image.maybe(key) for key in listed(f"{name}.keys")))


def row(name, files, keys=None, names=()):
    image = opened(read(name, files), name, knows_applications=True)
    errors = []
    for number, value in names:
        try:
            image.name(number, value)
            errors.append("-")
        except ValueError as refused:
            errors.append(str(refused).split()[1])
    keys = keys or keys_of(image)
    absent = listed(f"absent{pathlib.Path(keys).suffix}")
    before, error, page = maybes(image, absent), "-", "-"
    try:
        image.verify()
    except ValueError as refused:
        _, error, *rest = str(refused).split()
        page = rest[1] if rest else "-"
    return [name, f"keys/{keys}", ",".join(f"{number:08x} {value:016x}" for number, value in names) or "-",
            ",".join(errors) or "-", str(before), error, page, str(maybes(image, absent))]


def named(files):
    """Correct names, wrong names, no name, and several in turn. Every file is in an index too."""
    for name, keys in (("application-blocked", "few.digests"), ("application-classic", "few.digests"),
                       ("application-counting", "few.digests"), ("application-ribbon", "few.digests"),
                       ("application-slice-1", "few.digests"), ("series-application", "few.digests"),
                       ("blocked-embedded", "few.keys"), ("classic-file", "urls.keys"), ("series-3", "few.keys")):
        header = layers_of(opened(read(name + ".bloom", files), name, True))[0].header
        own = header["hash_id"], header["self_test"]
        other, same_number = (0x80000001, own[1]), (own[0], own[1] ^ 1)
        for names in (), (own,), (other,), (same_number,), (own, other), (same_number, own):
            yield row(name + ".bloom", files, keys, names)


def doubt(files, index):
    """The rows of doubt.tsv."""
    return [*(row(name, files) for name, _, rule in index if rule == "12.4"), *named(files)]
