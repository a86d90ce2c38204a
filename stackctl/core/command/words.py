"""Words of a command, each with the place where it was written and what of it cannot be known without running it.

A value that is still being put together holds three marks, none of which can stand in a text file: what is unknown
stands between two of them, as it was written; a line that a backslash continued; a word added under a condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stackctl.errors import Where

if TYPE_CHECKING:
    from stackctl.core.command.container import Container

UNKNOWN, JOINED, MAYBE = "\x00", "\x02", "\x03"
HOLE = re.compile(f"{UNKNOWN}([^{UNKNOWN}]*){UNKNOWN}")
COMPARED = 20_000  # characters of a value whose additions are told apart, word by word
FIELD = re.compile(f"(?:{UNKNOWN}[^{UNKNOWN}]*{UNKNOWN}|[^\\s{JOINED}])+")


@dataclass(frozen=True)
class Text:
    """A script, or a piece of one: its first character stands at `line`, `column` of the file.

    `indent`: columns that were taken away from every line but the first.
    """

    file: str
    text: str
    line: int = 1
    column: int = 1
    indent: int = 0


@dataclass(frozen=True)
class Word:
    """`text`: what is unknown in it stands as written. `maybe`: only under a condition. `quote`: it opens with one."""

    text: str
    where: Where
    width: int = 1
    unknown: tuple[str, ...] = ()
    maybe: bool = False
    quote: bool = False

    @property
    def is_hole(self) -> bool:
        """Nothing of it is known: it may be no word, or many."""
        return bool(self.unknown) and "".join(self.unknown) == self.text


@dataclass(frozen=True)
class Value:
    """Of a variable: one text with marks, or the words of an array. `where`: of its first character.

    `seams`: offsets in the text from which on it was written elsewhere, and where.
    """

    text: str
    where: Where
    items: tuple[Word, ...] | None = None
    seams: tuple[tuple[int, Where], ...] = ()

    def place(self, offset: int) -> Where:
        """Where the character at an offset was written."""
        begin, where = next((seam for seam in reversed(self.seams) if seam[0] <= offset), (0, self.where))
        return below(where, self.text[begin:offset].replace(JOINED, "\n"))

    def then(self, more: Value) -> Value:
        """One text behind the other."""
        length = len(self.text)
        seams = (*self.seams, (length, more.where), *((length + at, where) for at, where in more.seams))
        return Value(self.text + more.text, self.where, None, seams)

    @property
    def said(self) -> tuple[str, tuple[tuple[str, bool], ...] | None]:
        """What it is, wherever it was written."""
        return self.text, None if self.items is None else tuple((one.text, one.maybe) for one in self.items)


@dataclass(frozen=True)
class Simple:
    """A simple command: its words, and the variables that it gets from this file.

    `branches`: for each condition around it the number of the condition and of its branch. `machine`: that it runs on,
    where the file says one. `env_open`: variables come from a file that was not read. `played`: the role in which the
    script has it, when it asks for one.
    """

    words: tuple[Word, ...]
    env: Mapping[str, Word] = field(default_factory=dict)
    branches: tuple[tuple[int, int], ...] = ()
    machine: str | None = None
    container: Container | None = None
    env_open: bool = False
    played: str = ""

    def __hash__(self) -> int:
        return hash((self.words, self.branches))


def hole(source: str) -> str:
    return f"{UNKNOWN}{source}{UNKNOWN}"


def word(marked: str, where: Where, width: int = 0, *, quote: bool = False) -> Word:
    unknown = tuple(HOLE.findall(marked))
    text = HOLE.sub(lambda match: match[1], marked).replace(JOINED, "")
    maybe = text.startswith(MAYBE)
    if MAYBE in text[1:] and not unknown:  # a part of it may not be there
        unknown = (text.replace(MAYBE, ""),)
    text = text.replace(MAYBE, "")
    return Word(text, where, max(1, width or len(text)), unknown, maybe, quote)


def remarked(one: Word) -> str:
    """A word as a value again: its holes are holes still."""
    text = one.text
    for source in one.unknown:
        text = text.replace(source, hole(source), 1)
    return text


def fields(value: Value) -> Iterator[Word]:
    """What an unquoted variable comes apart into, each with its own place as far as the text shows it."""
    seams, at, where, begin = value.seams, 0, value.where, 0
    for match in FIELD.finditer(value.text):
        while at < len(seams) and seams[at][0] <= match.start():
            (begin, where), at = seams[at], at + 1
        where = below(where, value.text[begin : match.start()].replace(JOINED, "\n"))
        begin = match.start()
        yield word(match[0], where)


def below(start: Where, before: str) -> Where:
    """The place behind `before`, which begins at `start`."""
    plain = HOLE.sub(lambda match: match[1], before).replace(MAYBE, "")
    lines = plain.count("\n")
    column = len(plain) - plain.rfind("\n") if lines else (start.column or 1) + len(plain)
    return Where(start.file, (start.line or 1) + lines, column)


def merged(name: str, old: Value | None, branches: Sequence[Value | None]) -> Value | None:
    """A variable after a condition: what all branches agree on; what some only add is a `maybe`; else unknown."""
    known = [one for one in branches if one is not None]
    if len({one.said for one in known}) <= 1 and len(known) in (0, len(branches)):
        return branches[0]
    added = _added(old, known) if old is not None and len(known) == len(branches) else None
    if added is None:
        full = list({one.said: one for one in known if one.text.strip() or one.items}.values())
        alike = len(full) == 1 and (old is None or old.said != full[0].said)
        options = full and all(one.items is None and one.text.lstrip().startswith("-") for one in full)
        if alike or options:
            added = _added(Value("", full[0].where, None if full[0].items is None else ()), full)
    return added or Value(hole(f"${name}"), known[0].where)


def _added(old: Value, known: Sequence[Value]) -> Value | None:
    """What all have from before, and behind it what one or the other appends; None when one does anything else."""
    if old.items is not None:
        length = len(old.items)
        heads = [Value("", one.where, one.items[:length]) for one in known if one.items is not None]
        if len(heads) == len(known) and all(one.said == Value("", old.where, old.items).said for one in heads):
            items = [item for one in known for item in (one.items or ())[length:]]
            return Value("", old.where, (*old.items, *(_perhaps(item) for item in items)))
    elif all(one.items is None and one.text.startswith(old.text) and len(one.text) < COMPARED for one in known):
        made = Value(old.text, old.where if old.text else known[0].where, None, old.seams)
        for one in known:
            made = _with_perhaps(made, one, len(old.text))
        return made
    return None


def _with_perhaps(made: Value, one: Value, begin: int) -> Value:
    """What `one` has from an offset on, behind `made`, each word marked."""
    for match in FIELD.finditer(one.text, begin):
        glued = match.start() == begin > 0 and not one.text[begin - 1].isspace()
        made = Value(made.text + ("" if glued else " "), made.where, None, made.seams)
        made = made.then(Value(MAYBE + match[0].removeprefix(MAYBE), one.place(match.start())))
    return made


def _perhaps(one: Word) -> Word:
    return Word(one.text, one.where, one.width, one.unknown, True, one.quote)
