"""The events of a session as JSON lines: what happened, never what it means.

Every line is on the disk before anything is done with it. A line without its end was being written when the machine
stopped: it is dropped with a word, because nobody can have used it. An unknown event is refused, not skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stackctl.core.bisect.hypotheses import Prior
from stackctl.core.bisect.search import Ending, Outcome, Phase
from stackctl.core.bisect.space import Clause, Member
from stackctl.errors import StackctlError

FORMAT = 1


@dataclass(frozen=True)
class Started:
    """`facts`: what must not change under a session, each with its digest. `untested`: what is no member, and why."""

    session: str
    stack: str
    test: str
    facts: Mapping[str, str]
    members: tuple[Member, ...]
    needs: Mapping[str, tuple[str, ...]]
    untested: tuple[str, ...] = ()
    seed: str = "0"
    prior: Prior = "weighted"
    min_rate: float = 0.5
    stop: float = 0.97
    format: int = FORMAT


@dataclass(frozen=True)
class Working:
    """A process took the session up."""

    by: str
    pid: int


@dataclass(frozen=True)
class Served:
    """What answered before the first variant was deployed, to be put back. `release` None: nothing did."""

    release: str | None
    without: tuple[str, ...] = ()
    with_patches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restored:
    """What served before serves again, or the variant was stopped."""

    release: str | None


@dataclass(frozen=True)
class Chosen:
    run: int
    phase: Phase
    without: tuple[str, ...]


@dataclass(frozen=True)
class Observed:
    run: int
    outcome: Outcome


@dataclass(frozen=True)
class Learned:
    clause: Clause
    reason: str


@dataclass(frozen=True)
class Undone:
    """The run counts no more."""

    run: int


@dataclass(frozen=True)
class Noted:
    text: str


@dataclass(frozen=True)
class Ended:
    kind: Ending
    reason: str
    culprit: tuple[str, ...] = ()

    @property
    def is_pause(self) -> bool:
        return self.kind in ("BUDGET", "INFRA")


Event = Started | Working | Served | Restored | Chosen | Observed | Learned | Undone | Noted | Ended
_KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Started, Working, Served, Restored, Chosen, Observed, Learned, Undone, Noted, Ended)
}


@dataclass(frozen=True)
class Logged:
    """`at`: seconds since the epoch."""

    at: float
    event: Event


@dataclass(frozen=True)
class Log:
    """`torn`: the last line had no end; `whole` is the text without it."""

    entries: tuple[Logged, ...]
    torn: bool = False
    whole: str = field(default="", repr=False)


def record(event: Event, at: float) -> dict[str, Any]:
    """What a line holds."""
    return {"event": type(event).__name__.lower(), "at": round(at, 3)} | asdict(event)


def encode(event: Event, at: float) -> str:
    """One line, without its end."""
    return json.dumps(record(event, at), ensure_ascii=False, separators=(",", ":"))


def decode(text: str, file: str) -> Log:
    """All events of a file. Raises StackctlError with the line of one that cannot be read."""
    lines = text.split("\n")
    torn = bool(lines.pop())
    entries = tuple(_decode_line(line, f"{file}:{number}") for number, line in enumerate(lines, 1))
    return Log(entries, torn, "".join(line + "\n" for line in lines))


def _decode_line(line: str, place: str) -> Logged:
    try:
        values = json.loads(line)
        kind, at = _KINDS[values.pop("event")], float(values.pop("at"))
        return Logged(at, _build(kind, values))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StackctlError(
            f"{place}: not an event of a bisect: {error}",
            hint="the file was changed, or a newer stackctl wrote it; begin anew with --new",
        ) from None


def _member(row: dict[str, Any]) -> Member:
    """Sessions of older versions have no reasons."""
    return Member(**row | {key: tuple(row.get(key, ())) for key in ("carries", "reasons")})


def _build(kind: type[Any], values: dict[str, Any]) -> Any:
    """JSON knows lists and maps only: give nested values their types back."""
    nested: dict[str, Any] = {
        "members": lambda rows: tuple(_member(row) for row in rows),
        "needs": lambda needs: {name: tuple(others) for name, others in needs.items()},
        "outcome": lambda row: Outcome(**row),
        "clause": lambda row: Clause(tuple(row["on"]), tuple(row["off"])),
    }
    fields = {
        key: nested[key](value) if key in nested else tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
    }
    if kind is Started and fields.get("format") != FORMAT:
        raise ValueError(f"format {fields.get('format')}, this stackctl knows {FORMAT}")
    return kind(**fields)
