# SPDX-License-Identifier: MIT
"""readme.py TREE NAME: writes the first example of a page in TREE as files into this folder, and prints what it must print."""

import pathlib
import re
import sys

TREE, NAME = pathlib.Path(sys.argv[1]), sys.argv[2]

# A server for one file. openURL() needs range requests.
SERVER = """\
import {{ createServer }} from "node:http";
import {{ writeFileSync }} from "node:fs";
import {{ build }} from "bloomfile/build";
const bytes = build(["apple"], {{ fpr: 0.001 }});
writeFileSync("fruit.bloom", bytes);
const server = createServer((request, response) => {{
  const [first, last] = request.headers.range.match(/\\d+/g).map(Number), end = Math.min(last + 1, bytes.length);
  response.writeHead(206, {{ "Content-Range": `bytes ${{first}}-${{end - 1}}/${{bytes.length}}` }}).end(bytes.subarray(first, end));
}});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
{}
server.close();
"""


def block(page, kind, among="", heading=""):
    """The first code block of that kind with that in it, after the heading."""
    text = (TREE / page).read_text(encoding="utf-8").partition(heading)[2] if heading else (TREE / page).read_text(encoding="utf-8")
    return next(code for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
                if language == kind and among in code)


def ten_lines(language, kind):
    return block(f"bindings/{language}/README.md", kind, heading="## Ten lines")


def session(text):
    """A program for sh of the commands in a session, and what they print."""
    lines = text.splitlines(keepends=True)
    return "".join(line[2:] for line in lines if line.startswith("$ ")), "".join(line for line in lines if not line.startswith("$ "))


def tools():
    program, printed = session(block("README.md", "console"))
    return {"ten.sh": program}, printed


def install():
    return {"ten.sh": "set -eux\n" + block("README.md", "sh").replace("apt install", "apt-get install -y -qq --no-install-recommends")}, ""


def look():
    program, printed = session(block("README.md", "", "$ cc look.c "))
    return {"look.c": block("README.md", "c"), "ten.sh": program}, printed


def c():
    program, printed = session(block("doc/c.md", "", "$ cc fruit.c "))
    return {"fruit.c": block("doc/c.md", "c"), "fruit.cc": block("doc/c.md", "cpp"), "CMakeLists.txt": block("doc/c.md", "cmake"),
            "ten.sh": program}, printed


def python_module():
    code = block("README.md", "python")
    return {"ten.py": code}, "".join(line + "\n" for line in re.findall(r"^ +print\(.*?# (.*)$", code, re.M))


def python():
    return {"ten.txt": ten_lines("python", "pycon")}, ""  # doctest compares


def java():
    code = ten_lines("java", "java").replace("// perhaps: look in the table", 'System.out.println("perhaps");')
    return {"dependency.xml": block("bindings/java/README.md", "xml"), "Main.java": "import io.github.bloomfile.*;\nimport java.nio.file.Path;\n"
            f"class Main {{ public static void main(String[] words) throws Exception {{\n{code}}} }}\n"}, "perhaps\n"


def spark():
    build, _, query = ten_lines("spark", "python").replace("s3a://bucket/", "").replace("100_000_000", "1000").strip().rpartition("\n")
    return {"ten.py": f"""\
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
urls, log = (spark.createDataFrame([(url,) for url in words.split()], ["url"]) for words in ("apple pear", "apple stone"))
{build}
print([row.url for row in {query.partition("#")[0].strip()}.collect()])
"""}, "['stone']\n"


def go():
    code = ten_lines("go", "go")
    return {"main.go": 'package main\n\nimport (\n\t"fmt"\n\t"log"\n\t"os"\n\t"path/filepath"\n\n'
            f'\tbloomfile "github.com/bloomfile/bloomfile/bindings/go"\n)\n\nfunc main() {{\n{code}}}\n'}, \
        "".join(line + "\n" for line in re.findall(r"^// Output: (.*)$", code, re.M))


def rust():
    code = ten_lines("rust", "rust")
    return {"main.rs": code}, "".join(line + "\n" for line in re.findall(r"println!.*; // (.*)$", code, re.M))


def js():
    shown = re.compile(r"^((?:await )?(?:local|remote)\..*); // (true|false|null|\[.*\]).*$", re.M)
    code = ten_lines("js", "js")
    run = shown.sub(r"console.log(JSON.stringify(\1));", code).replace(
        '"https://example.org/fruit.bloom"', "`http://127.0.0.1:${server.address().port}/fruit.bloom`")
    return {"ten.mjs": SERVER.format(run)}, "".join(m[2].replace(" ", "") + "\n" for m in shown.finditer(code))


def sqlite():
    program, printed = session(ten_lines("sqlite", "console"))
    return {"ten.sh": program}, printed


def postgresql():
    return {"ten.sql": ten_lines("postgresql", "sql")}, ten_lines("postgresql", "text")


files, expected = globals()[NAME]()
for name, text in files.items():
    pathlib.Path(name).write_text(text, encoding="utf-8")
sys.stdout.write(expected)
