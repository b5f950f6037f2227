# SPDX-License-Identifier: MIT
"""file(1) and desktops recognise filters and patches, and describe them correctly."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import zlib

from support import GOLDEN, REFUSED, SOURCE_ROOT, ToolTest, lines, main, numbered, table

MAGIC = SOURCE_ROOT / "share" / "bloomfile.magic"
TYPES = SOURCE_ROOT / "share" / "bloomfile.xml"
LAYOUTS = {1: "blocked", 2: "classic", 3: "counting", 4: "ribbon"}
SEALED = 2**64 - 1

# Rules of section 13 and slices.md that patterns can check in part or completely, each with the refused files that pass.
# A pattern cannot use the file's size, a checksum, or the number of a later byte.
CHECKED = {"V1": [], "V3": [], "V4": [], "V8": [], "V9": [], "V10": [], "V12": [], "V13": [], "V15": [], "V16": [],
           "V29": [], "V21": [], "V24": [],
           "V2": ["second-layer-has-no-magic", "second-layer-is-zero", "layers-without-bytes-between"],
           "V5": ["truncated-to-511", "truncated-file-form-to-4095"],
           "V7": ["version-2", "version-2-and-unknown-feature"]}


def file_says(*paths, options=()):
    """The text of file(1) by path; "" for files that these patterns do not recognise."""
    told = subprocess.run(["file", "-N", "-F", "\t", *options, "-m", MAGIC, *paths], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    rows = dict(line.split("\t ", 1) for line in told.splitlines())
    return {path: text if "bloomfile" in text else "" for path, text in rows.items()}


def number(data, at, kind="I"):
    return struct.unpack_from("<" + kind, data, at)[0]


def keys_of(count):
    return f"{count} key{'s' * (count != 1)}"


def described(data):
    """The expected text for a whole filter, from sections 6 and 7 of the specification and slices.md."""
    h, layout, is_layer = number(data, 12), number(data, 32), number(data, 24) == 1
    records = [data[h // 2:h // 4 * 3], data[h // 4 * 3:h]]
    intact = [r for r in records if number(r, 60) == number(data, h // 2 - 4)
              and zlib.crc32(r[:-4]) == number(r, h // 4 - 4)]
    force = max(intact, key=lambda r: number(r, 0, "Q"))
    k = f" (k {number(data, 40)})" if layout != 4 else ""
    said = [f"{LAYOUTS[layout]}{k}"]
    rate = number(data, 280 if is_layer else 96, "d")
    if number(force, 0, "Q") == SEALED:
        said.append("sealed")
        said += ["embedded form"] * (h == 512)
        is_slice = number(data, 24) == 2
        said += [f"slice from block {number(data, 240, 'Q')} of {number(data, 248, 'Q')}"] * is_slice
        layers = number(data, 260)
        n = ("about " if number(force, 12) & 1 else "") + keys_of(number(force, 16, "Q"))
        said.append(f"series of {layers} layer{'s' * (layers != 1)}" if is_layer else n)
    else:
        said.append("live")
        said += ["poisoned: a write to disk failed"] * (3 in (number(r, 8) for r in records))
        generations = number(data, 256)
        of = f"a series of {generations} generations" if generations else "a growing series"
        said += [f"layer {number(data, 248, 'Q')} of {of}"] * is_layer
        said.append(f"sized for {keys_of(number(data, 88, 'Q'))}")
    said += [f"rate {rate:g}"] * (rate != 0)
    hash_id = number(data, 36)
    said += [f"application's hash 0x{hash_id:08x}"] * (hash_id != 1)
    label = data[128:240].rstrip(b"\0")
    octal = "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in label)
    said += [f'label "{octal}"'] * (label != b"" and (len(label) < 112 or data[240] == 0))
    return f"Bloom filter (bloomfile), {', '.join(said)}"


@unittest.skipUnless(shutil.which("file"), "needs file (Debian: file)")
class Magic(ToolTest):
    def test_every_golden_filter_is_recognised(self):
        paths = [str(path) for path in sorted(GOLDEN.rglob("*.bloom*"))]
        said = file_says(*paths)
        self.assertGreater(len(paths), 100)
        for path in paths:
            self.assertEqual(said[path], described(pathlib.Path(path).read_bytes()), path)

    def test_every_golden_patch_is_recognised(self):
        paths = [str(path) for path in sorted(GOLDEN.glob("*.patch"))]
        said = file_says(*paths)
        for path in paths:
            data = pathlib.Path(path).read_bytes()
            series = ", of a series" if data[9] & 1 else ""
            self.assertEqual(said[path], f"Patch between Bloom filters (bloomfile), {LAYOUTS[data[10]]}{series}, "
                             f"from body {number(data, 15):08x} to {number(data, 23):08x}")

    def test_live_and_poisoned_filters_are_described(self):
        rows = [row for row in table(REFUSED / "index.tsv") if row["rule"] in ("V35", "V36")]
        paths = {row["file"]: str(REFUSED / row["file"]) for row in rows}
        said = file_says(*paths.values())
        for row in rows:
            text = said[paths[row["file"]]]
            self.assertEqual(text, described((REFUSED / row["file"]).read_bytes()), row)
            self.assertEqual("poisoned" in text, row["rule"] == "V35", row["file"])

    def test_visibly_damaged_filters_are_not_recognised(self):
        rows = [row for row in table(REFUSED / "index.tsv") if row["rule"] in CHECKED]
        said = file_says(*(str(REFUSED / row["file"]) for row in rows))
        claimed = {row["file"].removesuffix(".bloom") for row in rows if said[str(REFUSED / row["file"])]}
        self.assertEqual(claimed, {name for names in CHECKED.values() for name in names})
        self.assertEqual(said[str(REFUSED / "version-2.bloom")], "Bloom filter (bloomfile), of the newer format version 2")

    def test_new_filters_are_described(self):
        self.create("-q", "-l", "ribbon", "-p", 0.003, "--label", "all paths", stdin=lines(*numbered(5000)), name="a")
        self.create_live("-n", 1000, "-p", "1e-6", name="b")
        self.create_live("--grow", name="c")
        self.output("bfdelta", "--quiet", str(GOLDEN / "blocked-file.bloom"), str(GOLDEN / "patched-blocked-file.bloom"), "d")
        said = file_says(*(str(self.folder / name) for name in "abcd"))
        self.assertEqual([said[str(self.folder / name)].removeprefix("Bloom filter (bloomfile), ") for name in "abc"],
                         ['ribbon, sealed, 5000 keys, rate 0.003, label "all paths"',
                          "blocked (k 15), live, sized for 1000 keys, rate 1e-06",
                          "blocked (k 9), live, layer 0 of a growing series, sized for 1000000 keys, rate 0.01"])
        self.assertRegex(said[str(self.folder / "d")], "^Patch between Bloom filters")

    def test_mime_types_are_reported(self):
        for ending, kind in ("bloom", "application/x-bloomfile"), ("patch", "application/x-bloomfile-patch"):
            said = file_says(*map(str, GOLDEN.glob(f"*.{ending}")), options=["--mime-type"])
            self.assertEqual(set(said.values()), {kind})

    def test_manual_page_names_the_types(self):
        page = (SOURCE_ROOT / "man" / "bloomfile.5").read_text()
        self.assertIn("/usr/share/misc/bloomfile.magic", page)
        for kind in re.findall(r'mime-type type="(.*?)"', TYPES.read_text()):
            self.assertRegex(page, rf"(?m)^\.Li {kind}( \.)?$")


@unittest.skipUnless(shutil.which("gio") and shutil.which("update-mime-database"), "needs gio and update-mime-database (Debian: libglib2.0-bin shared-mime-info)")
class Types(ToolTest):
    def types(self, *paths):
        (self.folder / "mime" / "packages").mkdir(parents=True, exist_ok=True)
        shutil.copy(TYPES, self.folder / "mime" / "packages")
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        told = subprocess.run(["update-mime-database", self.folder / "mime"], env=environment, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        self.assertEqual(told, b"")
        told = subprocess.run(["gio", "info", "-a", "standard::content-type", *paths], env=environment, check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        return re.findall(r"content-type: (\S+)", told)

    def test_desktops_recognise_filters_and_patches(self):
        patch = self.folder / "changes"
        shutil.copy(GOLDEN / "blocked-file-to-patched-blocked-file.patch", patch)
        self.assertEqual(self.types(GOLDEN / "blocked-file.bloom", GOLDEN / "classic-embedded.bloom", patch),
                         ["application/x-bloomfile"] * 2 + ["application/x-bloomfile-patch"])

    def test_other_files_are_not_recognised(self):
        for kind in self.types(*(REFUSED / f"{name}.bloom" for name in ("text", "zeros", "header-size-1024",
                                                                        "magic-last-byte", "textmode-crlf-to-lf"))):
            self.assertNotIn("bloomfile", kind)


if __name__ == "__main__":
    main()
