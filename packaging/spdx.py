#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spdx.py TREE FILES OUT VERSION SECONDS: writes two SPDX documents of a release into OUT. One lists each file in TREE with its
licence, as the source archive in FILES. The other lists the libraries in files of FILES that are linked statically, as
doc/linked.spdx describes them. SECONDS is the time of the commit."""

import datetime
import hashlib
import pathlib
import re
import sys

TREE, FILES, OUT = map(pathlib.Path, sys.argv[1:4])
VERSION, SECONDS = sys.argv[4:]
LINKED = (TREE / "doc/linked.spdx").read_text(encoding="utf-8")
BLOCKS = {re.match(r"PackageName: (.*)", block)[1]: block.split("\n\n")[0] for block in re.split(r"\n(?=PackageName: )", LINKED)[1:]}
IN_WHEELS = ["libdeflate0", "libxxhash-dev"]
IN_TOOLS = ["zlib1g", *IN_WHEELS, "libbsd0", "libzstd1", "libjson-c5", "libc6", "libgcc-12-dev"]


def digest(kind, path):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def package(path, licence, *more):
    return "\n".join([
        f"PackageName: {path.name}", f"SPDXID: SPDXRef-{re.sub('[^A-Za-z0-9.]', '-', path.name)}", f"PackageVersion: {VERSION}",
        f"PackageFileName: {path.name}", "PackageDownloadLocation: NOASSERTION", *(more or ["FilesAnalyzed: false"]),
        f"PackageChecksum: SHA256: {digest('sha256', path)}", f"PackageLicenseConcluded: {licence}",
        "PackageLicenseDeclared: MIT", "PackageCopyrightText: NOASSERTION"])


def write(name, comment, *parts):
    created = datetime.datetime.fromtimestamp(int(SECONDS), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = "\n\n".join(part for part in parts if part)
    mark = hashlib.sha256(body.encode()).hexdigest()[:32]
    (OUT / f"{name}.spdx").write_text(
        f"SPDXVersion: SPDX-2.3\nDataLicense: CC0-1.0\nSPDXID: SPDXRef-DOCUMENT\nDocumentName: {name}\n"
        f"DocumentNamespace: https://spdx.org/spdxdocs/{name}-{mark}\nDocumentComment: <text>{comment}</text>\n"
        f"Creator: Organization: bloomfile authors\nCreated: {created}\n\n{body}\n", encoding="utf-8")


def describes(text):
    return "\n".join(f"Relationship: SPDXRef-DOCUMENT DESCRIBES {name}" for name in re.findall(r"^SPDXID: (.*)$", text, re.M))


def source():
    (archive,) = FILES.glob("bloomfile-*.tar.xz")
    rows, sums = [], []
    for i, path in enumerate(sorted(path for path in TREE.rglob("*") if path.is_file())):
        head = path.read_bytes()[:2000].decode("utf-8", "replace")
        licence = re.search(r"SPDX-License-Identifier: ([\w.+-]+)", head)
        sums.append(digest("sha1", path))
        rows.append(f"FileName: ./{path.relative_to(TREE)}\nSPDXID: SPDXRef-file-{i}\nFileChecksum: SHA1: {sums[-1]}\n"
                    f"LicenseConcluded: MIT\nLicenseInfoInFile: {licence[1] if licence else 'NONE'}\nFileCopyrightText: NOASSERTION")
    code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
    head = package(archive, "MIT", "FilesAnalyzed: true", f"PackageVerificationCode: {code}", "PackageLicenseInfoFromFiles: MIT")
    write(f"bloomfile-{VERSION}-source", "Each file of the source archive. LICENSE covers all of them.", head, *rows, describes(head))


def static():
    heads, links = [], []
    for path in sorted([*FILES.glob("bloomfile-*-linux-*.tar.gz"), *FILES.glob("*.whl")]):
        inside = IN_WHEELS if path.suffix == ".whl" else IN_TOOLS + ["libsimdjson14", "libstdc++6"] * ("x86_64" in path.name)
        licences = {re.search("PackageLicenseConcluded: (.*)", BLOCKS[name])[1] for name in inside}
        heads.append(package(path, " AND ".join(["MIT", *sorted(f"({licence})" for licence in licences if licence != "MIT")])))
        here = re.search("SPDXID: (.*)", heads[-1])[1]
        links += [f"Relationship: {here} STATIC_LINK {re.search('SPDXID: (.*)', BLOCKS[name])[1]}" for name in inside]
    if not heads:
        sys.exit("spdx.py: no tools and no wheels")
    write(f"bloomfile-{VERSION}-static", "The libraries in the static tools and in the wheels, with the licences of Debian's copyright files. "
          "Nothing else that is published contains code of another project.", *heads,
          *(re.sub(r"^PackageFileName: .*\n", "", block, flags=re.M) for name, block in BLOCKS.items()
            if name in {*IN_TOOLS, "libsimdjson14", "libstdc++6"}),
          describes("\n".join(heads)), "\n".join(links), LINKED[LINKED.index("LicenseID: "):].rstrip())


source()
static()
