# SPDX-License-Identifier: MIT
"""Mutants of C, found in clang's AST. All mutants of a file are compiled into it: each place becomes

    (MUTANT(first, count) ? (changed) : (as it was))

mutant.h selects the mutant that a process runs, and records the values. So no mutant needs a build of its own, and
lines stay in place."""

import collections
import ctypes
import hashlib
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's module, for a python3 that is not Debian's
from clang import cindex  # noqa: E402

Kind = cindex.CursorKind
TypeKind = cindex.TypeKind

# A boundary or a sibling. Negations are not needed: the mutants below hold each condition at false and at true.
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|",
         "|": "&", "^": "|", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "%=": "/=",
         "|=": "&=", "&=": "|=", "^=": "|=", "<<=": ">>=", ">>=": "<<="}
RELATIONS = "<", "<=", ">", ">=", "==", "!="
NUMBERS = (TypeKind.BOOL, TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG,
           TypeKind.ULONGLONG, TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.SHORT, TypeKind.INT, TypeKind.LONG,
           TypeKind.LONGLONG, TypeKind.ENUM, TypeKind.DOUBLE, TypeKind.FLOAT)
# libclang does not distinguish a macro from its expansion; here, macros have names of their own kind.
MACRO = re.compile(r"([A-Z][A-Z0-9_]+|atomic_\w+|true|false)\b")
WHOLE_MACRO = re.compile(r"([A-Z][A-Z0-9_]+|atomic_\w+)(\(.*\))?|true|false", re.S)
BOOLEANS = {"false": "0", "true": "1"}
NUMBER_MACRO = re.compile(r"[A-Z][A-Z0-9_]+(\(.*\))?", re.S)
WITHOUT_EFFECT = re.compile(r"\b(assert|static_assert|_Static_assert|__builtin_constant_p|__builtin_prefetch)\s*\(")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)

class Place:
    """A place in a file's text: the original, and its replacements."""

    def __init__(self, start, end, kind):
        self.start, self.end, self.kind, self.mutants = start, end, kind, {}


class Identity:
    """Stays the same if other lines change, or the file gets another name. No two functions of lib/ have one name."""

    def __init__(self, file, function, source, name, nth):
        self.file, self.function, self.source, self.name, self.nth = file, function, source, name, nth
        text = "\0".join((function, source, name, str(nth)))
        self.id = hashlib.sha256(text.encode()).hexdigest()[:10]
        self.line = 0

    @property
    def room(self):
        parts = pathlib.PurePath(self.file).parts
        return parts[1] if len(parts) > 2 else "."

    def __str__(self):
        nth = f" (number {self.nth + 1})" if self.nth else ""
        return f"{self.file}:{self.line}: {self.function}: {self.source}  ->  {self.name}{nth}"


def file_offset(location):
    """(file, offset) as written: in the argument of a macro, or at the macro's name."""
    file, line, column, offset = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    function = cindex.conf.lib.clang_getFileLocation
    function.argtypes = [cindex.SourceLocation] + [ctypes.c_void_p] * 4
    function.restype = None
    function(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column), ctypes.byref(offset))
    return file.value, offset.value


def strip(node):
    """The node without implicit casts and parentheses around it."""
    while node.kind in (Kind.UNEXPOSED_EXPR, Kind.PAREN_EXPR):
        children = list(node.get_children())
        if len(children) != 1:
            break
        node = children[0]
    return node


def one_line(text):
    return " ".join(COMMENT.sub(" ", text).split())


class File:
    """A file of lib/: its text and its places."""

    def __init__(self, path, name):
        self.name, self.text = name, path.read_text()
        self.places = {}
        self.functions = []  # (start, end, name)
        self.directives = [match.span() for match in DIRECTIVE.finditer(self.text)]

    def add(self, start, end, kind, name, text):
        if "\n#" in self.text[start:end] or any(a <= start < b for a, b in self.directives):
            return
        place = self.places.setdefault((start, end), Place(start, end, kind))
        now = BOOLEANS.get(self.text[start:end], one_line(self.text[start:end]))
        if place.kind == kind and one_line(text) not in (now, *place.mutants.values()):
            place.mutants.setdefault(name, one_line(text))

    def all(self):
        """[(Place, [(Identity, name)])], outer before inner."""
        seen, result = collections.Counter(), []
        for place in sorted(self.places.values(), key=lambda p: (p.start, -p.end)):
            if not place.mutants:
                continue
            function = next((name for a, b, name in self.functions if a <= place.start < b), "?")
            source = one_line(self.text[place.start:place.end])
            mutants = []
            for name in place.mutants:
                nth = seen[function, source, name]
                seen[function, source, name] += 1
                identity = Identity(self.name, function, source, name, nth)
                identity.line = self.text.count("\n", 0, place.start) + 1
                mutants.append((identity, name))
            result.append((place, mutants))
        return result


