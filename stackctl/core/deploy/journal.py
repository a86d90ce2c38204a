"""Reads what a cut-over wrote down: its status while it works, its journal afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackctl.core.deploy.facts import Status, parse_status


@dataclass(frozen=True)
class Seen:
    """`status` None: nothing of this attempt yet. `alive`: is the process that wrote it still there?"""

    status: Status | None
    alive: bool


def seen(text: str, attempt: str) -> Seen:
    """`text`: status.json in one line, then /proc/PID/stat of the process that it names, when there is one."""
    first, _, rest = text.partition("\n")
    status = parse_status(_json(first))
    if status is None or status.attempt != attempt:
        return Seen(None, False)
    fields = rest.rpartition(")")[2].split()
    return Seen(status, len(fields) > 19 and fields[19] == str(status.start) and fields[0] not in "ZX")


@dataclass(frozen=True)
class Entry:
    """One line of journal.jsonl. `time`: seconds since the epoch."""

    time: float
    attempt: str
    kind: str
    release: str
    step: str
    phase: str
    detail: str


def entries(text: str) -> tuple[Entry, ...]:
    """Whole lines only: a half-written one (the disk was full, the power went) tells nothing."""
    return tuple(_entries(text))


def _entries(text: str) -> Iterator[Entry]:
    for line in text.splitlines():
        value = _json(line)
        if isinstance(value, dict) and {"time", "attempt", "phase"} <= value.keys():
            words = {
                name: str(value.get(name, "")) for name in ("attempt", "kind", "release", "step", "phase", "detail")
            }
            yield Entry(time=float(value["time"]), **words)


def start_seconds(status: Status) -> float:
    """From the first start to the passed gate: all steps but the first, which ends what was there."""
    return round(sum(step.seconds for step in status.steps[1:]), 2)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
