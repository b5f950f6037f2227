# SPDX-License-Identifier: MIT
"""completions.py FOLDER TABLE.json...: generator of completions for bash, zsh and fish. It reads the tables of options
that describe.c prints, and writes FOLDER/TOOL (bash), FOLDER/_TOOL (zsh) and FOLDER/TOOL.fish."""

import json
import re
import sys
from pathlib import Path

SUFFIXES = {"filter": ".bloom", "patch": ".patch"}
MADE = "made from its table of options; do not edit"


class Option:
    def __init__(self, row):
        self.__dict__.update(row)
        self.takes = self.metavar != ""
        self.names = [f"-{self.letter}"] * bool(self.letter) + [f"--{self.name}"]


class Usage:
    """One way to call the tool: the options that select it, and the kinds of its operands."""

    def __init__(self, text, options, kinds):
        text = re.sub(r"\[-[^]]*\]|\{[^}]*\}|\[options\]", "", text)
        self.given, self.operands, self.rest = [], [], None
        words = iter(text.split())
        for word in words:
            if word.startswith("-") and word != "-":
                option = next(o for o in options if word in o.names)
                self.given += [option] * (word == f"--{option.name}")
                if option.takes:
                    next(words)
                continue
            name = word.strip("[].>")
            if name == "-" or word.startswith(">"):  # standard output may still be a file
                continue
            kind = (name, kinds[name])
            if "..." in word:
                self.rest = kind
            else:
                self.operands.append(kind)
        self.has_dash = "-" in text.split()

    def at(self, i):
        return self.operands[i] if i < len(self.operands) else self.rest


class Tool:
    def __init__(self, path):
        table = json.loads(path.read_text())
        self.name = path.stem
        self.options = [Option(row) for row in table["options"]]
        usages = [Usage(text, self.options, table["operands"]) for text in table["usages"]]
        usages = [usage for usage in usages if not usage.has_dash]
        # The most specific usage comes first. If the same options select several usages, only the first is kept.
        self.usages = []
        for usage in sorted(usages, key=lambda usage: -len(usage.given)):
            if all(usage.given != other.given for other in self.usages):
                self.usages.append(usage)
        if self.usages[-1].given:
            raise SystemExit(f"completions: {self.name}: no usage without an option of its own")


# ---- bash

def bash_kind(kind, words):
    if words:
        return f"words {' '.join(words)}"
    return f"suffix {SUFFIXES[kind]}" if kind in SUFFIXES else kind


