"""Which kind of file holds a launch, and its commands: shell script, compose or Kubernetes YAML, systemd unit,
Dockerfile, or the fenced blocks of a README.

A file is told by its name and, where that says nothing, by its first words. What is no text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from stackctl.core.command.expand import Scope, text_of
from stackctl.core.command.lexer import ASSIGNS, tokens
from stackctl.core.command.manifest import services
from stackctl.core.command.script import commands
from stackctl.core.command.words import HOLE, Simple, Text, Value, Word, hole
from stackctl.core.importing.dockerfile import assigned, instructions
from stackctl.errors import InvalidFile, Problem, Where

Kind = Literal["shell", "yaml", "unit", "dockerfile", "markdown"]
MAX_BYTES = 4 << 20
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
SHELLS = frozenset(("", "bash", "sh", "shell", "console", "zsh"))


def read(file: str, data: bytes) -> tuple[Simple, ...]:
    """The simple commands of a file. Raises InvalidFile for what cannot be read, with its line."""
    text = _decoded(file, data)
    match kind_of(file, text):
        case "yaml":
            return tuple(services(file, text))
        case "unit":
            return tuple(_unit(file, text))
        case "dockerfile":
            return tuple(_dockerfile(file, text))
        case "markdown":
            return commands(Text(file, _fenced(text)))
        case "shell":
            return commands(Text(file, text))


def kind_of(file: str, text: str) -> Kind:
    name = file.rpartition("/")[2].lower()
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    if name.endswith((".service", ".socket")) or re.search(r"^\[Service\]\s*$", text, re.MULTILINE):
        return "unit"
    if "dockerfile" in name or "containerfile" in name or re.match(r"(\s*#.*\n|\s*\n)*FROM\s+\S+\s*(AS\s|\n)", text):
        return "dockerfile"
    if name.endswith((".md", ".mdx", ".markdown")):
        return "markdown"
    if re.search(r"^(services|apiVersion|kind):", text, re.MULTILINE) and not text.startswith("#!"):
        return "yaml"
    return "shell"


def _decoded(file: str, data: bytes) -> str:
    hint = "give a shell script, a compose file, a systemd unit, a Dockerfile or a README"
    if len(data) > MAX_BYTES:
        raise InvalidFile([Problem(f"has {len(data)} bytes: no launch script is that long", Where(file), hint=hint)])
    control = re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", data)
    if control is not None:
        line = data.count(b"\n", 0, control.start()) + 1
        raise InvalidFile([Problem(f"is no text: it has the byte 0x{control[0][0]:02x}", Where(file, line), hint=hint)])
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _fenced(text: str) -> str:
    """The shell blocks, at their lines; prompts taken away."""
    out: list[str] = []
    fence, wanted = "", False
    for line in text.split("\n"):
        match = FENCE.match(line)
        if match and not fence:
            fence, wanted = match[1], match[2].lower() in SHELLS
            out.append("")
        elif match and line.strip().startswith(fence):
            fence = ""
            out.append("")
        else:
            out.append(re.sub(r"^(\s*)[$#>] (?=\S)", r"\1", line) if fence and wanted else "")
    return "\n".join(out)


def _unit(file: str, text: str) -> Iterator[Simple]:
    """`Environment=` of a unit reaches every `ExecStart=` of it, wherever it stands."""
    lines = list(_logical(text))
    exported: dict[str, Value] = {}
    is_open = any(key == "EnvironmentFile" for _, _, key, _ in lines)
    for line, column, key, value in lines:
        if key == "Environment":
            for token in tokens(Text(file, _specified(value), line, column)):
                if match := ASSIGNS.match("".join(part.text for part in token.parts)):
                    found = text_of(token, Scope(), match.end())
                    exported[match[0].rstrip("=")] = Value(_holes(found.text), found.where)
    for line, column, key, value in lines:
        if key in ("ExecStart", "ExecStartPre", "ExecStartPost"):
            prefix = re.match(r"[-@:+!]*", value)
            skip = prefix.end() if prefix else 0
            source = Text(file, _quoted_operators(_specified(value[skip:])), line, column + skip)
            for one in commands(source, exported=exported):
                words = tuple(_opened(word) for word in one.words)
                yield replace(one, words=words, machine=None, env_open=is_open)


def _logical(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Line, column of the value, key and value; continued lines stay lines."""
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        begin, row = at, rows[at]
        at += 1
        if row.lstrip().startswith(("#", ";", "[")) or "=" not in row:
            continue
        while row.endswith("\\") and at < len(rows):
            follows = rows[at]
            row += "\n" + ("\\" if follows.lstrip().startswith(("#", ";")) else follows)
            at += 1
        key, _, value = row.partition("=")
        yield begin + 1, len(key) + 2, key.strip(), value


SPECIFIER = "\ufffc"  # stands for `%` of a specifier until the words are cut


def _specified(value: str) -> str:
    return re.sub(r"%([a-zA-Z%])", lambda match: "%" if match[1] == "%" else SPECIFIER + match[1], value)


def _quoted_operators(value: str) -> str:
    """systemd has no operators, only words."""
    return re.sub(r"(?<![\\'\"])([;|&<>()])", r"\\\1", value).replace("$$", "\\$")


def _holes(text: str) -> str:
    return re.sub(f"{SPECIFIER}(.)", lambda match: hole("%" + match[1]), text)


def _opened(one: Word) -> Word:
    """A word in which specifiers are what is unknown."""
    if SPECIFIER not in one.text:
        return one
    found = tuple(HOLE.findall(_holes(one.text)))
    return replace(one, text=one.text.replace(SPECIFIER, "%"), unknown=one.unknown + found)


def _dockerfile(file: str, text: str) -> Iterator[Simple]:
    variables: dict[str, str] = {}
    entry: tuple[Simple, ...] = ()
    for one in instructions(text):
        where = Where(file, one.line, 1)
        if one.word in ("ENV", "ARG"):
            variables |= assigned(one.rest, variables)
        elif one.word == "FROM":
            variables, entry = dict(variables), ()
        elif one.word in ("CMD", "ENTRYPOINT") and one.is_json:
            env = {name: Word(value, where) for name, value in variables.items()}
            words = tuple(Word(word, where, len(word)) for word in one.words)
            found = (Simple(words, env),)
            entry = _behind(entry, found) if one.word == "CMD" else found
        elif one.word in ("CMD", "ENTRYPOINT"):
            exported = {name: Value(value, where) for name, value in variables.items()}
            entry = commands(Text(file, one.rest, one.line, len(one.word) + 2), exported=exported)
    yield from entry


def _behind(entry: tuple[Simple, ...], command: tuple[Simple, ...]) -> tuple[Simple, ...]:
    """The words of CMD are the arguments of an ENTRYPOINT."""
    if not entry:
        return command
    return (replace(entry[-1], words=entry[-1].words + command[0].words),)
