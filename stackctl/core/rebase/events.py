"""What happened in a rebase that waits for hands, as lines of JSON, and what they mean together.

Events are only added; what they mean is worked out anew each time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from stackctl.core.names import PatchName, TreeId

FORMAT = 1


@dataclass(frozen=True)
class Started:
    """What was asked: all that a later run needs to ask the same."""

    onto: str
    sha256: str | None
    keep: tuple[str, ...]
    without: tuple[str, ...]
    name: str | None


@dataclass(frozen=True)
class Opened:
    """The patch that waits, and its trees: before and after it in the old queue, what it goes onto, what is shown."""

    patch: PatchName
    before: TreeId
    onto: TreeId
    after: TreeId | None
    shown: TreeId


@dataclass(frozen=True)
class Resolved:
    """`file`: the diff against `onto`, beside the events."""

    patch: PatchName
    onto: TreeId
    file: str


@dataclass(frozen=True)
class LeftOut:
    patch: PatchName


Event = Started | Opened | Resolved | LeftOut
KINDS: Mapping[str, type[Event]] = {"started": Started, "opened": Opened, "resolved": Resolved, "left-out": LeftOut}


@dataclass(frozen=True)
class SessionState:
    started: Started
    waiting: Opened | None = None
    resolved: Mapping[PatchName, Resolved] = field(default_factory=dict)
    left_out: frozenset[PatchName] = frozenset()


def line_of(event: Event) -> str:
    kind = next(name for name, of in KINDS.items() if isinstance(event, of))
    return json.dumps({"event": kind, "format": FORMAT, **asdict(event)})


def state_of(lines: Sequence[str]) -> SessionState | None:
    """None without a beginning that can be read. Raises ValueError for a line that is no event of this format."""
    events = [_event(line) for line in lines if line.strip()]
    started = next((event for event in events if isinstance(event, Started)), None)
    if started is None:
        return None
    resolved: dict[PatchName, Resolved] = {}
    left_out: set[PatchName] = set()
    waiting: Opened | None = None
    for event in events:
        match event:
            case Opened():
                waiting = event
            case Resolved():
                resolved[event.patch], waiting = event, None
            case LeftOut():
                left_out.add(event.patch)
                waiting = None
            case Started():
                pass
    return SessionState(started, waiting, resolved, frozenset(left_out))


def _event(line: str) -> Event:
    try:
        values: dict[str, Any] = json.loads(line)
        kind = KINDS[values.pop("event")]
        if values.pop("format") != FORMAT:
            raise ValueError("it was written by another version of stackctl")
        given: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}
        return kind(**given)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise ValueError(f"no event: {line[:80]}") from None