BASH = r"""# bash completion for @tool@(1), @made@

# Sets `kind` to what the value of an option is; 1 if it takes none.
_@tool@_value()
{
    case $1 in
@values@
    *) return 1 ;;
    esac
}

# Sets `kind` to what the next operand is, after so many; "" if there is none. $2: the long options before it.
_@tool@_operand()
{
    local kinds rest
    case $2 in
@usages@
    esac
    kind=$rest
    [[ $1 -ge ${#kinds[@]} ]] || kind=${kinds[$1]}
}

# Candidates of a kind for what stands before the cursor.
_@tool@_candidates()
{
    case $1 in
    words\ *)
        COMPREPLY=($(compgen -W "${1#words }" -- "$2"))
        ;;
    suffix\ *) # these and folders, or all files where there are none
        mapfile -t COMPREPLY < <(compgen -f -X "!*${1#suffix }" -- "$2")
        if [[ ${#COMPREPLY[@]} -gt 0 ]]; then
            compopt -o filenames
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$2")
        else
            compopt -o default
        fi
        ;;
    file) compopt -o default ;;
    folder) compopt -o dirnames ;;
    esac
}

_@tool@()
{
    local line=${COMP_LINE:0:COMP_POINT} words=() word gap i
    COMPREPLY=()

    # Words as the tool gets them: not cut at = and :, as those of bash are.
    for ((i = 0; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        gap=${line%%[![:blank:]]*}
        line=${line#"$gap"}
        if [[ $i -gt 0 && -z $gap ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        line=${line#"$word"}
    done
    gap=${line%%[![:blank:]]*}
    line=${line#"$gap"}
    if [[ -z $gap && ${#words[@]} -gt 1 ]]; then
        line=${words[-1]}$line
        unset 'words[-1]'
    fi

    local kind=option given=' ' operands=0 only_operands= redirection='^[0-9]*[<>]+[&|]?(.*)$'
    for word in "${words[@]:1}"; do
        if [[ $kind != option ]]; then # it is the value of the option before it
            kind=option
        elif [[ $word =~ $redirection ]]; then
            [[ ${BASH_REMATCH[1]} ]] || kind=file
        elif [[ $only_operands || $word != -?* ]]; then
            operands=$((operands + 1))
        elif [[ $word == -- ]]; then
            only_operands=1
        elif [[ $word == --* ]]; then
            given+="${word%%=*} "
            [[ $word == *=* ]] || _@tool@_value "$word" || kind=option
        else
            for ((i = 1; i < ${#word}; i++)); do # of -qp0.1 all behind the p is its value
                if _@tool@_value "-${word:i:1}"; then
                    [[ $((i + 1)) -eq ${#word} ]] || kind=option
                    break
                fi
                kind=option
            done
        fi
    done

    if [[ $line =~ $redirection ]]; then
        _@tool@_candidates file "$2"
    elif [[ $kind != option ]]; then
        _@tool@_candidates "$kind" "$2"
    elif [[ ! $only_operands && $line == --*=* ]]; then
        if _@tool@_value "${line%%=*}"; then
            _@tool@_candidates "$kind" "$2"
        fi
    elif [[ ! $only_operands && $line == -* ]]; then
        COMPREPLY=($(compgen -W '@options@' -- "$line"))
        [[ ${COMPREPLY-} != *= ]] || compopt -o nospace
    else
        _@tool@_operand "$operands" "$given"
        _@tool@_candidates "$kind" "$2"
    fi
}

complete -F _@tool@ @tool@
"""


def bash(tool):
    values, usages = {}, []
    for option in tool.options:
        if option.takes:
            kind = bash_kind(option.value, option.words)
            values.setdefault(kind, []).extend(option.names)
    for usage in tool.usages:
        pattern = "*".join(f"' --{option.name} '" for option in usage.given)
        kinds = " ".join(f'"{bash_kind(kind, [])}"' for _, kind in usage.operands)
        rest = f'"{bash_kind(usage.rest[1], [])}"' if usage.rest else ""
        usages.append(f"    {'*' + pattern + '*' if pattern else '*'}) kinds=({kinds}) rest={rest} ;;")
    options = [f"--{option.name}{'=' * option.takes}" for option in tool.options]
    letters = [f"-{option.letter}" for option in tool.options if option.letter]
    return fill(BASH, tool, usages="\n".join(usages), options=" ".join(letters + options),
                values="\n".join(f"    {' | '.join(names)}) kind='{kind}' ;;"
                                 for kind, names in values.items()))


# ---- zsh

def zsh_action(name, kind, words):
    if words:
        return f"{name}:({' '.join(words)})"
    if kind in SUFFIXES:
        return f'{name}:_files -g "*{SUFFIXES[kind]}(-.)"'
    return {"file": f"{name}:_files", "folder": f"{name}:_files -/"}.get(kind, f"{name}: ")


def zsh_option(option, options):
    text = re.sub(r"([\[\]\\:])", r"\\\1", option.help)
    rivals = [other for other in options if other is option or option.rival and other.rival == option.rival]
    gathers = option.gathers and option.value in ("file", "filter")
    excluded = [name for other in rivals for name in other.names if not (gathers and other is option)]
    if option.ends:
        excluded = ["-", "*"]
    specs = []
    for name in option.names:
        mark = "" if not option.takes else "=" if name.startswith("--") else "+"
        spec = f"({' '.join(excluded)})" if excluded else ""
        spec += f"{'*' * gathers}{name}{mark}[{text}]"
        if option.takes:
            spec += ":" + zsh_action(option.metavar, option.value, option.words)
        specs.append(spec)
    return specs


ZSH = """#compdef @tool@
# zsh completion for @tool@(1), @made@

local -a options operands
options=(
@options@
)
@usages@
_arguments -s -S : $options $operands
"""


