#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: web/build.py [--check]

Write web/index.html, a page that needs no other file, from web/page.html, web/page.css, the modules in web/src and
bindings/js/bloomfile.js. With --check, write nothing; exit 1 if web/index.html is not current."""
import base64
import hashlib
import json
import re
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
TOP = WEB.parent
TIMES = "bench/results/peers-sizes.md"

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)


def measured_times():
    """The times of lookups in bench/results as a module: for each layout, rows of MB, ns one by one and ns in a batch."""
    text = (TOP / TIMES).read_text()
    machine = re.search(r"^(\d{4}-\d\d-\d\d)\. ([^;]*); (Linux [\d.]+)", text, re.M)
    times = {}
    for size, table in re.findall(r"^### \d+ keys pre-hashed,[^\n]* ([\d.]+) MB\n\n((?:\|[^\n]*\n)+)", text, re.M):
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        one, batch = head.index("absent"), head.index("absent, batch")
        for row in rows:
            layout = re.fullmatch(r"bloomfile (blocked|classic|counting|ribbon), (vbmi|avx512)", row[0])
            if layout and (layout[1] != "blocked" or layout[2] == "vbmi"):
                bits = float(row[head.index("bits/key")]) / 10
                times.setdefault(layout[1], []).append([float(size) * bits, float(row[one]), float(row[batch])])
    if machine is None or {len(rows) for rows in times.values()} != {4} or len(times) != 4:
        sys.exit(f"build.py: {TIMES} does not have the expected tables")
    return f"""export const TIMES = {json.dumps(times)};
export const MACHINE = {json.dumps(f"{machine[2]}, {machine[3]}, {machine[1]}")};
"""


def read_module(path):
    return measured_times() if path == WEB / "src" / "times.js" else path.read_text()


def bundle(path, done):
    """The module at path as one constant, after the modules that it imports."""
    if path in done:
        return ""
    done[path] = "module_" + re.sub(r"\W", "_", path.stem)
    text = read_module(path)
    before = "".join(bundle((path.parent / name).resolve(), done) for _, name in IMPORT.findall(text))

    def names(match):
        module = done[(path.parent / match[2]).resolve()]
        return f"const {{{match[1].replace(' as ', ': ')}}} = {module};\n"

    exported = ", ".join(match[1] for match in EXPORT.finditer(text))
    body = EXPORT.sub("", IMPORT.sub(names, text))
    left = re.search(r"^(import|export)\b.*", body, re.M)
    if left:
        sys.exit(f"build.py: {path.name}: cannot bundle this line: {left[0]}")
    return f"{before}const {done[path]} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def source(text):
    """The word of a Content-Security-Policy that permits an inline element with this text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page():
    style = "\n" + (WEB / "page.css").read_text()
    script = "\n" + bundle(WEB / "src" / "main.js", {})
    if "</script" in script or "</style" in style:
        sys.exit("build.py: a module or the style ends its own element")
    version = re.search(r"\bversion: '([^']+)'", (TOP / "meson.build").read_text())[1]
    policy = (f"default-src 'none'; connect-src 'none'; script-src {source(script)}; style-src {source(style)}; "
              "base-uri 'none'; form-action 'none'")
    parts = {"policy": policy, "style": style, "script": script, "version": version}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], (WEB / "page.html").read_text())


def main():
    target = WEB / "index.html"
    if sys.argv[1:] == ["--check"]:
        if not target.exists() or target.read_text() != page():
            sys.exit("build.py: web/index.html is not current: run web/build.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        target.write_text(page())


if __name__ == "__main__":
    main()
