# SPDX-License-Identifier: MIT
"""doc/linked.spdx lists the linked libraries, with versions and licences of Debian 12."""

import pathlib
import platform
import re
import shutil
import subprocess
import unittest

from support import MUSL, SANITIZED, SOURCE_ROOT, TOOLS, main

# An identifier has no "+".
DOCUMENT = (SOURCE_ROOT / "doc" / "linked.spdx").read_text().replace("SPDXRef-libstdcpp6", "SPDXRef-libstdc++6")
PROGRAMS = {**TOOLS, "libbloomfile": pathlib.Path(TOOLS["bfadd"]).parents[1] / "lib" / "libbloomfile.so"}
OF_LIBC = re.compile(r"(libm|libpthread|ld-linux.*)\.so")
# The names of licences in Debian's copyright files. LGPL and GPL appear there as text.
DEBIAN = {"MIT": "Expat", "LicenseRef-public-domain": "public-domain",
          "LGPL-2.1-or-later": "version 2.1 of the License, or (at your option) any later version",
          "GPL-3.0-or-later": "GPL-3", "GCC-exception-3.1": "GCC RUNTIME LIBRARY EXCEPTION", "GPL-2.0-only": "GPL-2"}
OF_JSON = {"libsimdjson14", "libstdc++6"}  # not linked in a build without JSON
REQUIRED = ["SPDXID", "PackageVersion", "PackageDownloadLocation", "FilesAnalyzed", "PackageLicenseConcluded",
            "PackageLicenseDeclared", "PackageCopyrightText"]


def packages():
    """The fields of each package, by its name."""
    found = {}
    for block in re.split(r"\n(?=PackageName: )", DOCUMENT)[1:]:
        fields = dict(re.findall(r"^(\w+): (.*)$", block.split("\n\n")[0], re.M))
        found[fields["PackageName"]] = fields
    return found


PACKAGES = packages()
LINKED = re.findall(r"^Relationship: SPDXRef-(\S+) (\S+) SPDXRef-(\S+)$", DOCUMENT, re.M)
DEPENDENCIES = sorted(set(PACKAGES) - set(PROGRAMS))


def machine_code(path):
    return pathlib.Path(path).read_bytes()[:5] == b"\x7fELF\x02"


def asked(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return result.stdout if result.returncode == 0 else ""


def is_debian_12():
    release = pathlib.Path("/etc/os-release")
    return release.is_file() and 'VERSION_ID="12"' in release.read_text() and shutil.which("dpkg-query") is not None


class Linked(unittest.TestCase):
    def test_every_package_has_the_required_fields(self):
        self.assertEqual({*PROGRAMS} - {*PACKAGES}, set())
        for name, fields in PACKAGES.items():
            self.assertEqual([field for field in REQUIRED if field not in fields], [], name)
            self.assertEqual(fields["SPDXID"], f"SPDXRef-{name}")
        for left, _, right in LINKED:
            self.assertIn(left, {*PACKAGES, "DOCUMENT"})
            self.assertIn(right, PACKAGES)
        self.assertEqual({right for left, how, right in LINKED if how == "DESCRIBES"}, {*PROGRAMS})
        references = set(re.findall(r"LicenseRef-[\w-]+", DOCUMENT))
        self.assertEqual(references, set(re.findall(r"^LicenseID: (\S+)$", DOCUMENT, re.M)))

    def test_license_of_the_project_is_mit(self):
        for name in PROGRAMS:
            self.assertEqual(PACKAGES[name]["PackageLicenseConcluded"], "MIT")

    @unittest.skipIf(SANITIZED or MUSL or not machine_code(TOOLS["bfadd"]) or platform.machine() != "x86_64"
                     or not PROGRAMS["libbloomfile"].exists(), "built for another machine, or in another way")
    def test_linked_libraries_are_listed(self):
        names = {fields.get("PackageFileName"): name for name, fields in PACKAGES.items()}
        for program, path in PROGRAMS.items():
            needed = re.findall(r"NEEDED.*\[(.*)\]", asked("readelf", "-d", path))
            self.assertNotEqual(needed, [], path)
            found = {names.get("libc.so.6" if OF_LIBC.match(file) else file, file) for file in needed}
            listed = {right for left, how, right in LINKED if left == program and how == "DYNAMIC_LINK"}
            self.assertIn(found, [listed, listed - OF_JSON], program)

    def test_statically_linked_code_is_listed(self):
        listed = {right for left, how, right in LINKED if left == "libbloomfile" and how == "STATIC_LINK"}
        includes = set(re.findall(r"#include <(xxhash\.h)>", "".join(p.read_text() for p in SOURCE_ROOT.glob("lib/**/*.[ch]"))))
        self.assertEqual(includes, {"xxhash.h"})
        self.assertEqual(listed, {"libxxhash-dev", "libgcc-12-dev"})

    @unittest.skipUnless(PROGRAMS["libbloomfile"].exists(), "no shared library")
    def test_other_libraries_are_not_linked_statically(self):
        """The library may contain foreign functions only from libgcc."""
        symbols = re.findall(r" [tT] (\w+)$", asked("nm", PROGRAMS["libbloomfile"]), re.M)
        foreign = [name for name in symbols if re.match(r"(deflate|inflate|crc32_z|libdeflate_|ZSTD_|json_object_)", name)]
        self.assertEqual(foreign, [])

    @unittest.skipUnless(is_debian_12(), "not Debian 12")
    def test_versions_match_debian(self):
        """The revisions of security updates may differ."""
        native = asked("dpkg", "--print-architecture").strip()
        for name in DEPENDENCIES:
            installed = asked("dpkg-query", "-W", "-f", "${Version}\n", f"{name}:{native}").split("\n")[0]
            if installed:
                self.assertEqual(PACKAGES[name]["PackageVersion"].rpartition("-")[0], installed.rpartition("-")[0], name)
            file = PACKAGES[name].get("PackageFileName")
            if installed and file:
                self.assertRegex(asked("dpkg-query", "-L", f"{name}:{native}"), rf"(?m)/{re.escape(file)}$")

    @unittest.skipUnless(is_debian_12(), "not Debian 12")
    def test_licences_match_debian(self):
        for name in DEPENDENCIES:
            path = pathlib.Path("/usr/share/doc") / name / "copyright"
            text = re.sub(r"\s+", " ", path.read_text(errors="replace")) if path.is_file() else ""
            for licence in re.split(r" (?:AND|OR|WITH) ", PACKAGES[name]["PackageLicenseDeclared"]):
                if text:
                    self.assertIn(DEBIAN.get(licence, licence).lower(), text.lower(), name)


if __name__ == "__main__":
    main()
