# SPDX-License-Identifier: MIT
"""Builds bloomfile for Python: the extension bloomfile._core with the library compiled in, as one wheel for
CPython 3.11 and newer; free-threaded versions each need a wheel of their own. With BLOOMFILE_SYSTEM=1 it is linked with
the installed library, which pkg-config finds. With BLOOMFILE_LIBDEFLATE=FOLDER libdeflate's CRC-32 is compiled in from
its sources there.
"""

import concurrent.futures
import os
import pathlib
import platform
import posixpath
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

if sys.version_info < (3, 11):  # pip reads requires-python only after it has run this
    raise SystemExit(f"bloomfile needs Python 3.11 or newer, and this is {platform.python_version()}")

import tomllib

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError

HERE = pathlib.Path(__file__).resolve().parent
COPIED = HERE / "library"  # in an archive of sources
LIBRARY = COPIED if COPIED.is_dir() else HERE.parent.parent
LIBRARY_FILES = ["LICENSE", "meson.build", "include/*.h", "lib/meson.build", "lib/**/*.[ch]"]
SYSTEM = os.environ.get("BLOOMFILE_SYSTEM", "0") not in ("", "0")
LIBDEFLATE = os.environ.get("BLOOMFILE_LIBDEFLATE", "")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # these versions lack the limited API

# All flags that meson.build gives the library, except warnings.
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-ffp-contract=off", "-fvisibility=hidden",
         "-fno-lto", "-pthread",
         "-Werror=implicit-function-declaration"]  # functions beyond the limited API are missing in some versions of Python
if platform.machine() in ("i386", "i686") or (platform.machine() == "x86_64" and sys.maxsize < 2**32):
    FLAGS += ["-msse2", "-mfpmath=sse", "-Wno-psabi"]

# A header, a condition that it must meet, and its Debian package.
PYTHON_H = ("Python.h", "", "", "python3-dev")
HEADERS = [
    PYTHON_H,
    ("libdeflate.h", "", "", "libdeflate-dev"),
    ("xxhash.h", "0.8 or newer", "XXH_VERSION_NUMBER >= 800", "libxxhash-dev"),
]


def version():
    text = (LIBRARY / "meson.build").read_text(encoding="utf-8")
    return re.search(r"^  version: '(.+)',$", text, re.MULTILINE)[1]


def package_version():
    """Returns the version as Python spells it: 1.0.0rc1."""
    return version().replace("-", "")


