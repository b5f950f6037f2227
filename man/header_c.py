# SPDX-License-Identifier: MIT
"""A parser of C headers, for their manual pages."""

import re

from comments import COMMENT, Declaration, Group, Section, body_end, text_of, title_and_text, without

TOKEN = re.compile(rf"""(?P<gap>\n[ \t]*(?=\n))|\s+|(?P<comment>{COMMENT})|(?P<define>\#define(?:[^\n\\]|\\\n|\\.)*)|\#[^\n]*
                        |(?P<declaration>(?:[^;{{}}"]|"[^"]*")+)(?P<end>[;{{])|[}};]""", re.VERBOSE)
BEHIND = re.compile(rf"[ \t]*({COMMENT})")


def split_arguments(text):
    return [] if text.strip() in ("", "void") else [" ".join(a.split()) for a in text.split(",")]


def function(text):
    match = re.match(r"(?:BLOOMFILE_API|static inline)\s+(.*?)(\**)(\w+)\((.*)\)$", " ".join(text.split()))
    if not match:
        return None
    result, stars, name, arguments = match.groups()
    return Declaration("function", name, result=f"{result.strip()}{' ' * bool(stars)}{stars}",
                       arguments=split_arguments(arguments))


def members(body):
    """The members of a struct as Declarations, and the comments that stand alone as strings."""
    found = []
    for match in re.finditer(rf"(?P<alone>{COMMENT})|(?P<member>\w[^;/]*);[ \t]*(?P<own>{COMMENT})?", body):
        if match["alone"]:
            found.append(text_of(match["alone"]))
        else:
            found.append(Declaration("member", " ".join(match["member"].split()), text_of(match["own"] or "")))
    return found


def enum_values(body):
    body = re.sub(r"\n\s*#.*", "", body)
    return [Declaration("member", match[1], text_of(match[2] or ""))
            for match in re.finditer(rf"(\w+)[^,/}}]*,?[ \t]*({COMMENT})?", body)]


class Header:
    def __init__(self, path):
        self.name, text = path.name, path.read_text()
        first = re.search(COMMENT, text)
        self.title, self.comment = title_and_text(first[0])
        self.sections, self.errors = [Section("", "")], {}
        self.parse(without("__cplusplus", text[first.end():]))
        self.sections = [s for s in self.sections if s.comment or any(g.declarations for g in s.groups)]

    def group(self):
        groups = self.sections[-1].groups
        if not groups or self.closed:
            groups.append(Group(""))
        self.closed = False
        return groups[-1]

    def parse(self, text):
        self.closed, at = True, 0
        while at < len(text):
            match = TOKEN.match(text, at)
            at = match.end()
            if match["gap"]:
                self.closed = True
            elif match["comment"]:
                self.take_comment(match["comment"])
            elif match["define"]:
                self.take_define(match["define"])
            elif match["declaration"]:
                at = self.take_declaration(match["declaration"], match["end"], text, at)

    def take_comment(self, comment):
        title = re.match(r"/\* -{5,} (.*?)\s*(\n|\*/)", comment)
        if title:
            rest = text_of("/*\n" + comment[title.end():]) if title[2] == "\n" else ""
            self.sections.append(Section(title[1], rest.strip("\n")))
            self.closed = True
        else:
            self.sections[-1].groups.append(Group(text_of(comment)))
            self.closed = False

    def take_define(self, text):
        match = re.match(rf"#define (BLOOMFILE_\w*[A-Z0-9])\s+(?!__)([^\n]*?)[ \t]*({COMMENT})?$", text, re.S)
        if not match or "VERSION_M" in match[1] or "VERSION_P" in match[1]:
            return
        if match[2].startswith("BLOOMFILE_INIT_("):
            owner = match[2][:-1].split()[-1]
            for section in self.sections:
                for group in section.groups:
                    for declaration in group.declarations:
                        if declaration.kind == "struct" and declaration.name == owner:
                            declaration.init = match[1]
            return
        self.group().declarations.append(Declaration("constant", match[1], text_of(match[3] or "")))

    def take_declaration(self, text, end, whole, at):
        text = text.strip()
        if end == "{" and not text.startswith('extern "C"'):
            stop = body_end(whole, at)
            body, at = whole[at:stop - 1], stop
        declared = None
        found = re.match(r"(struct|enum) (\w+)$", text)
        if found and end == "{" and found[2] == "bloomfile_error":
            self.errors.update(re.findall(r"(\w+) =\s*-\d+,\s*/\* (.*?) \*/", body))
        elif found and end == "{":
            parts = members(body) if found[1] == "struct" else enum_values(body)
            declared = Declaration(found[1], found[2], members=parts, init=None)
        elif text.startswith("typedef"):
            what, _, name = text.partition("(")[0].rpartition(" ")
            declared = Declaration("type", name, what=what.removeprefix("typedef "))
        elif "(" in text and not text.startswith('extern "C"'):
            declared = function(text)
        behind = BEHIND.match(whole, at + (whole[at:at + 1] == ";"))
        if behind and declared:
            declared.comment, at = text_of(behind[1]), behind.end()
        if declared and not declared.name.endswith("_"):
            self.group().declarations.append(declared)
        return at

    def declarations(self, *kinds):
        return [d for s in self.sections for g in s.groups for d in g.declarations if d.kind in kinds]
