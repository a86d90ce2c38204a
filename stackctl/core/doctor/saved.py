"""Facts of a host as they were when something good happened there: a deploy that passed its gate, a clean test.

One JSON line for each, in `facts.jsonl` beside the releases on the host, so that every client can compare with them.
A line whose facts are those of an earlier line names that line's digest only. A line that is not whole, or of another
format, is passed over: it costs one moment to compare with, not the others.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stackctl.core.doctor.drift import lasting
from stackctl.core.doctor.jsonform import facts_from_json, facts_to_json
from stackctl.core.doctor.values import Facts
from stackctl.errors import StackctlError

FILE = "facts.jsonl"  # below ~/.stackctl/STACK on the host
LAST_CLEAN = "last-clean"
Event = Literal["deploy", "restart", "rollback", "test"]


@dataclass(frozen=True)
class Moment:
    """What happened. `time` in seconds since the epoch; `test`: the name of a test that was clean; `client`: who."""

    time: float
    event: Event
    release: str
    client: str
    variant: str = ""
    test: str = ""

    def __str__(self) -> str:
        what = f"clean test {self.test} of" if self.event == "test" else f"{self.event} of"
        return f"{what} {self.release}"


@dataclass(frozen=True)
class Saved:
    moment: Moment
    facts: Facts


def line(moment: Moment, facts: Facts) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is written each time, with the digest of the facts; and the facts, which are written once."""
    known = _stripped(facts_to_json(lasting(facts)))
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
    words = {name: value for name, value in vars(moment).items() if value}
    return {**words, "digest": digest}, known


def _stripped(value: Any) -> Any:
    """Without what a reader puts there by itself; a limit is whole, for None is unlimited there."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if item not in (None, "", (), [], {})}
        return {key: item if key == "limits" else _stripped(item) for key, item in kept.items()}
    return [_stripped(item) for item in value] if isinstance(value, (list, tuple)) else value


def parse(text: str) -> tuple[Saved, ...]:
    """In the order in which they were written."""
    return tuple(_parsed(text))


def _parsed(text: str) -> Iterator[Saved]:
    known: dict[str, Facts] = {}
    for row in text.splitlines():
        try:
            value = json.loads(row)
            names = ("event", "release", "client", "variant", "test")
            moment = Moment(float(value["time"]), **{name: str(value.get(name, "")) for name in names})  # type: ignore[arg-type]
            digest = str(value["digest"])
            facts = facts_from_json(value["facts"]) if "facts" in value else known.get(digest)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if facts is not None:
            known[digest] = facts
            yield Saved(moment, facts)


def since(saved: Sequence[Saved], word: str, host: str) -> Saved:
    """The last moment of the release that `word` begins, or the last clean test. StackctlError names what there is."""
    if word == LAST_CLEAN:
        found = [one for one in saved if one.moment.event == "test"]
        if not found:
            raise StackctlError(f"{host}: no clean test was saved there", _there(saved))
        return found[-1]
    found = [one for one in saved if one.moment.release.startswith(word)]
    releases = list(dict.fromkeys(one.moment.release for one in found))
    if len(releases) > 1:
        raise StackctlError(f"{host}: {word} begins several releases: {', '.join(releases)}", "Write more of it.")
    if not found:
        raise StackctlError(f"{host}: nothing was saved there with release {word}", _there(saved))
    return found[-1]


def is_release(word: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{1,12}", word) is not None


def _there(saved: Sequence[Saved]) -> str:
    if not saved:
        return "Facts are saved with each deploy and each clean test, from the next one on."
    releases = list(dict.fromkeys(one.moment.release for one in reversed(saved)))
    clean = f", {LAST_CLEAN}" if any(one.moment.event == "test" for one in saved) else ""
    return f"Saved there are {', '.join(releases[:8])}{clean}."
