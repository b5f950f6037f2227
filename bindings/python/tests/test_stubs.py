# SPDX-License-Identifier: MIT
"""The stubs declare every name of the package with its parameters."""

import ast
import builtins
import importlib.util
import inspect
import pathlib
import pkgutil
import sys
import unittest

import bloomfile
from bloomfile import _core, errors

FOLDER = pathlib.Path(bloomfile.__file__).parent


def declared(name):
    tree = ast.parse((FOLDER / name).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def documented(body):
    """Returns the functions of a stub; the first of overloads."""
    return {node.name: node for node in reversed(body) if isinstance(node, ast.FunctionDef)}


def parameters(node):
    """Returns [(name, kind, default)] of a function's definition; the last of overloads counts."""
    a = node.args
    named = a.posonlyargs + a.args
    defaults = [None] * (len(named) - len(a.defaults)) + [ast.unparse(d) for d in a.defaults]
    kinds = ["/"] * len(a.posonlyargs) + [""] * len(a.args)
    listed = [(arg.arg, kind, default) for arg, kind, default in zip(named, kinds, defaults)]
    for arg, default in zip(a.kwonlyargs, a.kw_defaults):
        listed.append((arg.arg, "*", None if default is None else ast.unparse(default)))
    return [parameter for parameter in listed if parameter[0] not in ("self", "cls")]


def found(function):
    kinds = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.POSITIONAL_OR_KEYWORD: "", inspect.Parameter.KEYWORD_ONLY: "*"}
    return [(p.name, kinds[p.kind], None if p.default is p.empty else repr(p.default))
            for p in inspect.signature(function).parameters.values() if p.name not in ("self", "type")]


def plain(doc):
    """Returns the words of a text, since lines wrap differently."""
    return " ".join(doc.split())


class Stubs(unittest.TestCase):
    def document(self, name, node, doc):
        """Editors show the docstrings of stubs; the first overload has it."""
        if doc and not name.startswith("_"):
            self.assertEqual(plain(ast.get_docstring(node) or ""), plain(doc), f"the stub of {name}")

    def compare(self, function, node):
        expected = [p for p in parameters(node) if p[0] != "out"]
        got = [p for p in found(function) if p[0] != "out"]
        self.assertEqual(got, [(name, kind, None if default is None else repr(ast.literal_eval(default)))
                               for name, kind, default in expected], node.name)
        self.assertEqual("out" in [p[0] for p in found(function)], "out" in [p[0] for p in parameters(node)], node.name)

    def test_stubs_match_the_classes(self):
        stubs = declared("_core.pyi")
        for kind in _core.Answers, _core.Filter, _core.LiveFilter, _core.Builder:
            self.document(kind.__name__, stubs[kind.__name__], kind.__doc__)
            for name, node in documented(stubs[kind.__name__].body).items():
                self.document(name, node, getattr(kind, name).__doc__)
            functions = {node.name: node for node in stubs[kind.__name__].body if isinstance(node, ast.FunctionDef)}
            there = {name for name in vars(kind) if not name.startswith("_")}
            self.assertEqual(there - set(functions), {"close", "memory"} if kind is _core.LiveFilter else set())
            self.assertEqual({name for name in functions if not name.startswith("_")} - there, set())
            self.compare(kind, functions["__new__" if kind is _core.Answers else "__init__"])
            for name in there & set(functions):
                if callable(getattr(kind, name)):
                    self.compare(getattr(kind, name), functions[name])
                    self.assertTrue(getattr(kind, name).__doc__)

    def test_stubs_match_the_functions(self):
        stubs = declared("_core.pyi")
        for name in "hash", "hash_many", "hash_records", "size_for", "slice_of", "split_digests", "unlink":
            self.compare(getattr(_core, name), stubs[name])
            self.document(name, documented(ast.parse((FOLDER / "_core.pyi").read_text(encoding="utf-8")).body)[name], getattr(_core, name).__doc__)
        self.assertEqual({name for name, value in vars(_core).items() if callable(value)},
                         {name for name in stubs if name[0] != "_"})

    def test_stubs_match_the_package(self):
        stubs = declared("__init__.pyi")
        for name, node in stubs.items():
            self.document(name, node, getattr(bloomfile, name).__doc__)
            if name != "build":  # which lists the parameters of Builder
                self.compare(getattr(bloomfile, name), node)
        both = {p[:2] for p in parameters(stubs["build"])} - {("path", ""), ("keys", ""), ("replace", "*"), ("allow_empty", "*")}
        self.assertEqual(both, {p[:2] for p in found(bloomfile.Builder)})
        for name in bloomfile.__all__:
            self.assertTrue(hasattr(bloomfile, name), name)
        text = (FOLDER / "__init__.pyi").read_text(encoding="utf-8")
        for name in bloomfile.__all__:
            self.assertIn(f'"{name}"', text)

    def test_truth_of_answers_does_not_end_a_checked_function(self):
        """After a call that returns NoReturn, mypy skips the rest of the function, and reports nothing."""
        self.assertEqual(ast.unparse(documented(declared("_core.pyi")["Answers"].body)["__bool__"].returns), "bool")

    def test_stubs_match_json_lines(self):
        node = declared("json_lines.pyi")["json_keys"]
        self.compare(bloomfile.json_keys, node)
        self.document("json_keys", node, bloomfile.json_keys.__doc__)

    def test_package_exports_only_its_public_names(self):
        """No names of other modules, and no name that shadows a builtin after `import *`."""
        public = {name for name in dir(bloomfile) if not name.startswith("_")}
        modules = {module.name for module in pkgutil.iter_modules(bloomfile.__path__)} - {"errors"}
        self.assertEqual(public - modules, set(bloomfile.__all__) | {"hash"})
        self.assertEqual(set(bloomfile.__all__) & set(dir(builtins)), set())

    @unittest.skipUnless(importlib.util.find_spec("dask"), "without dask")
    def test_stubs_match_dask(self):
        import bloomfile.dask
        stubs = declared("dask.pyi")
        self.assertEqual(sorted(stubs), bloomfile.dask.__all__)
        for name, node in stubs.items():
            self.compare(getattr(bloomfile.dask, name), node)
            self.document(name, node, getattr(bloomfile.dask, name).__doc__)

    @unittest.skipUnless(importlib.util.find_spec("pyspark"), "without pyspark")
    def test_stubs_match_spark(self):
        import bloomfile.spark
        functions = documented(ast.parse((FOLDER / "spark/__init__.pyi").read_text(encoding="utf-8")).body)
        self.assertEqual(sorted([*functions, "Error", "Report"]), bloomfile.spark.__all__)
        for name, node in functions.items():
            function = getattr(bloomfile.spark, name)
            self.document(name, node, function.__doc__)
            self.compare(function, node)

    def test_stubs_match_the_errors(self):
        self.assertEqual(set(declared("errors.pyi")), set(errors.__all__))
        text = (FOLDER / "errors.pyi").read_text(encoding="utf-8")
        self.assertEqual(ast.literal_eval(text[text.index("["):text.index("]") + 1]), errors.__all__)
        self.assertTrue((FOLDER / "py.typed").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
