"""Judges a refusal by engine A: git refuses too, or takes the patches only by putting a hunk on other lines."""

from __future__ import annotations

from collections.abc import Sequence

from stackctl.core.patches.state import Base
from stackctl.core.patches.values import Patch
from stackctl.core.patches.walk import Walk, walk_subset
from stackctl.ports import Applied


def rightly_refused(applied: Applied, base: Base, whole: Walk, patches: Sequence[Patch]) -> bool:
    """`applied`: what git made of the patches as they are. `whole`: the series that they are a part of.

    A search that knows nothing of the whole series shows where git has put them: in a place of several, or on lines
    that look like those that the hunk read in the whole series and are not.
    """
    if applied.tree is None:
        return True
    searched = walk_subset(base, patches, {}, whole.needs)
    return bool(searched.faults) or any(
        whole.windows.get(hunk) != origins for hunk, origins in searched.windows.items()
    )
