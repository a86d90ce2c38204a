"""What a work tree in which a patch is edited looks like to stackctl: values that adapters give back."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.names import TreeId


@dataclass(frozen=True)
class Snapshot:
    """A work tree as it stands. `left_out`: files that the patterns of its ignore files keep out of `tree`.

    `unmerged`: files in conflict. `only_here`: refs (a stash, branches) that would be lost with the work tree.
    """

    tree: TreeId
    left_out: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    only_here: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merged:
    """What became of one file of a patch that did not apply.

    `outcome`: merged, conflict (markers in the file), parts (the hunks that fit; the rest is beside it in FILE.rej),
    or left out. `reason`: git's own words.
    """

    path: str
    outcome: str
    reason: str = ""
