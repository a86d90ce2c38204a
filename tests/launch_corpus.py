"""Launch commands found in public, what is wrong with them at which release, and what the linter says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from stackctl.core.command.findings import findings
from stackctl.core.command.launches import launches
from stackctl.core.command.script import commands
from stackctl.core.command.setup import Ground, readings
from stackctl.core.command.words import Text
from stackctl.core.lint.catalogue import RULES
from stackctl.core.lint.model_name import card_of_hardware, model_of_words
from stackctl.core.lint.setup import Card
from stackctl.core.stack.source import parse
from stackctl.core.upstream.values import History, Upstream

FOLDER = Path(__file__).parent / "cases" / "launch"
FILES = ("corpus.yaml", "held_out.yaml")  # the second was looked up after the rules had been written
SM120 = Card("sm_120", 8, 96 << 30)
VERSIONS = (
    "0.5.9", "0.5.10.post1", "0.5.11", "0.5.12", "0.5.13.post1", "0.5.14", "0.5.15", "0.5.16", "0.5.17", "0.5.18",
    "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23",
)  # fmt: skip
TOO_OLD = "DSV4-VERSION"  # where it fires nothing else is compared
LOUD = ("error", "warning")


@dataclass(frozen=True)
class Case:
    """One command at one release on its own card, or on an SM120 one."""

    id: str
    command: str
    version: str
    card: Card | None
    model: str | None
    expected: frozenset[str]


def cases(version: str, file: str = FILES[0]) -> Iterator[Case]:
    """Every command on its own hardware; once more on SM120 where the corpus says what differs there."""
    for entry in _entries(file):
        card = card_of_hardware(entry["hardware"])
        on_sm120 = any(one.get("on") == "sm120" for one in entry["expect"])
        for chosen in (card, SM120) if on_sm120 else (card,):
            is_sm120 = chosen is not None and chosen.is_sm120
            wanted = frozenset(
                one["rule"]
                for one in entry["expect"]
                if _at(one["at"], version) and one.get("on") in ((None, "sm120") if is_sm120 else (None,))
            )
            yield Case(entry["id"], entry["command"], version, chosen, entry.get("model"), wanted)


def _entries(file: str) -> list[dict[str, Any]]:
    """By the stack's own reader: YAML would take the key `on` for a truth value."""
    listed = parse(file, (FOLDER / file).read_bytes()).value["commands"]
    assert isinstance(listed, list)
    return listed


def said(case: Case, upstream: Upstream, history: History) -> frozenset[str]:
    """The errors and warnings of the linter, by the ids of their rules."""
    ground = Ground(upstream, history, case.card, model_of_words(case.model) if case.model else None)
    found = readings(launches(commands(Text("command", case.command))), ground)
    rules = {one.rule for reading in found for one in findings(reading, RULES) if one.severity in LOUD}
    return frozenset({TOO_OLD} if TOO_OLD in rules else rules)


def wanted(case: Case) -> frozenset[str]:
    return frozenset({TOO_OLD}) if TOO_OLD in case.expected else case.expected


def _at(condition: str, version: str) -> bool:
    short = ".".join(version.split(".")[:3])
    return condition == "all" or SpecifierSet(condition).contains(short)
