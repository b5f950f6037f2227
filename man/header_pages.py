# SPDX-License-Identifier: MIT
"""header_pages.py DATE FOLDER HEADER...: writes a manual page of section 3 for each public header to FOLDER/HEADER.3. The text
comes from the header's comments.
header_pages.py --links FILE HEADER...: writes further names of the pages, as lines "NAME PAGE"."""

import re
import sys
from pathlib import Path

from header_c import Header
from header_cpp import CppHeader

LIST_WIDTH = 27  # of the longest name with its comment on the same line
CODE_WIDTH = 73  # of an example on a terminal of 80 columns
ERRNO = re.compile(r"E[A-Z]{3,}$")


class Page:
    def __init__(self, header, headers, date):
        self.header, self.headers, self.lines = header, headers, []
        self.homes = names_of(headers)
        self.known = {d.name for h in headers for d in h.declarations("constant")} | \
            {m.name for h in headers for d in h.declarations("enum") for m in d.members}
        self.errors = {name: text for h in headers for name, text in h.errors.items()}
        self.named, self.before = set(), ""
        self.examples, self.last_was_code = [], False
        self.add(f".Dd {date}", f".Dt {header.name.upper()} 3", ".Os", ".Sh NAME", f".Nm {header.name}",
                 f".Nd {header.title}")
        self.synopsis()
        self.add(".Sh DESCRIPTION")
        self.text(header.comment, is_head=True)
        for section in header.sections:
            self.section(section)
        self.ending()

    def add(self, *lines):
        self.lines.extend(lines)

    def gap(self):
        if not self.lines[-1].startswith((".Pp", ".Ss", ".Sh", ".It")):
            self.add(".Pp")

    def synopsis(self):
        self.add(".Sh SYNOPSIS", f".In {self.header.name}")
        for declaration in self.header.declarations("class"):
            self.add(f'.Vt "class bloomfile::{declaration.name};"')
        for function in self.header.declarations("function"):
            self.add(f".Ft {function.result}", f".Fo {function.name}",
                     *(f'.Fa "{argument}"' for argument in function.arguments or ["void"]), ".Fc")

    def section(self, section):
        public = [g for g in section.groups if g.declarations]
        if not public and not section.comment:
            return
        title = section.title
        if not title:
            title = "Functions" if any(d.kind == "function" for g in public for d in g.declarations) else "Constants"
        title = title[0].upper() + title[1:]
        self.add(".Ss " + re.sub(r"\b([A-Z][a-z]{1,2})\b", r"\\&\1", title))  # mdoc could take these words for macros
        self.text(section.comment)
        for group in public:
            self.group(group)

    def group(self, group):
        """The declarations and their comment below them. Constants with their own comments follow."""
        own = [d for d in group.declarations if (d.comment if group.comment else d.kind == "constant")]
        shared = [d for d in group.declarations if d not in own]
        if len(own) == len(group.declarations) and group.comment:
            self.gap()
            self.text(group.comment)
        if shared:
            self.list([(self.head(d), "") for d in shared], compact=True)
            self.lines.pop()
            self.text(group.comment or shared[-1].comment)
            for declaration in shared:
                if declaration.kind in ("struct", "enum"):
                    self.members(declaration)
                for inner in getattr(declaration, "groups", []):
                    self.group(inner)
            self.add(".El")
        constants = [(self.head(d), d.comment) for d in own if d.kind == "constant"]
        if constants:
            self.list(constants, compact=len(constants) > 1)
        for declaration in own:
            if declaration.kind != "constant":
                self.list([(self.head(declaration), declaration.comment)], compact=True)

    def list(self, items, compact):
        """A list of declarations. Each text is below its declaration, or next to it if the declaration is short."""
        widths = [len(head.partition(" ")[2]) for head, _ in items]
        width = f"{max(w for w in widths if w <= LIST_WIDTH)}n" if len(items) > 1 and min(widths) <= LIST_WIDTH \
            and any(text for _, text in items) else "Ds"
        if compact:
            self.gap()
        self.add(f".Bl -tag -width {width}{' -compact' * compact}")
        for head, text in items:
            self.add(f".It {head}")
            self.text(text)
        self.add(".El")

    @staticmethod
    def head(d):
        if d.kind == "function":
            names = [re.search(r"(\w+)(\[.*\])?$", argument)[1] for argument in d.arguments]
            return " ".join(["Fn", d.name, *(f'"{name}"' for name in names)])
        if d.kind in ("struct", "enum"):
            return f"Vt {d.kind} {d.name}" + (f" , Dv {d.init}" if d.init else "")
        if d.kind in ("class", "signature"):
            name = d.name.replace('"', '""')
            return f'Vt "{"class " * (d.kind == "class")}{name}"'
        return f"Vt {d.name}" if d.kind == "type" else f"Dv {d.name}"

    def members(self, declaration):
        macro = "Vt" if declaration.kind == "struct" else "Dv"
        items = []
        for member in [*declaration.members, ""]:
            if isinstance(member, str):
                if items:
                    self.list(items, compact=True)
                if member:
                    self.gap()
                    self.text(member)
                items = []
            else:
                items.append((f"{macro} {member.name.replace(',', ' ,')}", member.comment))

    def ending(self):
        if self.examples:
            self.add(".Sh EXAMPLES")
            for code in self.examples:
                self.code(code)
        if self.header.errors or self.named:
            self.add(".Sh ERRORS")
            if not self.header.errors:
                self.add("All errors and their kinds are in", ".Xr bloomfile_error.h 3 .", "Besides those of the system:")
            else:
                self.add(".Fn bloomfile_strerror", "returns these words:")
            self.list([(f"Er {name}", text) for name, text in self.errors.items()
                       if self.header.errors or name in self.named], compact=True)
        others = sorted(h.name for h in self.headers if h is not self.header)
        self.add(".Sh SEE ALSO", ".Xr bfcreate 1 ,", *(f".Xr {name} 3 ," for name in others), ".Xr bloomfile 5")

    # ---- text

    def text(self, text, is_head=False):
        """Paragraphs with each sentence on a line, lists, and code."""
        first = True
        blocks = re.split(r"\n\s*\n", text) if text else []
        before = ""
        for block in blocks:
            if block.startswith("    "):
                code = "\n".join(line.removeprefix("    ") for line in block.split("\n"))
                if is_head and not before.rstrip().endswith(":"):
                    self.keep_example(code)
                else:
                    self.code(code)
                before = block
                continue
            for prose, items in stretches(block):
                for part in re.split(r"(?<=[.;)]) (?=Errors?(?: as [^:]*)?: )|(?<=\.) (?=Errors? as )", prose) if prose else []:
                    if not first:
                        self.add(".Pp")
                    first = False
                    self.paragraph(part, is_head)
                if items:
                    first = False
                    self.list([(self.item(name), what) for name, what in items], compact=True)
            before = block

    def keep_example(self, code):
        """Stores code for the section EXAMPLES. Consecutive blocks become one example, with empty lines between."""
        if self.examples and self.last_was_code:
            self.examples[-1] += "\n\n" + code
        else:
            self.examples.append(code)
        self.last_was_code = True

    def paragraph(self, text, is_head):
        self.last_was_code = False
        lead = re.match(r"((?:[A-Z]|fork)[\w ]{0,14}[.?]) ", text) if is_head else None
        if lead:
            self.add(f".Sy {escape(lead[1][:-1])} {lead[1][-1]}")
            text = text[lead.end():]
        for sentence in re.split(r"(?<=[a-z\d)`\"\]*][.?]) (?=[A-Z*\"]|[a-z_]+:|\w+_\w+ |\w+\[)", text):
            self.sentence(sentence)

    def sentence(self, text):
        line = []
        for word in text.split():
            macro = self.macro(word)
            if macro:
                if line:
                    self.add(escape(" ".join(line)))
                self.add(macro)
                line = []
            else:
                line.append(word)
        if line:
            self.add(escape(" ".join(line)))

    def item(self, name):
        if not re.match(r"\w+$", name):
            return escape(name)
        return (self.macro(name) or f".Fa {name}")[1:]

    def macro(self, word):
        """A word as a macro with the punctuation around it, or None."""
        before, core, after = re.match(r"([(\"]*)(.*?)((?:\.\.\.|[.,;:?)\"]|'s)*)$", word).groups()
        if '"' in before + after or "'" in after:
            return None
        made = self.core(core)
        if made is None and after.startswith(")") and core.endswith("("):
            made, after = self.core(core + ")"), after[1:]
        if made is None:
            return None
        name, _, argument = made.partition(" ")
        return " ".join([f".{name}", *before, argument, *after])

    def core(self, core):
        error = "BLOOMFILE" + core if core.startswith("_") else core
        if error in self.errors:
            self.named.add(error)
            return f"Er {error}"
        if ERRNO.match(core):
            return f"Er {core}"
        if error in self.known or core in ("NULL", "SIGBUS", "SIGKILL"):
            return f"Dv {error}"
        if re.match(r"(bloomfile)?_\w+\(\)$", core):
            self.before = name = self.whole_name(core[:-2])
            return f"Fn {name}" if self.homes.get(name, self.header) is self.header else f"Xr {name} 3"
        if core in (h.name for h in self.headers):
            return f"Nm {core}" if core == self.header.name else f"Xr {core} 3"
        if re.match(r"(bloomfile_\w+|params)\.\w+$", core):
            return f"Va {core}"
        if re.match(r"(/\w+|[\w/-]+\.md)$", core):
            return f"Pa {core}"
        if core == "$TMPDIR":
            return "Ev TMPDIR"
        if re.match(r"`\w+`$", core):
            return f"Fa {core[1:-1]}"
        if re.match(r"(\w+->|->|\*)\w+$", core):
            return f"Fa {core}"
        return None

    def whole_name(self, name):
        """The full name of an abbreviated function: in "bloomfile_fold_fd() or _memory()", bloomfile_fold_memory()."""
        parts = self.before.split("_")
        for i in range(len(parts), 0, -1) if name.startswith("_") else []:
            if "_".join(parts[:i]) + name in self.homes:
                return "_".join(parts[:i]) + name
        return name

    def code(self, code):
        wide = [line for line in code.split("\n") if len(line) > CODE_WIDTH]
        if wide:
            raise SystemExit(f"{self.header.name}: an example is wider than {CODE_WIDTH} columns: {wide[0]}")
        self.add(".Bd -literal", *(escape(line) for line in code.split("\n")), ".Ed")


