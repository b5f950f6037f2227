# SPDX-License-Identifier: MIT
"""test_header_pages.py PAGES LINKS HEADER...: the manual pages of section 3 have all that their headers say."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PAGES, LINKS = Path(sys.argv[1]), Path(sys.argv[2])
HEADERS = [Path(path) for path in sys.argv[3:] if path.endswith(".h")]
CPP = [Path(path) for path in sys.argv[3:] if path.endswith(".hpp")]
MAN = Path(__file__).resolve().parents[2] / "man"
COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def page(header, width=78):
    """The page as a terminal shows it, without boldness."""
    return re.sub(".\b", "", run("mandoc", "-T", "utf8", "-O", f"width={width}", PAGES / f"{header.name}.3").stdout)


def functions(header):
    """The functions that programs may call, with their parameters."""
    text = re.sub(COMMENT, "", header.read_text())
    found = re.findall(r"^(?:BLOOMFILE_API|static inline)[^;{(]*?(\w+)\(([^)]*)\)[;\n {]", text, re.M)
    return [(name, " ".join(arguments.split())) for name, arguments in found if not name.endswith("_")]


def words(text):
    return re.findall(r"\w+", text)


def paragraphs(header):
    """The paragraphs of all comments, except on internal names, which end with an underscore."""
    text = re.sub(rf"(?:{COMMENT}\n)?static inline __attr[^;]*?_\(", "", header.read_text())
    text = re.sub(r"\n\{.*?\n\}\n", "", text, flags=re.S)  # bodies
    inner = r"/\* (BLOOMFILE_INIT_|One row|clang-format|a template|-+ parts of what)"
    for comment in re.findall(COMMENT, text.replace("SPDX-License-Identifier: MIT", "")):
        if re.match(inner, comment):
            continue
        comment = re.sub(r"^/\* -{5,}|-{5,} \*/$|^/\*|\*/$", "", comment)
        comment = re.sub(r"\n\s*\* ?", "\n", comment)
        yield from filter(words, re.split(r"\n\s*\n| ---+ ", re.sub(r"^\s*bloomfile\S*( -|:) ", "", comment)))


def paragraphs_cpp(header):
    """The paragraphs of the header and its parts, except on private members, specialisations and throwing twins."""
    for path in [header, *sorted(header.with_suffix("").glob("*.hpp"))]:
        text = re.sub(r"namespace detail\w*\n.*?// namespace detail\w*|(private|protected):.*?\n\};", "",
                      path.read_text(), flags=re.S)
        text = re.sub(r"#ifdef __cpp_exceptions\n    .*?#endif", "", text, flags=re.S)  # twins in a class
        text = text.replace("SPDX-License-Identifier: MIT", "").replace(". Include bloomfile.hpp.", "")
        for comment in re.findall(rf"^ {{0,4}}({COMMENT})\n(?!#|.*\nstruct \w+<)", text, re.M):
            comment = re.sub(r"\n\s*\* ?", "\n", comment)
            comment = re.sub(r"bloomfile in C\+\+( and|17 and later)?: ", "", comment)
            yield from filter(words, re.split(r"\n\s*\n", comment))


class HeaderPages(unittest.TestCase):
    def test_every_comment_is_on_the_page_word_for_word(self):
        """A shortened name, such as _EHASH after another name, is a pattern for the full name."""
        for header in HEADERS + CPP:
            said = " ".join(words(re.sub(r"(?<=[a-z_])\(\d\)", "", page(header)))).lower()
            found = list(paragraphs_cpp(header) if header in CPP else paragraphs(header))
            self.assertGreater(len(found), 5)
            for text in found:
                pattern = " ".join(r"\w*" * word.startswith("_") + word.lower() for word in words(text))
                self.assertRegex(said, rf"\b{pattern}\b", header.name)

    def test_every_function_has_its_prototype(self):
        for header in HEADERS:
            synopsis = re.search(r"\nSYNOPSIS\n(.*?)\n\w", page(header), re.S)[1]
            synopsis = re.sub(r"\s+", " ", synopsis)
            found = functions(header)
            self.assertGreater(len(found), 0)
            for name, arguments in found:
                self.assertIn(f" {name}({arguments or 'void'});", synopsis, header.name)
            self.assertEqual(len(re.findall(r"\);", synopsis)), len(found), header.name)

    def test_neighbouring_parameters_are_never_both_unsigned(self):
        """Unsigned parameters are not neighbours in stable headers."""
        number = r"(?:unsigned|u?int\d+_t|size_t|bloomfile_digest) \w+"
        for header in HEADERS:
            for name, arguments in functions(header):
                if header.name != "bloomfile_unstable.h" and name != "bloomfile_check_keys":  # a swap returns EVALUE there
                    self.assertNotRegex(arguments, rf"(?:^|, ){number}, {number}(?:,|$)", name)

    def test_every_function_is_described(self):
        for header in HEADERS:
            text = re.sub(r"\s+", " ", page(header))
            for name, arguments in functions(header):
                names = re.findall(r"(\w+)(?:\[\w*\])?(?:,|$)", "" if arguments == "void" else arguments)
                self.assertIn(f"{name}({', '.join(names)}) ", text)

    def test_every_function_is_a_name_of_its_page(self):
        links = dict(line.split() for line in LINKS.read_text().splitlines())
        for header in HEADERS:
            for name, _ in functions(header):
                self.assertEqual(links[name], header.name)
        self.assertEqual(links["bloomfile"], "bloomfile.h")
        self.assertEqual(links["bloomfile_params"], "bloomfile_build.h")

    def test_pages_fit_a_terminal(self):
        for header in HEADERS + CPP:
            self.assertEqual([line for line in page(header).splitlines() if len(line) > 78], [])

    def test_references_lead_to_existing_pages(self):
        known = {f"{name} 3" for line in LINKS.read_text().splitlines() for name in line.split()}
        known |= {f"{header.name} 3" for header in HEADERS + CPP}
        known |= {f"{path.stem} {path.suffix[1:]}" for path in MAN.glob("*.[15]")}
        for header in HEADERS + CPP:
            for name in re.findall(r"^\.Xr \W?\s?(\S+ \d)", (PAGES / f"{header.name}.3").read_text(), re.M):
                self.assertIn(name, known, header.name)

    def test_pages_contain_no_source_code(self):
        for header in HEADERS + CPP:
            self.assertNotRegex(page(header), r"static_assert|enable_if|BLOOMFILE_CPP_|noexcept|/\*|\*/|BLOOMFILE_API \w+ [*]?\w+\(|__attribute__|^ *\* ")

    def test_pages_pass_mandoc_lint(self):
        for path in [*(PAGES / f"{header.name}.3" for header in HEADERS + CPP), MAN / "bloomfile.5"]:
            result = run("mandoc", "-T", "lint", "-W", "warning", path)
            self.assertEqual((result.returncode, result.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
