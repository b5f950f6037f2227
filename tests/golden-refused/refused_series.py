# SPDX-License-Identifier: MIT
"""Series that must be refused (doc/format/slices.md 2): layers, sealed series and live series."""

from craft import LIVE, POISONED, edit, field, flip, make
from craft_series import (SUCCEEDED, as_layer, header as layer_header, joined, live, relinked,
                          sealed, split)
from spec_series import packed

KEYS = [b"bloomfile", b"", b"\x80\x1d\xba"]
IN_FILE = make("classic", 100, 3, KEYS)
IN_USE = {"state": LIVE, "sequence": 7, "body_crc": 0, "boot_id": bytes(range(16)),
          "identity": bytes(range(0x50, 0x60))}
ONE = sealed(live(layer_header(), KEYS))
THREE = split(sealed(live(layer_header(capacity=1), [b"%d" % i for i in range(7)], layers=3)))
TWO = split(sealed(live(layer_header(capacity=1), [b"1", b"2"])))
GROWING = live(layer_header(), KEYS)[0]


def layers(out):
    """Rules V21 to V25 and V34; the layer is alone in its series."""
    def changed(image=ONE, record=(), **fields):
        return edit(image, header=fields, record=record)

    out.add("ESERIES", "V21", layer_in_embedded_form=as_layer(
        make("classic", 100, 3, KEYS, embedded=True, label="a label", fpr=0.05)),
            layer_of_blocks_in_embedded_form=as_layer(make("blocked", 512, 6, KEYS, embedded=True)),
            layer_of_counters=as_layer(make("counting", 100, 3, KEYS), layers=1, rest_size=8196),
            layer_of_ribbon=as_layer(make("ribbon", 512, 0, KEYS), layers=1, rest_size=8196))
    out.add("ESERIES", "V22", live_layer_without_identity=changed(GROWING, series=0),
            **{f"live_layer_of_{generations}_generations": changed(
                GROWING, generations=generations) for generations in (1, 1001, 2**32 - 1)},
            live_layer_with_rest_size=changed(GROWING, rest_size=len(GROWING)),
            live_layer_with_link=changed(GROWING, link=2**63),
            growing_layer_with_period=changed(GROWING, period=1),
            growing_layer_with_began=changed(GROWING, began=2**63),
            growing_layer_1000=changed(GROWING, layer=1000),
            growing_layer_without_fpr=changed(GROWING, fpr=0),
            growing_layer_without_series_fpr=changed(GROWING, series_fpr=0),
            forgetting_layer_2_to_63=changed(GROWING, generations=2, layer=2**63))
    out.add("ESERIES", "V34", sealed_layer_of_no_layers=changed(layers=0, rest_size=0, series=1),
            live_layer_of_one=changed(record=IN_USE))
    out.add("ETRUNCATED", "V26", first_of_1000_layers_alone=changed(layers=1000, rest_size=2**24))
    out.add("ESERIES", "V23", layers_1001=changed(layers=1001, rest_size=2**20),
            layers_all_ones=changed(layers=2**32 - 1, rest_size=2**20),
            layer_1_of_1=changed(layer=1), layer_2_to_32_of_1=changed(layer=2**32),
            layer_all_ones=changed(layer=2**64 - 1),
            sealed_layer_with_identity=changed(series=1),
            sealed_layer_with_generations=changed(generations=2),
            sealed_layer_with_period=changed(period=1), sealed_layer_with_began=changed(began=1))
    out.add("ESERIES", "V25", rest_size_0=changed(rest_size=0),
            rest_size_less=changed(rest_size=len(ONE) - 1),
            rest_size_more_than_the_last_layer=changed(rest_size=len(ONE) + 1) + b"\0",
            rest_size_all_ones_of_the_last_layer=changed(rest_size=2**64 - 1),
            rest_size_of_one_layer_of_two=changed(layers=2),
            rest_size_of_one_layer_of_two_on_pages=changed(layers=2, rest_size=3 * 4096))
    out.add("ESERIES", "V24", **{f"series_fpr_{name}": changed(series_fpr=packed(number))
                                 for name, number in (("1", 1.0), ("negative", -0.01),
                                                      ("minus_0", -0.0), ("nan", float("nan")))})


