# SPDX-License-Identifier: MIT
"""amalgamate.py OUTPUT VERSION FILE... [--part NAME FILE...]...: the library as one C file.

The headers of lib/ come first, then the files in this order. Files of a part are left out if the
macro BLOOMFILE_NO_<NAME> is defined. What is not public becomes BLOOMFILE_INTERNAL."""
import pathlib
import re
import sys

LIB = pathlib.Path(__file__).parent
INCLUDE = re.compile(r'#include ([<"])([^>"]+)[>"]')
MACRO = re.compile(r'#\s*(define|undef) (\w+)')

HEAD = '''\
/* SPDX-License-Identifier: MIT
 *
 * bloomfile @VERSION@ as one file, made by scripts/release amalgamation of the files in lib/.
 *
 *     cc -O2 -c bloomfile.c
 *
 * It needs a C11 compiler (gcc or clang), the public headers next to it, and xxhash.h 0.8 or newer.
 * A program links it with -pthread -lm -ldeflate.
 *
 * Define these macros to leave parts out. Their functions stay declared, and a call of one does not
 * link. A file that needs a part which was left out does not open: BLOOMFILE_EFEATURE.
 *
@PARTS@ *
 * With BLOOMFILE_NO_BUILD and BLOOMFILE_NO_RIBBON it reads sealed filters, and needs no library but
 * -pthread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#if defined BLOOMFILE_NO_BUILD && !defined BLOOMFILE_NO_LIVE
#define BLOOMFILE_NO_LIVE
#endif
#if defined BLOOMFILE_NO_BUILD && !defined BLOOMFILE_NO_PATCHES
#define BLOOMFILE_NO_PATCHES
#endif
#if defined BLOOMFILE_NO_LIVE && !defined BLOOMFILE_NO_SERIES
#define BLOOMFILE_NO_SERIES
#endif
#ifndef BLOOMFILE_INTERNAL /* empty: for the tests of the library */
#define BLOOMFILE_INTERNAL static
#endif
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("fp-contract=off") /* or sizes would differ between machines */
#endif
/* What only parts use that are left out. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
'''


def text_of(path):
    return (LIB / path).read_text()


def without_comment(text):
    """The text of a file without its first comment; the part's heading names the file instead."""
    return re.sub(r'\A/\*.*?\*/\n', '', text, flags=re.S)


class Amalgamation:
    def __init__(self):
        self.included = set()

    def header(self, path):
        """A header with a guard, once, after the headers that it includes."""
        if path in self.included:
            return ''
        self.included.add(path)
        text = text_of(path)
        guard = re.search(r'#ifndef (\w+)\n#define \1\n', text)
        body = text[guard.end():text.rindex('#endif')]
        return self.headers_of(text) + self.lines(path, internal_declarations(body))

    def headers_of(self, text):
        return ''.join(self.header(name) for mark, name in INCLUDE.findall(text)
                       if mark == '"' and is_guarded(name))

    def inserted(self, text):
        """The text, with each header that has no guard inserted where it is included."""
        out = []
        for line in text.splitlines(keepends=True):
            include = INCLUDE.match(line)
            if include is not None and include[2].startswith('bloomfile'):
                out.append(f'#include "{include[2]}"\n')
            elif include is None or include[1] == '<':
                out.append(line)
            elif not is_guarded(include[2]):
                inner = self.inserted(without_comment(text_of(include[2])))
                out.append(internal_definitions(inner))
        return ''.join(out)

    def lines(self, path, text):
        return f'\n/* {"-" * (90 - len(path))} lib/{path} */\n' + self.inserted(text).strip('\n') + '\n'

    def source(self, path, part):
        text = without_comment(text_of(path))
        text = self.lines(path, internal_definitions(text))
        own = [name for verb, name in MACRO.findall(text) if verb == 'define'
               and not name.startswith(('BLOOMFILE_', '_'))]
        for verb, name in MACRO.findall(text):
            if verb == 'undef' and name in own:
                own = [other for other in own if other != name]
        text += ''.join(f'#undef {name}\n' for name in dict.fromkeys(own))
        return f'\n#ifndef BLOOMFILE_NO_{part.upper()}\n{text}#endif\n' if part else text


def is_guarded(path):
    return re.search(r'#ifndef (\w+)\n#define \1\n', text_of(path)) is not None


def internal_declarations(text):
    """Makes prototypes internal, and so the definitions that follow them. An object declared
    without `extern` has a tentative definition."""
    text = re.sub(r'^extern ', 'BLOOMFILE_INTERNAL ', text, flags=re.M)
    return re.sub(r'^(?!static|typedef|BLOOMFILE_|KERNEL_|CHANGES_|FOLD_|SHARED_|_Static|return|else)'
                  r'(?=(__attribute__\(\([\w, ()]*\)\) )?[A-Za-z_][\w *]*\b\w+\([^;{]*\);)', 'BLOOMFILE_INTERNAL ', text, flags=re.M)


def internal_definitions(text):
    """Makes objects internal; functions have the linkage of their prototypes."""
    return re.sub(r'^(?=(const |uint\d+_t )[^;{()]*(\bOF_ISA_?\(\w+(, ISA)?\) )?[=;]'
                  r'|\s+const struct changes changes_##)', 'BLOOMFILE_INTERNAL ', text, flags=re.M)


def main():
    output, version, *rest = sys.argv[1:]
    sources, part, parts = [], '', []
    words = iter(rest)
    for word in words:
        if word == '--part':
            part = next(words)
            parts.append(part)
        else:
            sources.append((str(pathlib.Path(word).resolve().relative_to(LIB.resolve())), part))
    made = Amalgamation()
    body = ''.join(made.headers_of(text_of(path)) for path, _ in sources)
    body += ''.join(made.source(path, part) for path, part in sources)
    head = HEAD.replace('@VERSION@', version)
    pathlib.Path(output).write_text(head + body)


main()
