#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stable interface changes by additions only. abidiff compares lib/bloomfile.abi with a library that is made from
include/ and lib/bloomfile.sym alone, in which an enum stands for each macro; trials change copies of the headers. Then
programs and libraries of different versions run together: later.c, bloomfile.hpp, and a library that has grown.

--exact also fails if additions are not in lib/bloomfile.abi; --accept writes them into it."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE, INCLUDE, SYM = ROOT / "lib" / "bloomfile.abi", ROOT / "include", ROOT / "lib" / "bloomfile.sym"
UNSTABLE = {"bloomfile_unstable.h", "bloomfile_block.h"}
CLOSED = {"bloomfile_error_kind"}  # enums that get no members: programs switch over all of them
BUILD = os.environ.get("BUILD_ROOT")
WANTED = {"gcc": "gcc", "abidiff": "abigail-tools"}  # program, Debian's package
missing = next((f"needs {name} (Debian: {package})" for name, package in WANTED.items() if not shutil.which(name)), None)


def checked(*words, fails=False, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0 and not fails:
        raise AssertionError(f"{Path(words[0]).name}: status {done.returncode}\n{done.stdout}")
    return done.stdout


# ---- the interface, read from the headers

def stub(include):
    """C source that defines all that the stable headers declare."""
    names = sorted(path.name for path in include.glob("bloomfile*.h") if path.name not in UNSTABLE)
    lines = "".join(f"#include <{name}>\n" for name in names)
    text = checked("gcc", "-xc", "-E", "-P", "-I", include, "-DBLOOMFILE_API=EXPORTED", "-", input=lines)
    own = "\n".join(re.sub(r"(?s)/\*.*?\*/|\\\n", " ", (include / name).read_text(encoding="utf-8")) for name in names)
    made = [lines]
    made += [f"{one} {{ __builtin_trap(); }}" for one in re.findall(r"EXPORTED\s+([^;{}]*?\))\s*;", text)]
    made += [f"{kind} {name} *{kind}_{name};" for kind, name in re.findall(r"(?m)^(struct|enum) (bloomfile_\w+) {", own)]
    made += [f"__typeof__(&{name}) inline_{name} = {name};"
             for name in re.findall(r"\bstatic inline [^;{}()]*?\b(bloomfile_\w*[a-z])\(", own)]
    for name in dict.fromkeys(re.findall(r"(?m)^ *#define (BLOOMFILE_\w*[A-Z0-9]) +\S", own)):
        if not re.search(r"_API$|_VERSION", name):
            value = f"sizeof {name} > 0" if name.endswith("_INIT") else f"(long long)({name})"
            made.append(f"enum value_{name} {{ {name}_ = {value} }} value_{name};")
    return "\n".join([*made, ""])


def interface(include, sym, folder):
    """The interface as XML of abidw, a file in the folder."""
    stable, source, library, found = (folder / name for name in ("stable.sym", "stub.c", "stub.so", "found.abi"))
    stable.write_text(re.sub(r"(?s)\nBLOOMFILE_UNSTABLE.*?\n};", "", sym)
                      + "\nHEADERS { inline_*; struct_*; enum_*; value_*; };\n", encoding="utf-8")
    source.write_text(stub(include), encoding="utf-8")
    checked("gcc", "-g", "-w", "-shared", "-fPIC", "-I", include, f"-Wl,--version-script,{stable}",
            "-Wl,--no-undefined-version", "-o", library, source)
    checked("abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed",
            "--no-parameter-names", "--type-id-style", "hash", "--out-file", found, library)
    found.write_text(re.sub(r" path='[^']*stub.c'", "", found.read_text(encoding="utf-8")), encoding="utf-8")
    return found


def without_additions(old, new, folder):
    """The interface `new` without members and enumerators that may be added to those of `old`."""
    tree = xml.parse(new)
    known = {one.get("name"): one for tag in ("class-decl", "enum-decl") for one in xml.parse(old).iter(tag)}
    for one in tree.iter("enum-decl"):
        was = known.get(one.get("name"))
        if was is not None and one.get("name") not in CLOSED:
            names = {each.get("name") for each in was.iter("enumerator")}
            for each in [each for each in one.iter("enumerator") if each.get("name") not in names]:
                one.remove(each)
    for one in tree.iter("class-decl"):
        was = known.get(one.get("name"))
        first = was.find("data-member/var-decl") if was is not None else None
        if first is not None and first.get("name") == "struct_size":
            for each in one.findall("data-member")[len(was.findall("data-member")):]:
                if int(each.get("layout-offset-in-bits")) >= int(was.get("size-in-bits")):  # not in padding
                    one.remove(each)
                    one.set("size-in-bits", was.get("size-in-bits"))
    kept = folder / "kept.abi"
    tree.write(kept)
    return kept


def breaks(old, new, folder):
    """Returns the changes that abidiff reports and that are not additions; '' if there are none."""
    first = re.search(r"version='(BLOOMFILE_[\d.]+)'", old.read_text(encoding="utf-8")).group(1)
    kept = without_additions(old, new, folder)
    symbols = [set(re.findall(rf"elf-symbol name='(\w+)' version='{re.escape(first)}'", path.read_text(encoding="utf-8")))
               for path in (old, new)]
    if added := symbols[1] - symbols[0]:
        return f"{first} is the node of a release, and gets no functions: {sorted(added)}"
    done = subprocess.run(["abidiff", "--no-added-syms", "--no-show-locs", "--harmless", old, kept],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout or f"abidiff: status {done.returncode}" if done.returncode != 0 else ""


def changed(folder, *changes):
    """A copy of include/ with those changes: (file, pattern, replacement, ...)."""
    copy = folder / "include"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(INCLUDE, copy)
    for name, *pairs in changes:
        text = (copy / name).read_text(encoding="utf-8")
        for pattern, new in zip(pairs[::2], pairs[1::2]):
            text, count = re.subn(pattern, new, text, flags=re.S)
            assert count > 0, f"{name} has no {pattern}"
        (copy / name).write_text(text, encoding="utf-8")
    return copy


MEMORY = "uint64_t memory; "
FORBIDDEN = [
    ("bloomfile.h", r"bloomfile_seed\(const bloomfile_filter", "bloomfile_seed(bloomfile_filter"),
    ("bloomfile.h", r"uint64_t (bloomfile_seed)", r"uint32_t \1"),
    ("bloomfile.h", r"bool (bloomfile_is_stale)", r"int \1"),
    ("bloomfile.h", r"(bloomfile_open\([^)]*)\);", r"\1, int more);"),
    ("bloomfile.h", r"typedef uint64_t bloomfile_digest", "typedef int64_t bloomfile_digest"),
    ("bloomfile.h", r"MAX_HASHES +64u", "MAX_HASHES 32u"),
    ("bloomfile.h", r"OPEN_LOCK +64u", "OPEN_LOCK 16384u"),
    ("bloomfile.h", r"#define BLOOMFILE_OPEN_LOCK[^\n]*", ""),
    ("bloomfile.h", r"LAYOUT_RIBBON = 4", "LAYOUT_RIBBON = 5"),
    ("bloomfile.h", r"LAYOUT_RIBBON = 4", "LAYOUT_RIBBONS = 4"),
    ("bloomfile.h", r"(size_t size;      /\* bytes \*/\n)", r"\1 size_t later;\n"),
    ("bloomfile_build.h", MEMORY, f"uint32_t later; {MEMORY}"),
    ("bloomfile_build.h", MEMORY, ""),
    ("bloomfile_build.h", MEMORY, "uint64_t memories;"),
    ("bloomfile_build.h", MEMORY, "int64_t memory;"),
    ("bloomfile_build.h", MEMORY, "int64_t memory; uint64_t later;"),
    ("bloomfile_build.h", MEMORY, "uint32_t memory; uint32_t later;"),
    ("bloomfile_build.h", r"const char \*label", "char *label"),
    ("bloomfile_build.h", r"(uint32_t threads;.*?)(uint32_t slices;)", r"\2\1"),
    ("bloomfile_build.h", r"#define BLOOMFILE_SPANS_INIT [^\n]*", ""),
    ("bloomfile_error.h", r"-1401", "-1499"),
    ("bloomfile_error.h", r"(KIND_CAPACITY = 7,)", r"\1 BLOOMFILE_KIND_LATER = 8,"),
    ("bloomfile_inline.h", r"uint64_t more_room_\[7\]", "uint64_t later_; uint64_t more_room_[6]"),
    ("bloomfile_inline.h", r"bloomfile_pinned_prefetch\(const struct", "bloomfile_pinned_prefetch(struct"),
    ("bloomfile_inspect.h", r"uint64_t reserved\[3\];", "uint64_t reserved[4];"),
    ("bloomfile_inspect.h", r"STATE_POISONED = 3,", ""),
    ("bloomfile_io.h", r"bloomfile_to_fd\(int fd\)", "bloomfile_to_fd(unsigned fd)"),
    ("bloomfile_io.h", r"TO_BUFFER = 5", "TO_BUFFER = 6"),
]
GROWN = r"(struct bloomfile_\w+ {\n    size_t struct_size;.*?\n)(};)", r"\1    uint64_t later;\n\2"
ALLOWED = [
    ("bloomfile.h", r"(LAYOUT_RIBBON = 4,)", r"\1 BLOOMFILE_LAYOUT_LATER = 5,", r"(KEYS_BYTES = 5,)",
     r"\1 BLOOMFILE_KEYS_LATER = 6,", r"(#define BLOOMFILE_OPEN_LOCK)", r"#define BLOOMFILE_OPEN_LATER 16384u\n\1",
     r"(BLOOMFILE_API uint64_t bloomfile_seed)", r"BLOOMFILE_API int bloomfile_later(void);\n\1"),
    ("bloomfile_error.h", r"(BLOOMFILE_ETOOBIG = -1704,)", r"\1 BLOOMFILE_ELATER = -1705,"),
    *((f"bloomfile_{name}.h", *GROWN) for name in ("build", "combine", "delta", "inspect", "io", "open")),
]
LATER_SYM = SYM.read_text(encoding="utf-8") + "\nBLOOMFILE_LATER {\nglobal:\n\tbloomfile_later;\n};\n"


class InFolder(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)


@unittest.skipIf(missing or platform.machine() != "x86_64", missing or "lib/bloomfile.abi is that of x86-64")
class Stable(InFolder):
    def breaks(self, include, sym=SYM.read_text(encoding="utf-8")):
        return breaks(BASELINE, interface(include, sym, self.folder), self.folder)

    def test_interface_has_changed_by_additions_only(self):
        self.assertEqual(self.breaks(INCLUDE), "")

    def test_each_forbidden_change_is_found(self):
        for change in FORBIDDEN:
            with self.subTest(change):
                self.assertNotEqual(self.breaks(changed(self.folder, change)), "")

    def test_removed_and_moved_functions_are_found(self):
        removed = changed(self.folder, ("bloomfile.h", r"BLOOMFILE_API bool bloomfile_is_stale[^;]*;", ""))
        line = "\tbloomfile_is_stale;\n"
        self.assertIn("bloomfile_is_stale", self.breaks(removed, SYM.read_text(encoding="utf-8").replace(line, "")))
        moved = LATER_SYM.replace(line, "").replace("\tbloomfile_later;\n", line)
        self.assertIn("bloomfile_is_stale", self.breaks(INCLUDE, moved))

    def test_function_in_the_node_of_a_release_is_found(self):
        later = changed(self.folder, *ALLOWED)
        sym = SYM.read_text(encoding="utf-8").replace("\tbloomfile_layer;\n", "\tbloomfile_later;\n\tbloomfile_layer;\n")
        self.assertIn("bloomfile_later", self.breaks(later, sym))

    def test_additions_pass(self):
        self.assertEqual(self.breaks(changed(self.folder, *ALLOWED), LATER_SYM), "")


# ---- programs and libraries of different versions

NEW_MEMBER = """    if (p->later != 0)
        return invalid(BLOOMFILE_EVALUE, "later");
    if (p->label != NULL && strcmp(p->label, "later") == 0)
        return BLOOMFILE_ELATER;
"""
GROWN_LIBRARY = [  # changes to the library as one file, which use the new members and numbers
    (r"(?=    const int error = check_params\(p\);)", NEW_MEMBER),
    (r"(f->operations->info\(f, &info\);)", r"\1 info.later = 77;"),
    (r"(BLOOMFILE_OPEN_NOWAIT \| BLOOMFILE_OPEN_SOLE_ADDER)", r"\1 | BLOOMFILE_OPEN_LATER"),
    (r'(X\(ETOOBIG, "[^"]*"\))', r'\1 X(ELATER, "of later")'),
    (r"\Z", "BLOOMFILE_API int bloomfile_later(void) { return 1; }\n"),
]
SIZES = {  # bytes of the classes of bloomfile.hpp, on 64 bits
    "v1::answers": 24, "v1::builder<v1::text>": 32, "v1::bytes": 16, "v1::filter<unsigned long>": 256,
    "v1::filter<v1::text>": 256, "v1::handle": 256, "v1::image": 16, "v1::live_filter<v1::text>": 256,
    "v1::lookups<v1::text>": 256, "v1::params": 168, "v1::path_arg": 8, "v1::span<bool>": 16, "v1::text": 16,
    "v1::view": 64
}
SIZES_OF = """#include <bloomfile.hpp>
template <class T> unsigned char size_of[sizeof(T)];
#define SIZE(...) template unsigned char size_of<bloomfile::__VA_ARGS__>[];
SIZE(params) SIZE(image) SIZE(builder<>) SIZE(handle) SIZE(lookups<>) SIZE(filter<>) SIZE(filter<unsigned long>)
SIZE(live_filter<>) SIZE(view) SIZE(answers) SIZE(bytes) SIZE(text) SIZE(span<bool>) SIZE(path_arg)
"""
CC, CXX = os.environ.get("CC", "cc").split(), os.environ.get("CXX", "c++").split()


@unittest.skipUnless(BUILD, "needs BUILD_ROOT")
class Mixed(InFolder):
    """Two libraries with the same soname in folders of their own, "old" and "grown"; programs of both versions."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.made = Path(place.name)
        cls.headers = {"old": INCLUDE, "grown": changed(cls.made, *ALLOWED)}
        built = Path(BUILD) / "lib" / "libbloomfile.so"
        soname = re.search(r"SONAME.*\[(.*)\]", checked("readelf", "-d", built)).group(1)
        cls.libraries = {name: cls.made / name / soname for name in cls.headers}
        for path in cls.libraries.values():
            path.parent.mkdir()
        cls.libraries["old"].symlink_to(built.resolve())
        source = (Path(BUILD) / "lib" / "bloomfile.c").read_text(encoding="utf-8")
        for pattern, new in GROWN_LIBRARY:
            source, count = re.subn(pattern, new, source)
            assert count == 1, f"bloomfile.c has {count} times {pattern}"
        (cls.made / "grown.c").write_text(source, encoding="utf-8")
        (cls.made / "grown.sym").write_text(LATER_SYM, encoding="utf-8")
        checked(*CC, "-w", "-shared", "-fPIC", "-I", cls.headers["grown"], f"-Wl,--version-script,{cls.made / 'grown.sym'}",
                f"-Wl,-soname,{soname}", "-o", cls.libraries["grown"], cls.made / "grown.c", "-ldeflate", "-lm", "-pthread")

    def program(self, version, source, *options):
        """Compiles and links with headers and library of a version."""
        compiler = [*CXX, "-std=c++17"] if source.suffix == ".cc" else [*CC, "-std=c11", "-Wall", "-Wextra"]
        path = self.folder / f"{source.stem}-{version}"
        checked(*compiler, "-Werror", *options, "-I", self.headers[version], "-o", path, source, self.libraries[version])
        return path

    def run_with(self, library, *words, **more):
        return checked(*words, env={**os.environ, "LD_LIBRARY_PATH": str(self.libraries[library].parent)}, **more)

    def test_old_program_works_with_grown_library(self):
        program = self.program("old", ROOT / "tests" / "unit" / "later.c")
        self.run_with("old", program, "old")
        self.run_with("grown", program, "grown")

    def test_new_program_works_with_old_library(self):
        """Flags and members that the library does not know are refused, not ignored."""
        program = self.program("grown", ROOT / "tests" / "unit" / "later.c")
        self.run_with("grown", program, "grown")
        self.run_with("old", program, "old")

    def test_program_that_needs_a_new_function_does_not_start_with_old_library(self):
        program = self.program("grown", ROOT / "tests" / "unit" / "later.c", "-DCALL_LATER")
        self.run_with("grown", program, "grown")
        said = self.run_with("old", program, "old", fails=True)
        self.assertIn("bloomfile_later", said.lower())  # the node or, with musl, the function

    @unittest.skipUnless(shutil.which(CXX[0]), "needs a C++ compiler")
    def test_cplusplus_programs_of_both_versions_work_with_both_libraries(self):
        for version in self.headers:
            program = self.program(version, ROOT / "tests" / "nightly" / "consumers" / "header.cc")
            for library in self.libraries:
                said = self.run_with(library, program, self.folder / "fruit.bloom")
                self.assertEqual(said, "fruit: 3 keys, 2 of 3 found, stone: no\n", f"{version} program, {library} library")

    def test_large_cplusplus_program_works_with_grown_library(self):
        program = Path(BUILD) / "tests" / "unit" / "test-cplusplus"
        if not program.exists():
            self.skipTest("no C++ compiler")
        self.run_with("grown", program, cwd=self.folder)


def class_sizes(include, folder):
    """{"v1::view": 64, ...}"""
    checked(*CXX, "-std=c++17", "-w", "-c", "-I", include, "-xc++", "-", "-o", folder / "sizes.o", input=SIZES_OF)
    found = re.findall(r"^\w+ (\w+) \w size_of<(.*)>$", checked("nm", "-S", "-C", folder / "sizes.o"), re.M)
    return {re.sub(r"bloomfile::|, bloomfile::v1::hasher<.*> (?=>)|(?<=>) $", "", name): int(size, 16) for size, name in found}


@unittest.skipUnless(shutil.which(CXX[0]) and platform.machine() == "x86_64", "needs a C++ compiler for x86-64")
class Namespace(InFolder):
    """Parts of a program that were compiled with different versions of bloomfile.hpp exchange objects only if these
    are equal: otherwise their namespaces differ."""

    def test_classes_of_the_namespace_keep_their_sizes(self):
        self.assertEqual(class_sizes(INCLUDE, self.folder), SIZES)

    def test_class_that_grows_needs_another_namespace(self):
        """bloomfile::params contains a struct that may grow."""
        sizes = class_sizes(changed(self.folder, *ALLOWED), self.folder)
        self.assertEqual({name for name in SIZES if sizes[name] != SIZES[name]}, {"v1::params"})


class Page(unittest.TestCase):
    def test_each_row_of_the_page_names_tests_that_exist(self):
        page = ROOT / "doc" / "compatibility.md"
        tables = re.findall(r"(?m)^\|.*\| test \|\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"))
        rows = [row for table in tables for row in table.splitlines()]
        self.assertGreater(len(rows), 15)
        for row in rows:
            tests = re.findall(r"\[([\w-]+)\]\(([^)]+)\)([^\[]*)", row.rsplit(" | ", 1)[1])
            self.assertTrue(tests, row)
            for name, path, claims in tests:
                source = page.parent / path
                self.assertIn(source.stem.removeprefix("test_").replace("_", "-"),
                              (name.removeprefix("tools-").replace("_", "-"), "run"), row)
                text = source.read_text(encoding="utf-8")
                for claim in re.findall(r"`(\w+)`", claims):
                    self.assertRegex(text, rf"(?m)^( *def {claim}\(|[A-Z_]+\({claim}\)$)", row)


def record(accept):
    with tempfile.TemporaryDirectory() as place:
        found = interface(INCLUDE, SYM.read_text(encoding="utf-8"), Path(place))
        broken = breaks(BASELINE, found, Path(place))
        if broken:
            print(f"{broken}\ninterface: these changes break programs: doc/compatibility.md", file=sys.stderr)
        elif accept:
            shutil.copyfile(found, BASELINE)
        elif subprocess.run(["abidiff", "--no-show-locs", BASELINE, found], check=False).returncode != 0:
            broken = "additions"
            print("interface: lib/bloomfile.abi lacks these additions (record them: scripts/check --accept-abi)", file=sys.stderr)
        return 1 if broken else 0


def main():
    """Exits with 77 if all tests that need abidiff were skipped."""
    if sys.argv[1:] in (["--accept"], ["--exact"]):
        return record(sys.argv[1] == "--accept")
    result = unittest.main(exit=False).result
    for reason in dict.fromkeys(reason for _, reason in result.skipped):
        print(f"skipped: {reason}", flush=True)
    return 77 if result.wasSuccessful() and missing else 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
