"""Reads the instructions of a Dockerfile: continued lines, here-documents, variables. It knows no more of an image.

Every instruction keeps the line that it begins at, so that whatever cannot be replayed can be pointed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HERE = re.compile(r"<<(-?)(['\"]?)([A-Za-z_][A-Za-z0-9_.-]*)\2")
ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)", re.IGNORECASE)
FLAG = re.compile(r"--([a-z-]+)(?:=(\S+))?\s+")
TEXTS = ("RUN", "COPY", "ADD")
VARIABLE = re.compile(r"\\?\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))")


@dataclass(frozen=True)
class Text:
    """A here-document: its end word and what stands before that."""

    name: str
    text: str


@dataclass(frozen=True)
class Instruction:
    """`rest` has no flags; `lines` are as they stand in the file, for RUN to count lines by."""

    line: int
    word: str
    rest: str
    flags: Mapping[str, str]
    texts: tuple[Text, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The JSON form, or what spaces part."""
        try:
            value = json.loads(self.rest)
        except ValueError:
            return tuple(self.rest.split())
        return tuple(map(str, value)) if isinstance(value, list) else tuple(self.rest.split())

    @property
    def is_json(self) -> bool:
        return self.rest.startswith("[") and self.words != tuple(self.rest.split())


def instructions(text: str) -> tuple[Instruction, ...]:
    lines = text.replace("\r\n", "\n").split("\n")
    escape = _escape(lines)
    found, at = [], 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        start = at
        whole, at = _whole(lines, at, escape)
        word, _, rest = whole.strip().partition(" ")
        flags: dict[str, str] = {}
        rest = rest.strip()
        while match := FLAG.match(rest):
            flags[match[1]] = match[2] or ""
            rest = rest[match.end() :].lstrip()
        texts: tuple[Text, ...] = ()
        if word.upper() in TEXTS:
            texts, at = _texts(lines, at, rest)
        found.append(Instruction(start + 1, word.upper(), rest, flags, texts))
    return tuple(found)


def of_last_stage(found: Sequence[Instruction]) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...]]:
    """What the image is made by: the last stage, behind those that it goes on from; and the FROM of every other one."""
    starts = [at for at, one in enumerate(found) if one.word == "FROM"]
    if not starts:
        return tuple(found), ()
    before = found[: starts[0]]
    variables: dict[str, str] = {}
    for one in before:
        variables |= assigned(one.rest, variables)
    stages = [found[at:end] for at, end in zip(starts, [*starts[1:], len(found)], strict=True)]
    words = [expanded(stage[0].rest, variables).lower().split() for stage in stages]
    names = [each[2] if each[1:2] == ["as"] and len(each) > 2 else None for each in words]
    chain, at = list[int](), len(stages) - 1
    while True:
        chain.insert(0, at)
        earlier = [one for one in range(at) if names[one] is not None and words[at][:1] == [names[one]]]
        if not earlier:
            break
        at = earlier[-1]
    kept = [one for number in chain for one in stages[number]]
    return (*before, *kept), tuple(stage[0] for number, stage in enumerate(stages) if number not in chain)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Variables of ARG and ENV put in; those that are not known stay."""

    def value(match: re.Match[str]) -> str:
        if match[0].startswith("\\"):
            return match[0][1:]
        name = match[1] or match[3]
        return variables.get(name, match[2] if match[2] is not None else match[0])

    return VARIABLE.sub(value, text)


def unknown_variables(text: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Those that `expanded` would leave as they are."""
    found = (match for match in VARIABLE.finditer(text) if not match[0].startswith("\\") and match[2] is None)
    return tuple(match[0] for match in found if (match[1] or match[3]) not in variables)


def assigned(rest: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What ARG or ENV sets: `A=1 B="x y"`, or the old form `A 1`."""
    pairs = re.findall(r"([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"]*\"|'[^']*'|\S*)", rest)
    if not pairs and " " in rest:
        name, _, value = rest.partition(" ")
        pairs = [(name, value.strip())]
    return {name: expanded(value.strip("\"'"), variables) for name, value in pairs}


def _escape(lines: Sequence[str]) -> str:
    for line in lines:
        if not line.startswith("#"):
            break
        if match := ESCAPE.match(line):
            return match[1]
    return "\\"


def _whole(lines: Sequence[str], at: int, escape: str) -> tuple[str, int]:
    """A logical line. Each continuation stays a line, so that places can be counted; comments in between do not."""
    parts: list[str] = []
    while at < len(lines):
        line = lines[at]
        at += 1
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            parts.append(" \\\n")
            continue
        stripped = line.rstrip()
        if not stripped.endswith(escape):
            parts.append(line)
            break
        parts.append(stripped[: -len(escape)] + "\\\n")
    return "".join(parts), at


def _texts(lines: Sequence[str], at: int, rest: str) -> tuple[tuple[Text, ...], int]:
    texts = []
    for strip, _, name in HERE.findall(re.sub(r"\\.", "", rest)):
        body: list[str] = []
        while at < len(lines):
            line = lines[at].lstrip("\t") if strip else lines[at]
            at += 1
            if line == name:
                break
            body.append(line + "\n")
        texts.append(Text(name, "".join(body)))
    return tuple(texts), at
