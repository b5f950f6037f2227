# SPDX-License-Identifier: MIT
"""The wheel and the source archive of bindings/python: their contents, their use without the rest of the project, and the
messages of failed builds."""

import email
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["BUILD_ROOT"])
VERSION = re.search(r"version: '([^']*)'", (SOURCE / "meson.build").read_text(encoding="utf-8"))[1]
PYTHON_VERSION = VERSION.replace("-", "")
WHEEL_MOST, ARCHIVE_MOST = 400_000, 520_000  # bytes
NEEDED = {"libdeflate.so.0", "libc.so.6", "libm.so.6"}
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("PYTHON", "BLOOMFILE_", "CC", "CFLAGS", "LDFLAGS", "LD_LIBRARY_PATH"))}
CLEAN |= {path.name.upper(): str(path) for path in (BUILD / "tools").glob("bf*") if path.is_file() and "." not in path.name}
CLEAN["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"


def builder():
    """Returns an interpreter that can build wheels: that of the system, or that in PATH."""
    for python in "/usr/bin/python3", sys.executable:
        if subprocess.run([python, "-c", "import setuptools, wheel, venv, pip"], check=False, env=CLEAN,
                          capture_output=True).returncode == 0:
            return python
    print("skipped: needs a Python with pip, setuptools and wheel (Debian: python3-pip python3-setuptools python3-wheel)")
    sys.exit(77)


PYTHON = builder()


def run(*command, cwd, **how):
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env={**CLEAN, **how})
    if done.returncode != 0:
        raise AssertionError(f"{command} in {cwd}: {done.returncode}\n{done.stdout}")
    return done.stdout


