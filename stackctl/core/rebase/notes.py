"""What a person should know beside the verdict on a patch: where tries disagree, and where its lines may be now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.core.patches.faults import Fault
from stackctl.core.patches.probe import Probe
from stackctl.core.rebase.moved import Home
from stackctl.core.rebase.verdict import Findings


def notes_of(seen: Probe, found: Findings, refused: Fault | None, homes: Sequence[Home], old: str) -> Iterator[str]:
    """`old` names the old base."""
    if refused:
        yield f"no three-way merge: it does not apply to {old} ({refused.kind}: {refused.message})"
    if found.fits and found.merge in ("changed", "conflict") and not found.agrees:
        places = ", ".join(f"{each.file}:{each.at}" for each in seen.step.landings)
        yield f"by its context alone it would go to {places}, which the three-way merge does not confirm"
    if found.inside and found.merge != "same" and not found.reverses:
        yield f"in the base already: {', '.join(seen.inside)} ({found.inside} of {found.hunks})"
    for home in homes:
        yield f"{home.found} of {home.lines} lines that it reads in {home.old} are in {home.new} now"