def readme():
    """Returns README.md with absolute links, for a package index."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = f"{project['urls']['Homepage']}/blob/main/"

    def absolute(link):
        file, _, part = link[1].partition("#")
        return f"]({folder}{posixpath.normpath('bindings/python/' + (file or 'README.md'))}{'#' * bool(part)}{part})"

    return re.sub(r"\]\((?!https?:)([^)\s]+)\)", absolute, (HERE / "README.md").read_text(encoding="utf-8"))


def library_sources():
    """Returns the files that lib/meson.build names."""
    text = (LIBRARY / "lib/meson.build").read_text(encoding="utf-8")
    parts = re.search(r"^lib_parts = \{(.*?)^\}", text, re.DOTALL | re.MULTILINE)[1]
    return [str(LIBRARY / "lib" / source) for source in re.findall(r"'([^']+\.c)'", parts)]


def libdeflate_sources():
    """Returns the sources of its CRC-32, which detects the processor."""
    folder = pathlib.Path(LIBDEFLATE, "lib").resolve()
    return [str(folder / "crc32.c"), *sorted(str(path) for path in folder.glob("*/cpu_features.c"))]


class Build(build_ext):
    """Checks the requirements first, then compiles in parallel."""

    def finalize_options(self):
        super().finalize_options()
        self.force = True  # old objects may be of the other kind, with or without the library

    def build_extensions(self):
        if sys.platform != "linux":
            raise SystemExit("bloomfile runs on Linux only")
        compile_one = self.compiler.compile
        with concurrent.futures.ThreadPoolExecutor(self.parallel or len(os.sched_getaffinity(0))) as pool:

            def compile_all(sources, **how):
                return [objects[0] for objects in pool.map(lambda source: compile_one([source], **how), sources)]

            self.compiler.compile = compile_all
            super().build_extensions()

    def build_extension(self, ext):
        if SYSTEM:
            self.need([PYTHON_H])
            ext.extra_compile_args += pkg_config("--cflags")
            ext.extra_link_args += pkg_config("--libs") + rpaths()
        else:
            small = [] if self.debug else ["-g0"]
            if LIBDEFLATE:
                self.include_dirs.append(LIBDEFLATE)
                ext.extra_objects = self.compiler.compile(
                    libdeflate_sources(), output_dir=self.build_temp, include_dirs=[LIBDEFLATE],
                    extra_preargs=["-O3", "-fvisibility=hidden", "-Wno-attributes"], extra_postargs=small)
            self.need(HEADERS)
            ext.include_dirs += [str(LIBRARY / "include")]
            ext.extra_objects += self.compiler.compile(
                library_sources(), output_dir=self.build_temp,
                include_dirs=[*self.include_dirs, str(LIBRARY / "include"), str(LIBRARY / "lib")],
                extra_preargs=FLAGS, extra_postargs=small)
            ext.extra_compile_args += small
            ext.extra_link_args += [*([] if LIBDEFLATE else ["-ldeflate"]), "-lm", "-pthread"] + ([] if self.debug else ["-Wl,-s"])
        super().build_extension(ext)

    def compiles(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "try.c")
            source.write_text(text, encoding="ascii")
            command = [*self.compiler.compiler_so, *(f"-I{path}" for path in self.include_dirs), "-D_GNU_SOURCE", "-c",
                       str(source), "-o", str(source.with_suffix(".o"))]
            return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0

    def need(self, headers):
        compiler = self.compiler.compiler_so[0]
        if not shutil.which(compiler):
            raise SystemExit(f"bloomfile needs a C compiler, and there is no {compiler} (Debian: gcc libc6-dev)")
        missing = [header for header in headers if not self.compiles(
            f"#include <{header[0]}>\n" + (f"#if !({header[2]})\n#error too old\n#endif\n" if header[2] else ""))]
        if missing:
            raise SystemExit("bloomfile needs " + ", ".join(
                name + (" " + which if which else "") for name, which, _, _ in missing) + ", which " +
                ("is" if len(missing) == 1 else "are") + " not there. On Debian, as root:\n    apt-get install " +
                " ".join(header[3] for header in missing))


def pkg_config_is(what):
    return subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), what, "bloomfile"], check=False).returncode == 0


def pkg_config(what):
    try:
        done = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), what, f"bloomfile = {version()}"],
                              check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit("BLOOMFILE_SYSTEM=1 needs pkg-config (Debian: pkg-config)") from None
    if done.returncode != 0:
        raise SystemExit(f"BLOOMFILE_SYSTEM=1 needs the library bloomfile {version()}, installed:\n{done.stderr}")
    return shlex.split(done.stdout)


def rpaths():
    """Lets the extension find a library in a private folder. pkg-config does not name the default folders; an uninstalled build
    tree moves elsewhere."""
    folders = [] if pkg_config_is("--uninstalled") else pkg_config("--libs-only-L")
    return [f"-Wl,-rpath,{folder.removeprefix('-L')}" for folder in folders]


class Archive(sdist):
    """Includes the sources of the library, so that the archive builds alone."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        text = pathlib.Path(base_dir, "README.md")
        text.unlink()  # it may be a link to the file here
        text.write_text(readme(), encoding="utf-8")
        for pattern in LIBRARY_FILES:
            for path in LIBRARY.glob(pattern):
                self.mkpath(str(pathlib.Path(base_dir) / COPIED.relative_to(HERE) / path.relative_to(LIBRARY).parent))
                self.copy_file(str(path), str(pathlib.Path(base_dir) / COPIED.relative_to(HERE) / path.relative_to(LIBRARY)))


core = HERE / "src/core"
setup(
    version=package_version(),
    license="MIT",
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[Extension(
        "bloomfile._core",
        sorted(str(path.relative_to(HERE)) for path in core.glob("*.c")),
        define_macros=[("PACKAGE_VERSION", f'"{package_version()}"'),
                       ("BLOOMFILE_FREE_THREADED", None) if FREE_THREADED else ("Py_LIMITED_API", "0x030b0000")],
        extra_compile_args=list(FLAGS),
        extra_link_args=[f"-Wl,--version-script={core / 'exports.map'}"],
        py_limited_api=not FREE_THREADED)],
    cmdclass={"build_ext": Build, "sdist": Archive},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
