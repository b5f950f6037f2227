# SPDX-License-Identifier: MIT
"""The parts of headers that manual pages show."""

import re

COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"


class Declaration:
    """A function, struct, enum, constant, type or class, with its own comment."""

    def __init__(self, kind, name, comment="", **more):
        self.kind, self.name, self.comment = kind, name, comment
        self.__dict__.update(more)


class Group:
    """A comment and the declarations that it describes."""

    def __init__(self, comment):
        self.comment, self.declarations = comment, []


class Section:
    def __init__(self, title, comment):
        self.title, self.groups, self.comment = title, [], comment


def text_of(comment):
    """A comment without its stars."""
    comment = re.sub(r"^/\*+ ?|\s*\*/$", "", comment)
    if re.search(r"\n\s*\*", comment):
        return re.sub(r"\n[ \t]*\*? ?", "\n", comment).rstrip()
    return re.sub(r"\s*\n\s*", " ", comment)


def title_and_text(comment):
    """The title and the text of a header's first comment."""
    text = text_of(comment).removeprefix("SPDX-License-Identifier: MIT").strip()
    title, _, rest = text.partition("\n\n")
    return re.split(r" - |: ", title, maxsplit=1)[-1], rest


def body_end(text, at):
    """The position after the brace that closes the block containing `at`."""
    depth = 1
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def without(condition, text):
    """Leaves out the lines between `#ifdef` of the condition and its `#else` or `#endif`."""
    kept, seen = [], []
    for line in text.split("\n"):
        if re.match(r"#\s*if", line):
            seen.append([bool(re.match(rf"#\s*ifdef {condition}", line)), True])
        elif re.match(r"#\s*else", line) and seen:
            seen[-1][1] = False
        elif re.match(r"#\s*endif", line) and seen:
            seen.pop()
        elif all(not known or not first for known, first in seen):
            kept.append(line)
    return "\n".join(kept)
