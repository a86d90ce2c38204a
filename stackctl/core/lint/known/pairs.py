"""Prefill and decode side by side: which processes belong together, what each says, and where a difference was written.

A difference is told once, at the line that made it: a role's own value before one that all engines share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stackctl.core.lint.known.asked import at_flag
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Place, PlaceKind, Severity

V4_KV = "fp8_e4m3"  # what `auto` becomes for DeepSeek-V4


def is_one(setup: Setup) -> bool:
    """Whether the processes are one deployment, whole: a page of examples holds several, at the same ports."""
    if setup.stack is not None:
        return True
    seats = [(one.role, one.host, one.text("port"), one.text("node-rank")) for one in setup.engines]
    return setup.complete and len(set(seats)) == len(seats)


def pairs(setup: Setup) -> Iterator[tuple[Process, Process]]:
    """Every prefill with every decode; none when the setup is not the whole deployment."""
    if is_one(setup):
        for prefill in setup.of_role("prefill"):
            for decode in setup.of_role("decode"):
                yield prefill, decode


def called(setup: Setup, process: Process) -> str:
    """`prefill`, or `prefill-1` where there are several."""
    return process.role if len(setup.of_role(process.role)) == 1 else process.id


@dataclass(frozen=True)
class Told:
    """What one side has. `given`: it is written, and not a default. `text` None: not known, so not compared."""

    text: str | None
    given: bool = True

    def __str__(self) -> str:
        return f"{self.text}" if self.given else f"{self.text} (the default)"


Reader = Callable[[Setup, Process], Told]


@dataclass(frozen=True)
class Agreement:
    """Something that both sides must have alike. `name`: of the flag or variable; `read`: what a side has of it.

    `otherwise`: what happens when they differ, as the end of a sentence.
    """

    name: str
    read: Reader
    otherwise: str
    kind: PlaceKind = "flag"
    severity: Severity | None = None

    def check(self, setup: Setup) -> Iterator[Hit]:
        """One hit for each different way to disagree."""
        seen: set[tuple[str, Place]] = set()
        for prefill, decode in pairs(setup):
            one, two = self.read(setup, prefill), self.read(setup, decode)
            if one.text is None or two.text is None or one.text == two.text:
                continue
            dashed = f"--{self.name}" if self.kind == "flag" else self.name
            sides = f"{called(setup, prefill)} has {one}, {called(setup, decode)} has {two}"
            message = f"{dashed} differs: {sides}; {self.otherwise}"
            place = where(setup, (prefill, one.given), (decode, two.given), self.kind, self.name)
            if (message, place) not in seen:
                seen.add((message, place))
                yield Hit(message, place, "give both the same value", self.severity)


def flag(name: str, default: str | None = None) -> Reader:
    """A flag's value, or its default; nothing where the base does not know the flag."""

    def read(_setup: Setup, process: Process) -> Told:
        if not process.has(name):
            return Told(None)
        return Told(process.text(name) or default, process.given(name) is not None)

    return read


def switch(name: str) -> Reader:
    def read(_setup: Setup, process: Process) -> Told:
        if not process.has(name):
            return Told(None)
        return Told("on", True) if process.on(name) else Told("off", False)

    return read


def where(setup: Setup, one: tuple[Process, bool], two: tuple[Process, bool], kind: PlaceKind, name: str) -> Place:
    """The place of a difference: a side that has it for itself, else the second that has it at all."""
    (first, first_given), (second, second_given) = one, two
    own = [
        side for side, given in ((second, second_given), (first, first_given)) if given and is_own(setup, side, name)
    ]
    chosen = own[0] if own else second if second_given or not first_given else first
    return at_flag(chosen, name) if kind == "flag" else Place(kind, name, chosen.id)


def is_own(setup: Setup, process: Process, name: str) -> bool:
    """Whether the role's own mapping wrote it, and not `serve` for all; True for a raw command."""
    stack = setup.stack
    if stack is None or stack.merged is None:
        return True
    option = process.given(name)
    name = option.name if option is not None else name
    marks = stack.merged.marks
    index = int(process.id.rpartition("-")[2])
    roots = (("roles", process.role), ("roles", process.role, index))
    return any((*root, kind, name) in marks for root in roots for kind in ("flags", "env"))