def wheel_of(what, folder, **how):
    """Builds without a network."""
    run(PYTHON, "-m", "pip", "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", folder, what, cwd=folder, **how)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.tree = cls.folder / "tree/bindings/python"
        for name in "LICENSE", "meson.build", "include", "lib", "bindings/python":
            source, copy = SOURCE / name, cls.folder / "tree" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(
                    "build", "dist", "*.egg-info", "*.so", "__pycache__") if name.startswith("bindings") else None)
            else:
                shutil.copy(source, copy)
        run(PYTHON, "-c", "import setuptools.build_meta as b; b.build_sdist('../../..')", cwd=cls.tree)
        (cls.archive,) = cls.folder.glob("*.tar.gz")
        for name in "of_archive", "of_tree", "none":
            (cls.folder / name).mkdir()
        cls.wheel = wheel_of(cls.archive, cls.folder / "of_archive")
        cls.of_tree = wheel_of(cls.tree, cls.folder / "of_tree", CFLAGS="-O0")

    def unpacked(self, name):
        (self.folder / name).mkdir()
        run("tar", "-xzf", self.archive, cwd=self.folder / name)
        return self.folder / name / f"bloomfile-{PYTHON_VERSION}"

    def environment(self, python, wheel):
        """Makes a new environment with only the wheel."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run(python, "-m", "venv", "--without-pip", folder, cwd=self.folder)
        python = folder / "bin/python"
        run(PYTHON, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=self.folder)
        return python

    def test_archive_contains_exactly_the_tree_and_the_library(self):
        with tarfile.open(self.archive) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        tree = {path.relative_to(SOURCE / "bindings/python").as_posix() for pattern in (
            "*.md", "*.toml", "setup.py", "src/**/*.[ch]", "src/**/*.py", "src/**/*.pyi", "src/**/py.typed", "tests/*.py")
            for path in (SOURCE / "bindings/python").glob(pattern)}
        library = {f"library/{path.relative_to(SOURCE).as_posix()}" for folder in ("lib", "include")
                   for path in (SOURCE / folder).glob("**/*.[ch]")}
        self.assertGreater(len(library), 150)
        self.assertEqual((tree | library | {"LICENSE"}) - names, set())
        self.assertEqual([name for name in names if name.endswith((".o", ".so", ".pyc"))], [])
        self.assertLess(self.archive.stat().st_size, ARCHIVE_MOST)
        self.assertEqual((self.unpacked("read") / "LICENSE").read_text(), (SOURCE / "LICENSE").read_text())

    def test_wheel_contains_exactly_the_package(self):
        self.assertRegex(self.wheel.name, rf"^bloomfile-{re.escape(PYTHON_VERSION)}-cp311-abi3-linux_\w+\.whl$")
        self.assertLess(self.wheel.stat().st_size, WHEEL_MOST)
        names = [set(zipfile.ZipFile(wheel).namelist()) for wheel in (self.wheel, self.of_tree)]
        self.assertEqual(*names)
        package = {path.relative_to(SOURCE / "bindings/python/src").as_posix() for pattern in ("*.py", "*.pyi", "py.typed")
                   for path in (SOURCE / "bindings/python/src/bloomfile").rglob(pattern)}
        self.assertIn("bloomfile/py.typed", package)
        self.assertEqual({name for name in names[0] if not name.startswith(f"bloomfile-{PYTHON_VERSION}.dist-info/")},
                         package | {"bloomfile/_core.abi3.so"})
        self.assertIn("LICENSE", {pathlib.PurePath(name).name for name in names[0]})

    def test_metadata_has_name_licence_extras_and_links(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            metadata = email.message_from_bytes(wheel.read(f"bloomfile-{PYTHON_VERSION}.dist-info/METADATA"))
        self.assertEqual((metadata["Name"], metadata["License"] or metadata["License-Expression"]), ("bloomfile", "MIT"))
        self.assertEqual(set(metadata.get_all("Provides-Extra")), {"dask", "spark"})
        (url,) = metadata.get_all("Project-URL")
        url = url.partition(", ")[2]
        self.assertEqual(metadata["Description-Content-Type"], "text/markdown")
        links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
        self.assertGreater(len(links), 5)
        for link in links:
            page, _, part = link.removeprefix(f"{url}/blob/main/").partition("#")
            if page.startswith("https://"):  # of another project
                continue
            self.assertTrue((SOURCE / page).exists(), link)
            if part:  # the anchor of a heading
                anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
                           for heading in re.findall(r"^#+ (.*)$", (SOURCE / page).read_text(encoding="utf-8"), re.MULTILINE)}
                self.assertIn(part, anchors, link)

    def test_extension_exports_only_its_init_function(self):
        """A second copy of the library in the same process does not conflict."""
        with zipfile.ZipFile(self.wheel) as wheel:
            core = wheel.extract("bloomfile/_core.abi3.so", self.folder / "core")
        symbols = run("nm", "-D", core, cwd=self.folder).splitlines()
        self.assertEqual([line.split()[-1] for line in symbols if line.split()[-2] not in "Uw"], ["PyInit__core"])
        self.assertEqual([line for line in symbols if "bloomfile" in line], [])
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", core, cwd=self.folder)))
        self.assertLessEqual(needed - {name for name in needed if name.startswith("ld-linux")}, NEEDED)

    def test_sources_equal_those_of_meson(self):
        targets = json.loads((BUILD / "meson-info/intro-targets.json").read_text(encoding="utf-8"))
        sources = next(target for target in targets if target["name"] == "bloomfile-internal")["target_sources"]
        meson = {pathlib.Path(path).relative_to(SOURCE / "lib").with_suffix(".o").as_posix()
                 for group in sources for path in group.get("sources", [])}  # the linker has no sources
        compiled = {path.as_posix().rpartition("/tree/lib/")[2] for path in self.tree.glob("build/**/*.o")
                    if "/tree/lib/" in path.as_posix()}
        self.assertEqual(compiled, meson)

    def test_links_of_the_readme_leave_the_archive_of_sources(self):
        self.assertNotRegex((self.unpacked("links") / "README.md").read_text(encoding="utf-8"), r"\]\((?!https:)")

    def test_all_tests_pass_in_clean_environments(self):
        """Runs all tests, and the shortest tests with other interpreters of the same binary interface."""
        tests = self.unpacked("tests") / "tests"
        for wheel in self.wheel, self.of_tree:
            python = self.environment(PYTHON, wheel)
            self.assertEqual(run(python, "-c", "import bloomfile; print(bloomfile.__version__, bloomfile.library_version)",
                                 cwd="/").split(), [PYTHON_VERSION, VERSION])
            if wheel is self.wheel:
                print(run(python, "-W", "error", "-m", "unittest", "discover", "-s", tests, cwd=self.folder / "none"))
        version = run(PYTHON, "-c", "import sys; print(sys.version)", cwd="/")
        for name in "python3", "python3.12", "python3.13", "python3.14":
            other = shutil.which(name)
            if not other or subprocess.run([other, "-c", "import sys; assert sys.version_info >= (3, 11)"], check=False,
                                           env=CLEAN, capture_output=True).returncode != 0:
                continue
            if run(other, "-c", "import sys; print(sys.version)", cwd="/") == version:
                continue
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))  # pip itself may be too old for it
            zipfile.ZipFile(self.wheel).extractall(folder)
            print(run(other, "-c", "import bloomfile, sys; f = bloomfile.build('x.bloom', ['a', b'b'], replace=True)\n"
                      "assert 'a' in f and b'b' in f and not sum(f.contains_many(list('defghij'))), f\nprint(sys.version)",
                      cwd=folder))

    def test_extension_finds_a_library_in_a_private_folder(self):
        """The extension has a run path to a private folder, and no run path for default folders."""
        private = self.folder / "private"
        private.mkdir()
        for library in (BUILD / "lib").glob("libbloomfile.so*"):
            if library.suffix != ".symbols" and not library.is_dir():
                shutil.copy(library, private / library.name, follow_symlinks=False)
        (private / "bloomfile.pc").write_text(
            f"Name: bloomfile\nDescription: x\nVersion: {VERSION}\nLibs: -L{private} -lbloomfile\nCflags: -I{SOURCE}/include\n")
        run(PYTHON, "setup.py", "build", "--build-base", private / "build", "--build-lib", private / "made", cwd=self.tree,
            BLOOMFILE_SYSTEM="1", PKG_CONFIG_PATH=str(private))
        self.assertEqual(run(PYTHON, "-c", "import bloomfile; print(bloomfile.library_version)", cwd=private / "made").strip(), VERSION)
        (core,) = private.glob("made/bloomfile/_core*.so")
        self.assertIn(f"runpath: [{private}]", run("readelf", "-d", core, cwd=private))
        with zipfile.ZipFile(self.wheel) as wheel:
            core = wheel.extract("bloomfile/_core.abi3.so", private / "core")
        self.assertNotIn("runpath", run("readelf", "-d", core, cwd=private))

    def test_missing_compiler_and_headers_are_named_with_their_packages(self):
        for how, said in (
                ({"CFLAGS": "-include /nonexistent.h"}, r"needs Python\.h, libdeflate\.h, xxhash\.h 0"
                 r"\.8 or newer, which are not there.*\n +apt-get install python3-dev libdeflate-dev libxxhash-dev"),
                ({"CFLAGS": "-DXXHASH_H_5627135585666179 -DXXH_VERSION_NUMBER=700"},
                 r"needs xxhash\.h 0\.8 or newer, which is not there.*\n +apt-get install libxxhash-dev\n"),
                ({"CC": "/nonexistent/cc"}, "needs a C compiler, and there is no /nonexistent/cc"),
                ({"BLOOMFILE_SYSTEM": "1", "PKG_CONFIG_LIBDIR": "/nonexistent", "PKG_CONFIG_PATH": ""},
                 f"needs the library bloomfile {VERSION}, installed"),
                ({"BLOOMFILE_SYSTEM": "1", "PKG_CONFIG": "/nonexistent/pkg-config"}, "needs pkg-config")):
            with self.subTest(how=how):
                with self.assertRaisesRegex(AssertionError, said):
                    run(PYTHON, "setup.py", "build_ext", "--build-temp", "/nonexistent", cwd=self.tree, **how)


unittest.main(verbosity=2)