def stretches(block):
    """Pairs of a paragraph and the list below it. An item is a line "  NAME  TEXT" and the lines indented further."""
    found = [("", [])]
    for line in block.split("\n"):
        item = re.match(r"  (\S+(?: \S+)*?)  +(\S.*)$", line)
        if item:
            found[-1][1].append(item.groups())
        elif line.startswith("   ") and found[-1][1]:
            name, what = found[-1][1].pop()
            found[-1][1].append((name, f"{what} {line.strip()}"))
        else:
            if found[-1][1]:
                found.append(("", []))
            found[-1] = (f"{found[-1][0]} {line}".strip(), [])
    return [(" ".join(prose.split()), items) for prose, items in found]


def escape(text):
    text = text.replace("\\", "\\e").replace("`", "\\(ga")
    return "\\&" + text if text[:1] in (".", "'") else text


def names_of(headers):
    """The names in the namespace of C, and the header of each."""
    return {d.name: h for h in headers if isinstance(h, Header) for d in h.declarations("function", "struct", "enum")}


def links(headers):
    """Functions and types lead to the page of their header. So does its name without .h, unless it is taken."""
    found = names_of(headers)
    for header in headers:
        found.setdefault(header.name.partition(".")[0], header)
    return sorted(found.items())


def read(paths):
    return [(CppHeader if path.endswith(".hpp") else Header)(Path(path)) for path in paths]


def main(arguments):
    if arguments[0] == "--links":
        found = links(read(arguments[2:]))
        Path(arguments[1]).write_text("".join(f"{name} {header.name}\n" for name, header in found))
        return
    date, folder = arguments[:2]
    headers = read(arguments[2:])
    for header in headers:
        page = Page(header, headers, date)
        (Path(folder) / f"{header.name}.3").write_text("\n".join(page.lines) + "\n")


main(sys.argv[1:])
