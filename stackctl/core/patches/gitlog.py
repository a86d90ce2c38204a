"""Reads what `git apply -v` says: where it put each hunk, and what it refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackctl.core.patches.state import Landing
from stackctl.core.patches.values import Patch

CHECKING = re.compile(r"Checking patch .*\.\.\.$")
MOVED = re.compile(r"Hunk #(\d+) succeeded at (\d+) \(offset (-?\d+) lines?\)\.$")


def sections_of_log(output: str) -> list[dict[int, int]]:
    """For each file section in order: hunk number -> line where git put it, for hunks away from their stated line."""
    sections: list[dict[int, int]] = []
    for line in output.splitlines():
        if CHECKING.match(line):
            sections.append({})
        elif (match := MOVED.match(line)) and sections:
            sections[-1][int(match[1])] = int(match[2])
    return sections


def misplaced(output: str, patches: Sequence[Patch], landings: Sequence[Landing]) -> Landing | None:
    """The first hunk that git put elsewhere than foreseen, or skipped; None when all is as it should be."""
    logged = sections_of_log(output)
    due = iter(landings)
    place = 0
    for patch in patches:
        for section in patch.files:
            said = logged[place] if place < len(logged) else None
            place += 1
            for number, _ in enumerate(section.hunks if section.old is not None else (), 1):
                landing = next(due)
                stated = landing.at - landing.offset if landing.at == landing.git_at else landing.at
                if said is None or said.get(number, stated) != landing.at:
                    return landing
    return None


def errors_of_log(output: str) -> str:
    """Git's own words about a refusal."""
    said = [line.removeprefix("error: ") for line in output.splitlines() if line.startswith(("error: ", "fatal: "))]
    return "; ".join(said) or "git said no more"
