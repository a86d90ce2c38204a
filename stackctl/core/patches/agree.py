"""Holds git's tree against what the walk foresaw: same files, same modes, same bytes.

Two readers of one patch file may see two things in it. A tree is only believed when both saw the same.
"""

from __future__ import annotations

from stackctl.core.patches.state import State
from stackctl.core.patches.trees import Listing as Listing
from stackctl.core.patches.trees import blob_id


def disagreement(base: Listing, made: Listing, state: State) -> str | None:
    """The first path where `made` (by git) is not `base` as the walk has changed it."""
    foreseen = dict(base)
    for path, text in state.texts.items():
        foreseen.pop(path, None)
        if text is not None:
            foreseen[path] = (text.mode, blob_id(text.data()))
    if foreseen == made:
        return None
    return next(path for path in sorted({*foreseen, *made}) if foreseen.get(path) != made.get(path))