def sealed_series(out):
    """slices.md 2.2: each layer is valid, or would be valid in another place."""
    whole, size, three = joined(TWO), len(TWO[0]), joined(THREE)
    start = len(whole) - len(TWO[1])

    def second(image=TWO[1], record=(), **fields):
        return relinked([TWO[0], edit(image, header=fields, record=record)])

    def linked(link):
        return joined([TWO[0], edit(TWO[1], header={"link": link})])

    def of_another(**options):
        return split(sealed(live(layer_header(capacity=1, **options), [], layers=2)))

    out.add("ETRUNCATED", "V26", series_cut_after_its_first_layer=whole[:size],
            series_cut_between_its_layers=whole[:size + 100],
            series_cut_before_its_second_layer=whole[:start],
            series_cut_in_its_second_layer=whole[:start + 4096], series_cut_by_a_byte=whole[:-1],
            series_cut_after_its_second_layer=joined(THREE[:2]),
            series_without_its_middle_layer=joined([THREE[0], THREE[2]]),
            series_of_2_to_63_bytes=edit(ONE, header={"layers": 2, "rest_size": 2**63}),
            series_of_which_the_second_layer_knows_more=joined([
                edit(TWO[0], header={"layers": 3}),
                edit(TWO[1], header={"layers": 3, "rest_size": 2**20})]))
    out.add("ETRAILING", "V27", series_trailing_byte=whole + b"\0", series_twice=whole + whole,
            series_of_which_the_first_two_layers_are_swapped=joined([THREE[1], THREE[0], THREE[2]]),
            series_of_which_the_last_two_layers_are_swapped=joined([THREE[0], THREE[2], THREE[1]]))
    skipping = relinked([edit(TWO[0], header={"layers": 3}),
                         edit(TWO[1], header={"layers": 3, "layer": 2})])
    first = edit(TWO[0], header={"link": 1})
    link_of_the_first = joined([first, edit(TWO[1], header={
        "link": field(first, "header_crc") + (field(first, "body_crc", 0) << 32)})])
    out.add("ETRAILING", "V27", middle_layer_is_no_layer=joined(
        [THREE[0], edit(THREE[1], header={"incompat": 0}), THREE[2]]))
    out.add("ESERIES", "slices.md 2.2", series_without_its_first_layer=joined(THREE[1:]),
            last_layer_alone=TWO[1], layer_number_skipped=skipping,
            first_layer_twice=relinked([THREE[0], THREE[0], THREE[2]]),
            last_layer_is_no_layer=joined([TWO[0], make("blocked", 512, 6, KEYS)]),
            link_of_the_first_layer=link_of_the_first,
            link_0=linked(0), link_wrong_in_its_low_half=linked(field(TWO[1], "link") ^ 1),
            link_wrong_in_its_high_half=linked(field(TWO[1], "link") ^ 2**63),
            layer_before_has_other_keys=joined([of_another()[0], TWO[1]]))
    out.add("ESERIES", "slices.md 2.1", layers_differ_in_seed=second(of_another(seed=1)[1]),
            layers_differ_in_layout=second(of_another(layout="classic")[1]),
            layers_differ_in_layers=relinked([edit(TWO[0], header={"layers": 3}), TWO[1]]),
            layers_differ_in_tag=second(tag=bytes(15) + b"1"),
            layers_differ_in_label=second(label=b"another"),
            layers_differ_in_series_fpr=second(series_fpr=packed(0.02)),
            layers_differ_in_key_kind=second(compat=1, key_kind=3),
            layers_differ_in_unknown_key_kind=second(compat=1))
    out.add("EMAGIC", "V2", second_layer_has_no_magic=flip(whole, start),
            second_layer_is_zero=TWO[0].ljust(len(whole), b"\0"),
            layers_without_bytes_between=(TWO[0] + TWO[1]).ljust(len(whole), b"\0"))
    out.add("EHEADER", "V6", second_layer_header_damaged=flip(whole, start + 1000))
    out.add("ERECORD", "V33", second_layer_record_damaged=flip(whole, start + 2048 + 100))
    out.add("ERECORD", "V28", second_layer_records_damaged=flip(flip(
        whole, start + 2048), start + 3072))
    out.add("EPAGE", "12.4", second_layer_page_damaged=flip(whole, start + 4096 + 100),
            second_layer_checksum_damaged=flip(whole, len(whole) - 1))
    out.add("EBODY", "12.4", second_layer_ones_too_many=second(
        record={"ones": field(TWO[1], "ones", 0) + 1}))