class Finder:
    """Finds, in one translation unit, all places in files of lib/ that are not known yet."""

    def __init__(self, root):
        self.root, self.files, self.known = root, {}, set()

    def parse(self, source, arguments):
        unit = cindex.Index.create().parse(str(source), args=arguments)
        errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise RuntimeError(f"{source}: {errors[0]}")
        for node in unit.cursor.get_children():
            where = node.location.file
            if where is None or node.kind != Kind.FUNCTION_DECL or not node.is_definition():
                continue
            try:
                name = str(pathlib.Path(where.name).resolve().relative_to(self.root))
            except ValueError:
                continue
            if not name.startswith("lib/"):
                continue
            self.file = self.files.setdefault(name, File(self.root / name, name))
            self.parts, self.endless, self.lesser = set(), set(), set()  # of longer chains of && or ||; loops; a < b ? a : b
            self.handle = file_offset(node.extent.start)[0]
            start, end = self.span(node)
            if (name, start) in self.known or end <= start:
                continue
            self.known.add((name, start))
            self.file.functions.append((start, end, node.spelling))
            for child in node.get_children():
                if child.kind == Kind.COMPOUND_STMT:
                    self.statement(child)

    # ---- text

    def span(self, node):
        """The text range of a node; (0, 0) if it is not in the text of this file."""
        first, start = file_offset(node.extent.start)
        last, end = file_offset(node.extent.end)
        if first != self.handle or last != self.handle:
            return 0, 0
        # A node in a macro's body may end where the macro's name begins.
        text = self.file.text
        if text[end:end + 1].isidentifier():
            end = self.after_macro(end)
        if MACRO.match(text, start):
            end = max(end, self.after_macro(start))
        text = self.file.text[start:end]
        if end <= start or text.count("(") != text.count(")"):
            return 0, 0
        return start, end

    def after_macro(self, at):
        at = re.compile(r"\w+").match(self.file.text, at).end()
        return self.closing(at) if self.file.text[at:at + 1] == "(" else at

    def closing(self, at):
        depth = 0
        for i in range(at, len(self.file.text)):
            depth += {"(": 1, ")": -1}.get(self.file.text[i], 0)
            if depth == 0:
                return i + 1
        return at

    def in_macro(self, node):
        return node.kind != Kind.DECL_REF_EXPR and WHOLE_MACRO.fullmatch(self.text(node)) is not None

    def text(self, node):
        start, end = self.span(node)
        return self.file.text[start:end]

    # ---- mutants

    def replace(self, node, name, text):
        start, end = self.span(node)
        if end > start and not (name == "1" and (start, end) in self.endless):
            self.file.add(start, end, "expression", name, text)

    def condition(self, node, both=True):
        """The condition becomes false, and true unless a loop would run forever."""
        inner = strip(node)
        self.replace(inner, "0", "0")
        if both:
            self.replace(inner, "1", "1")
        else:
            self.endless.add(self.span(inner))

    def statements(self, node):
        for child in node.get_children():
            self.statement(child)

    def remove(self, node):
        start, end = self.span(node)
        if end > start:
            self.file.add(start, end, "nothing", "(nothing)", "(void)0")

    def leave_out(self, node):
        start, end = self.span(node)
        text = self.file.text
        if end > start and text[end:].lstrip()[:1] == ";":
            self.file.add(start, text.index(";", end) + 1, "statement", "(nothing)", ";")

    def statement(self, node):
        kind, children = node.kind, list(node.get_children())
        if kind == Kind.IF_STMT:
            self.condition(children[0])
            self.expression(children[0])
            for child in children[1:]:
                self.statement(child)
        elif kind == Kind.WHILE_STMT:
            self.condition(children[0], both=False)
            self.expression(children[0])
            self.statement(children[1])
        elif kind == Kind.DO_STMT:
            self.statement(children[0])
            self.condition(children[1], both=False)
            self.expression(children[1])
        elif kind == Kind.FOR_STMT:
            body = children[-1]
            for child in children[:-1]:
                if child.kind == Kind.BINARY_OPERATOR and self.operator(child)[0] in (*RELATIONS, "&&", "||"):
                    self.condition(child, both=False)
                if child.kind.is_expression():
                    self.expression(child)
                else:
                    self.statement(child)
            self.statement(body)
        elif kind == Kind.SWITCH_STMT:
            self.expression(children[0])
            self.statement(children[1])
        elif kind in (Kind.CASE_STMT, Kind.DEFAULT_STMT):
            self.statement(children[-1])
        elif kind == Kind.DECL_STMT:
            for child in children:
                self.declaration(child)
        elif kind == Kind.RETURN_STMT:
            for child in children:
                self.returned(child)
                self.expression(child)
        elif kind in (Kind.BREAK_STMT, Kind.CONTINUE_STMT):
            self.leave_out(node)
        elif kind.is_expression():
            if not WITHOUT_EFFECT.match(self.text(node)):
                self.remove(node)
                self.expression(node, ignored=True)
        else:
            self.statements(node)

    def declaration(self, node):
        if node.kind != Kind.VAR_DECL or node.storage_class == cindex.StorageClass.STATIC:
            return
        _, name = file_offset(node.location)
        for child in node.get_children():
            start, _ = self.span(child)
            if child.kind.is_expression() and "=" in self.file.text[name:start]:
                self.expression(child)

    def returned(self, node):
        kind, inner = node.type.get_canonical().kind, strip(node)
        if kind == TypeKind.BOOL:
            self.condition(node)
        elif kind == TypeKind.POINTER:
            self.replace(inner, "0", "(void *)0")
        elif kind in NUMBERS and inner.kind != Kind.CONDITIONAL_OPERATOR:
            self.replace(inner, "0", "0")

    def operator(self, node):
        """The operator's text and offset, or ''."""
        left, right = list(node.get_children())[:2]
        (_, end), (start, _) = self.span(left), self.span(right)
        between = COMMENT.sub(lambda match: " " * len(match[0]), self.file.text[end:start])
        sign = between.strip()
        return (sign, end + between.index(sign), start) if 0 < len(sign) <= 3 else ("", 0, 0)

    def expression(self, node, ignored=False):
        kind = node.kind
        if kind in (Kind.CXX_UNARY_EXPR, Kind.STRING_LITERAL) or WITHOUT_EFFECT.match(self.text(node)):
            return
        children = list(node.get_children())
        if self.in_macro(node) and strip(node) == node:
            self.of_macro(node, ignored)
        elif kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR):
            self.binary(node, children)
        elif kind == Kind.UNARY_OPERATOR:
            self.unary(node, children[0])
        elif kind == Kind.CONDITIONAL_OPERATOR:
            self.condition(children[0])
            self.lesser.update([self.span(strip(children[0]))] if self.is_lesser(children) else [])
        elif kind == Kind.CALL_EXPR and not ignored:
            self.valued(node)
        elif kind in (Kind.INTEGER_LITERAL, Kind.CHARACTER_LITERAL):
            self.number(node)
        elif kind == Kind.DECL_REF_EXPR and node.referenced is not None and \
                node.referenced.kind == Kind.ENUM_CONSTANT_DECL and not node.spelling.startswith("memory_order"):
            self.replace(node, "+ 1", f"({self.text(node)} + 1)")
        sign = self.sign_of(node)
        for child in children:
            if sign in ("==", "!=") and self.text(strip(child)) in ("0", "NULL"):
                continue  # the comparison already replaces both of its results
            if child.kind.is_expression():
                self.expression(child)
            elif child.kind.is_statement():
                self.statement(child)

    def of_macro(self, node, ignored):
        """The expansion of a macro: a number by name, or the operations of <stdatomic.h>."""
        text = self.text(node)
        if text in ("true", "false"):
            self.replace(node, *(("0",) * 2 if text == "true" else ("1",) * 2))
        elif NUMBER_MACRO.fullmatch(text) and text != "NULL" and node.type.get_canonical().kind in NUMBERS:
            self.replace(node, "+ 1", f"({text} + 1)")
        elif text.startswith("atomic_") and node.kind == Kind.UNEXPOSED_EXPR and not ignored:
            self.valued(node)

    def valued(self, node):
        kind = node.type.get_canonical().kind
        if kind == TypeKind.BOOL:
            self.condition(node)
        elif kind == TypeKind.POINTER:
            self.replace(node, "0", "(void *)0")
        elif kind in NUMBERS:
            self.replace(node, "0", "0")

    def number(self, node):
        text = self.text(node)
        if not text[:1].isdigit() and text[:1] != "'":  # from a macro with a name of another kind
            return
        if text in ("0", "1"):
            self.replace(node, "1" if text == "0" else "0", "1" if text == "0" else "0")
        if text != "0":
            self.replace(node, "+ 1", f"({text} + 1)")

    def binary(self, node, children):
        sign, at, _ = self.operator(node)
        if not sign:
            return
        start, end = self.span(node)
        if sign in OTHER:
            changed = self.file.text[start:at] + OTHER[sign] + self.file.text[at + len(sign):end]
            if (start, end) not in self.lesser:
                self.replace(node, f"{OTHER[sign]} for {sign}", changed)
        if sign in RELATIONS:
            self.condition(node)
        elif sign in ("&&", "||"):
            if (start, end) not in self.parts:
                self.condition(node)
            for child in children:
                inner = strip(child)
                if self.sign_of(inner) == sign:
                    self.parts.add(self.span(inner))
                else:
                    self.replace(inner, "1" if sign == "&&" else "0", "1" if sign == "&&" else "0")

    def is_lesser(self, children):
        """a < b ? a : b, or the greater: if both are equal, the boundary makes no difference."""
        decision = strip(children[0])
        if self.sign_of(decision) not in ("<", "<=", ">", ">="):
            return False
        plain = [[re.sub(r"\(\w+\)", "", self.text(strip(child))) for child in pair]
                 for pair in (list(decision.get_children()), children[1:])]
        return sorted(plain[0]) == sorted(plain[1])

    def sign_of(self, node):
        return self.operator(node)[0] if node.kind == Kind.BINARY_OPERATOR else ""

    def unary(self, node, operand):
        text = self.text(node)
        if text.startswith(("*", "&")):
            return
        if text.startswith("!"):
            if strip(operand).kind != Kind.CALL_EXPR and self.span(node) not in self.file.places:
                self.condition(node)
        elif text.startswith("~"):
            self.replace(node, "no ~", f"({self.text(operand)})")
        elif text.startswith("-") and not text.startswith("--"):
            self.replace(node, "no -", f"({self.text(operand)})")
        elif text.endswith("++") or text.endswith("--"):
            self.replace(node, "the other way", text[:-2] + ("--" if text.endswith("++") else "++"))
        elif text.startswith("++") or text.startswith("--"):
            self.replace(node, "the other way", ("--" if text.startswith("++") else "++") + text[2:])


