"""Which tree of a host a new one shares most files with, so that only the rest has to go there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from stackctl.core.names import TreeId

MOST_APART = 500  # files; the names of those of the sibling go in a command line


class Entry(Protocol):
    """What is needed of `ports.TreeEntry`."""

    @property
    def path(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def blob(self) -> str: ...


@dataclass(frozen=True)
class Delta:
    """`sends`: paths that the sibling has not, or has otherwise. `apart`: paths of the sibling that are not shared."""

    sibling: TreeId
    sends: tuple[str, ...]
    apart: tuple[str, ...]


def nearest(wanted: Sequence[Entry], there: Mapping[TreeId, Sequence[Entry]]) -> Delta | None:
    """None when no tree shares at least half of the files."""
    found = [_delta(wanted, tree, entries) for tree, entries in there.items()]
    near = [one for one in found if len(one.apart) <= MOST_APART and 2 * len(one.sends) <= len(wanted)]
    return min(near, key=lambda one: (len(one.sends) + len(one.apart), one.sibling), default=None)


def _delta(wanted: Sequence[Entry], tree: TreeId, entries: Sequence[Entry]) -> Delta:
    want = {entry.path: (entry.mode, entry.blob) for entry in wanted}
    have = {entry.path: (entry.mode, entry.blob) for entry in entries}
    sends = tuple(path for path, what in want.items() if have.get(path) != what)
    apart = tuple(path for path, what in have.items() if want.get(path) != what)
    return Delta(tree, sends, apart)
