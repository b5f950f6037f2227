# SPDX-License-Identifier: MIT
"""A parser of a C++ header and the headers it includes, for one manual page: classes with their public members, and
functions. Functions that need exceptions are left out."""

import re

from comments import COMMENT, Declaration, Group, Section, body_end, text_of, title_and_text, without

NO_PART = re.compile(r"\b(?:BLOOMFILE_CPP_PART_|BLOOMFILE_API|inline|constexpr|explicit|friend) |\[\[nodiscard\]\] |__attribute__\(\(error\(.*?\)\)\) | noexcept\b")


def declaration_end(text, at):
    """The position of the `;` or `{` that ends a declaration, outside of parentheses."""
    depth = 0
    while depth > 0 or text[at] not in ";{":
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def signature(text):
    """A function as its callers see it; None if it cannot be called by name."""
    text = " ".join(re.sub(COMMENT, "", text).split())
    text = re.sub(r"^template <[^(]*enable_if.*>> (?=\w)", "", NO_PART.sub("", text))
    text = re.sub(r"\) : .*", ")", text)  # initializers of a constructor
    name = re.search(r"(operator\W+|\w+)\(", text)
    if not name or text.endswith(("= default", "= delete")) or re.search(r"~|&&other\)|nullptr_t|operator=", text):
        return None
    return Declaration("signature", text, function=name[1])


class CppHeader:
    errors = {}

    def __init__(self, path):
        self.name = path.name
        text = path.read_text()
        self.title, self.comment = title_and_text(re.search(COMMENT, text)[0])
        self.sections = []
        order = self.comment[self.comment.index("bloomfile/"):]  # the order in the comment
        for name in sorted(re.findall(r"#include <bloomfile/(\w+)\.hpp>", text), key=order.index):
            self.part((path.with_suffix("") / f"{name}.hpp").read_text())

    def part(self, text):
        head = re.search(COMMENT, text)
        title, comment = title_and_text(head[0])
        self.sections.append(Section(title.removesuffix(". Include bloomfile.hpp."), comment))
        self.sections[-1].groups = self.items(text[head.end():], True)

    def items(self, text, is_public):
        """The groups of a namespace or a class."""
        groups, at, closed = [], 0, True
        while match := re.compile(rf"(?P<gap>\s*\n[ \t]*(?=\n))|\s+|(?P<comment>{COMMENT})|\#[^\n]*|//[^\n]*|(?P<access>\w+):(?!:)|(?P<end>\}}|;)|(?=.)",
                                  re.S).match(text, at):
            at = match.end()
            if match["gap"]:
                closed = True
            elif match["access"]:
                is_public, closed = match["access"] == "public", True
            elif match["comment"]:
                groups.append(Group(text_of(match["comment"])))
                closed = False
            elif match[0] == "" and at < len(text):
                end = declaration_end(text, at)
                head, at = text[at:end], end + 1
                body = None
                if text[end] == "{":
                    body, at = text[at:body_end(text, at) - 1], body_end(text, at)
                if head.split() in (["namespace", "bloomfile"], ["inline", "namespace", "v1"]):
                    groups += self.items(body, True)
                    continue
                declared = self.declaration(head, body) if is_public else None
                if declared and closed:
                    groups.append(Group(""))
                if declared:
                    groups[-1].declarations.append(declared)
                closed = closed and not declared
        return groups

    def declaration(self, head, body):
        found = re.match(r"(?:template <.*?> )?(class|struct) (\w+)\b(?!<|::|.*\()", NO_PART.sub("", " ".join(head.split())))
        if found and body is not None:
            parameters = re.search(r"template <(.*?)>+\s*(?:class|struct)", head, re.S)
            names = re.findall(r"(?:class|std::size_t) (\w+)", parameters[1]) if parameters else []
            name = found[2] + f"<{', '.join(names)}>" * bool(names)
            inner = self.items(without("__cpp_exceptions", body), found[1] == "struct")
            return Declaration("class", name, plain=found[2], groups=[g for g in inner if g.declarations])
        found = re.match(r"enum class (\w+)(?: : unsigned)?", head.strip())
        if found and body is not None:
            values = [Declaration("member", name, text_of(comment or ""))
                      for name, comment in re.findall(rf"(\w+) = \w+,[ \t]*({COMMENT})?", body)]
            return Declaration("enum", f"class {found[1]}", members=values, init=None)
        found = re.match(r"inline constexpr \w+ (\w+) =", head.strip())
        if found:
            return Declaration("constant", found[1])
        if "(" in head and not re.match(r"\s*(namespace|template <class H|using|static_assert)", head):
            return signature(head)
        return None

    def declarations(self, *kinds):
        return [d for s in self.sections for g in s.groups for d in g.declarations if d.kind in kinds]