# ------------------------------------------------------------------ text with all mutants in it


class Writer:
    """Writes a file with mutants: the changed text, and the offset of each place in it."""

    def __init__(self, file, chosen):
        """chosen: [(Place, [(number, text)])], numbers of a place in sequence; outer before inner."""
        self.file, self.chosen = file, chosen

    def write(self):
        self.out, self.at, self.spans, self.next = [], 0, [], 0
        self.until(0, len(self.file.text))
        return "".join(self.out)

    def put(self, text):
        self.out.append(text)
        self.at += len(text)

    def until(self, start, end):
        text = self.file.text
        while self.next < len(self.chosen):
            place, mutants = self.chosen[self.next]
            if place.start >= end:
                break
            self.next += 1
            if place.start < start or place.end > end:  # it crosses another
                continue
            self.put(text[start:place.start])
            self.place(place, mutants)
            start = place.end
        self.put(text[start:end])

    def place(self, place, mutants):
        begin, first = self.at, mutants[0][0]
        which = f"MUTANT({first}, {len(mutants)})"
        if place.kind == "statement":
            self.put(f"{{ if (!{which}) ")
            self.until(place.start, place.end)
            self.put(" }")
        elif place.kind == "nothing":
            self.put(f"({which} ? (void)0 : (void)(")
            self.until(place.start, place.end)
            self.put("))")
        else:
            changed = ""
            for number, text in mutants[:-1]:
                changed += f"mutant_chosen == {number} ? ({text}) : "
            self.put(f"({which} ? ({changed}({mutants[-1][1]})) : ({{ __auto_type mutant_v = (")
            self.until(place.start, place.end)
            self.put(f"); mutant_sees({first}, mutant_v != 0); mutant_v; }}))")
        self.spans.append((begin, self.at, place))

    def at_fault(self, line, column):
        """The innermost place at that position, or the last place before it."""
        text = "".join(self.out)
        offset = 0
        for _ in range(line - 1):
            offset = text.index("\n", offset) + 1
        begin_of_line, offset = offset, offset + column - 1
        around = [(end - begin, i) for i, (begin, end, _) in enumerate(self.spans) if begin <= offset <= end]
        before = [(end, i) for i, (begin, end, _) in enumerate(self.spans) if begin_of_line <= begin < offset]
        best = min(around, default=None) or max(before, default=None)
        return self.spans[best[1]][2] if best else None


def alone(file, place, name):
    """The file with only this mutant."""
    text = place.mutants[name]
    return file.text[:place.start] + (f"({text})" if place.kind == "expression" else text) + file.text[place.end:]


def _begin(root):
    global finder  # of each process
    finder = Finder(root)


def _find(unit):
    finder.files = {}
    finder.parse(*unit)
    return finder.files


def find(root, units):
    """All mutants of lib/: {name: File}. units are (source, arguments of the compiler)."""
    files, known = {}, set()
    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)), _begin, (root,)) as pool:
        for found in pool.imap(_find, units):
            for name, new in found.items():
                file = files.setdefault(name, File(root / name, name))
                for start, end, function in new.functions:
                    if (name, start) not in known:
                        known.add((name, start))
                        file.functions.append((start, end, function))
                        file.places.update({key: place for key, place in new.places.items() if start <= key[0] < end})
    return files


def resource_folder():
    return subprocess.run(["clang-14", "-print-resource-dir"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
