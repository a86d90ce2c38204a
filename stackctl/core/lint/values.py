"""Rules and what they find: plain values. A rule is one small function over a Setup; it reads nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from stackctl.core.lint.setup import Setup
from stackctl.errors import Where

Severity = Literal["error", "warning", "info"]
PlaceKind = Literal["flag", "env", "key"]


@dataclass(frozen=True)
class Place:
    """What a finding is about, in words that a stack file and a raw command both have.

    `flag`: its name as written, without dashes; `env`: the variable; `key`: a dotted key of the stack file, below the
    instance's own mapping (`port`, `gpus`) when `instance` is given, else from the top (`serve.tool_call_parser`).
    """

    kind: PlaceKind
    name: str
    instance: str | None = None  # "prefill-0"


@dataclass(frozen=True)
class Hit:
    """One firing of a rule. `severity`: only where it differs from the rule's own."""

    message: str
    place: Place
    hint: str = ""
    severity: Severity | None = None


Check = Callable[[Setup], Iterator[Hit]]


@dataclass(frozen=True)
class Rule:
    """`versions`: releases of sglang it is for, as PEP 440 specifiers (`>=0.5.13,<0.5.16`), empty for all; such a rule
    is silent when the version is not known. `doubt`: inferred, so the message says "may". `about`: one line for
    `check --rules`; `why`: what `check --explain` prints. `sglang`: needs an sglang tree."""

    id: str
    severity: Severity
    check: Check
    about: str
    why: str
    evidence: tuple[str, ...] = ()
    versions: str = ""
    doubt: bool = False
    sglang: bool = True


@dataclass(frozen=True)
class Finding:
    """A hit with its place in a file. `instances`: whom it concerns, when one line speaks for several."""

    rule: str
    severity: Severity
    message: str
    hint: str = ""
    where: Where | None = None
    key: str = ""
    instances: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = ": ".join(str(part) for part in (self.where, self.key) if part)
        return f"{place + ': ' if place else ''}{self.rule}: {self.message}"