def zsh(tool):
    options = [spec for option in tool.options for spec in zsh_option(option, tool.options)]
    usages, word = "", "if"
    for usage in tool.usages:
        operands = [f"{i + 1}:{zsh_action(name, kind, [])}" for i, (name, kind) in enumerate(usage.operands)]
        operands += [f"*:{zsh_action(*usage.rest, [])}"] if usage.rest else []
        condition = " && ".join(f"(( $words[(I)--{option.name}{'(|=*)' * option.takes}] ))"
                                for option in usage.given)
        usages += f"{word} {condition}; then\n" if condition else "else\n" if usages else ""
        usages += "    " * bool(usage.given or usages) + f"operands=({' '.join(map(quote, operands))})\n"
        word = "elif"
    usages += "fi\n" * (len(tool.usages) > 1)
    return fill(ZSH, tool, options="\n".join(f"    {quote(spec)}" for spec in options), usages=usages)


# ---- fish

def fish_candidates(kind, words):
    if words:
        return f" -a {quote(' '.join(words))}"
    if kind in SUFFIXES:
        return f" -k -a '(__fish_complete_suffix {SUFFIXES[kind]})'"
    folders = """ -a '(__fish_complete_directories (commandline -ct | string replace -r "^-[^=]*=" ""))'"""
    return {"file": " -F", "folder": folders}.get(kind, "")


FISH = """# fish completion for @tool@(1), @made@

# Whether the next operand is of this kind.
function __@tool@_operand
    set -l kind $argv[1]
    set -l words (commandline -opc)
    argparse -i @options@ -- $words[2..] 2>/dev/null; or return 1
    set -l kinds
    set -l rest
@usages@
    set -l at (math (count $argv) + 1)
    if test $at -gt (count $kinds)
        test "$rest" = $kind
    else
        test $kinds[$at] = $kind
    end
end

complete -c @tool@ -f
@complete@
"""


def fish(tool):
    argparse = " ".join(quote("/".join(name.lstrip("-") for name in option.names) + "=+" * option.takes)
                        for option in tool.options)
    usages, kinds, word = "", [], "if"
    for usage in tool.usages:
        condition = "; and ".join(f"set -q _flag_{option.name.replace('-', '_')}" for option in usage.given)
        usages += f"    {word} {condition}\n" if condition else "    else\n" if usages else ""
        indent = "    " * (1 + bool(usage.given or usages))
        usages += f"{indent}set kinds {' '.join(kind for _, kind in usage.operands)}\n"
        usages += f"{indent}set rest {usage.rest[1]}\n" if usage.rest else ""
        kinds += [kind for _, kind in usage.operands + [usage.rest] * bool(usage.rest)]
        word = "else if"
    usages += "    end\n" * (len(tool.usages) > 1)
    lines = [f"complete -c {tool.name} -n '__{tool.name}_operand {kind}'"
             f"{fish_candidates(kind, [])}" for kind in dict.fromkeys(kinds)]
    for option in tool.options:
        letter = f"-s {option.letter} " if option.letter else ""
        values = fish_candidates(option.value, option.words)
        if option.takes:
            values = (" -r" if option.value == "file" else " -x") + values
        lines.append(f"complete -c {tool.name} {letter}-l {option.name} -d {quote(option.help)}{values if option.takes else ''}")
    return fill(FISH, tool, options=argparse, usages=usages.rstrip("\n"), complete="\n".join(lines))


# ----

def quote(text):
    """Quotes a word for all three shells: this is safe because help texts have no backslash before a quote."""
    return "'" + text.replace("'", "'\\''") + "'"


def fill(template, tool, **texts):
    for name, text in {**texts, "tool": tool.name, "made": MADE}.items():
        template = template.replace(f"@{name}@", text)
    return template


def main():
    folder = Path(sys.argv[1])
    for path in map(Path, sys.argv[2:]):
        tool = Tool(path)
        for name, make in {tool.name: bash, f"_{tool.name}": zsh, f"{tool.name}.fish": fish}.items():
            (folder / name).write_text(make(tool))


main()