def live_series(out):
    three = live(layer_header(capacity=1), [b"%d" % i for i in range(7)])
    two = {0: three[0], 1: live(layer_header(capacity=1), [b"0", b"1"])[1]}
    ring = live(layer_header(capacity=2, generations=3), [b"%d" % i for i in range(9)])
    begun = live(layer_header(capacity=2, generations=3), [b"%d" % i for i in range(5)])

    def without(files, *slots):
        return {slot: image for slot, image in files.items() if slot not in slots}

    def changed(slot, record=(), files=two, **fields):
        return {**files, slot: edit(files[slot], header=fields, record=record)}

    def of_another(**options):
        return live(layer_header(capacity=1, **options), [], layers=2)[1]

    by_older = edit(edit(GROWING, record={"flags": SUCCEEDED}, records=[0]), checksums=True)
    out.add_live("EMISSINGLAYER", "S2", growing_without_its_second_layer=without(three, 1),
                 growing_without_its_last_layer=without(three, 2),
                 growing_without_all_but_the_first={0: three[0]},
                 succeeded_by_the_older_record={0: by_older},
                 succeeded_by_a_torn_record={0: flip(three[0], 3072 + 16)},
                 succeeded_without_successor=changed(1, {"flags": SUCCEEDED}),
                 ring_begun_without_its_second_layer=without(begun, 1),
                 ring_without_its_oldest_layer=without(ring, 2),
                 ring_without_its_newest_layer=without(ring, 1),
                 ring_with_a_gap={0: ring[0], 1: edit(ring[1], header={"layer": 7}), 2: ring[2]},
                 ring_succeeded_without_successor=changed(1, {"flags": SUCCEEDED}, ring))
    out.add_live("ESERIES", "S3", two_layers_of_one_number={0: three[0], 1: three[0]},
                 two_layers_of_one_number_in_the_ring={**ring, 1: ring[0]},
                 growing_layers_swapped={0: three[0], 1: three[2], 2: three[1]},
                 growing_layer_of_the_slot_after={0: three[0], 1: three[2]},
                 a_filter_for_a_layer={**two, 1: IN_FILE},
                 a_sealed_series_for_a_layer={**two, 1: ONE})
    def unmarked(files, slot):
        return {**files, slot: edit(files[slot], record={"flags": 0})}

    out.add_live("ESERIES", "S2", growing_first_layer_is_not_marked=unmarked(three, 0),
                 growing_first_of_two_is_not_marked=unmarked(two, 0),
                 ring_oldest_layer_is_not_marked=unmarked(ring, 2),
                 ring_last_layer_but_one_is_not_marked=unmarked(ring, 0))
    out.add_live("ESERIES", "V39", opened_by_its_second_layer={0: two[1]},
                 ring_opened_by_its_second_layer={0: ring[1]})
    out.add_live("ESERIES", "slices.md 2.1", foreign_layer=changed(1, series=2**64 - 1),
                 foreign_next_layer={0: GROWING, 1: edit(two[1], header={"series": 1})},
                 foreign_layer_in_the_ring=changed(1, files=ring, series=1),
                 layer_of_other_generations=changed(1, generations=5),
                 layer_of_other_period=changed(2, files=ring, period=60, began=1),
                 layer_of_other_label=changed(1, label=b"another"),
                 layer_of_other_tag=changed(1, tag=bytes(15) + b"1"),
                 layer_of_other_series_fpr=changed(1, series_fpr=packed(0.02)),
                 layer_of_other_key_kind=changed(1, compat=1, key_kind=1),
                 layer_of_other_seed={**two, 1: of_another(seed=1)},
                 layer_of_other_layout={**two, 1: of_another(layout="classic")})
    out.add_live("EEMPTY", "V1", layer_empty={**two, 1: b""})
    out.add_live("EMAGIC", "V2", layer_is_a_text={**two, 1: b"apple\nbanana\ncherry\n" * 40})
    out.add_live("EHEADER", "V6", layer_header_damaged={**two, 1: flip(two[1], 1000)})
    out.add_live("ESLICE", "V19", layer_with_an_unknown_feature=changed(1, incompat=3))
    out.add_live("EFEATURE", "V8", layer_with_unknown_bit_2=changed(1, incompat=5))
    out.add_live("ETRUNCATED", "V26", layer_truncated={**two, 1: two[1][:-1]})
    out.add_live("ERECORD", "V28", layer_records_damaged={
        **two, 1: flip(flip(two[1], 2048), 3072)})
    out.add_live("EPOISONED", "V35", layer_poisoned=changed(0, {"state": POISONED}),
                 ring_layer_poisoned=changed(2, {"state": POISONED}, ring))
    out.add_live("EUNCLEAN", "V38", layer_of_a_machine_that_died=changed(
        1, {"boot_id": bytes(range(16))}))


def kinds_of_layers(out):
    """Layers that differ in `key_kind` alone; live layers with poison or keys that only one check finds."""
    def typed(image, kind):
        return edit(image, header={"compat": 1, "key_kind": kind})

    def pair(first, second):
        return relinked([typed(TWO[0], first), typed(TWO[1], second)])

    two = live(layer_header(capacity=1), [b"0", b"1"])
    out.add("ESERIES", "slices.md 2.1", layers_of_text_and_bytes=pair(1, 5),
            layers_of_two_record_sizes=pair(4 | 4 << 8, 4 | 8 << 8))
    out.add_live("ESERIES", "slices.md 2.1", layers_of_text_and_bytes={0: typed(two[0], 1), 1: typed(two[1], 5)})
    out.add_live("ESERIES", "S2", growing_first_of_two_is_not_marked_and_second_counts_no_keys={
        0: edit(two[0], record={"flags": 0}),
        1: edit(two[1], record={"flags": 1, "n": 0, "ones": 0})})
    torn = edit(two[0], record={"state": POISONED}, records=[0])
    out.add_live("EPOISONED", "V35", layer_with_poison_in_a_torn_record={**two, 0: flip(torn, 2048 + 100)})
