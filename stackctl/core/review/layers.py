"""Where the nodes of a graph without circles stand: columns by depth, rows so that few edges cross.

The usual way for layered graphs: what needs nothing stands in the first column, all else right of what it needs; an
edge over several columns gets a place in each, so that it passes between the boxes; rows follow the middle of their
neighbours, swept to and fro. Parts of the graph that hang together stand together. It draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stackctl.core.names import PatchName

SWEEPS = 6  # more of them changed nothing in queues of 60

Pair = tuple[PatchName, PatchName]  # a patch and what it needs
Node = tuple[PatchName, PatchName | None, int]  # a patch (None, its column), or an edge where it passes a column


@dataclass(frozen=True)
class Point:
    column: int
    row: int


@dataclass(frozen=True)
class Layout:
    """`ways`: for each pair the points from the patch to what it needs, both ends included."""

    places: Mapping[PatchName, Point]
    ways: Mapping[Pair, tuple[Point, ...]]
    columns: int
    rows: int


def lay_out(names: Sequence[PatchName], pairs: Sequence[Pair]) -> Layout:
    """`names` in the order of the queue, so that each comes after what it needs."""
    depth = _depths(names, pairs)
    places: dict[PatchName, Point] = {}
    ways: dict[Pair, tuple[Point, ...]] = {}
    top = 0
    for part in _parts(names, pairs):
        own = [pair for pair in pairs if pair[0] in part]
        rows = _rows(part, own, depth)
        places |= {name: Point(depth[name], top + rows[name, None, depth[name]]) for name in part}
        for patch, needs in own:
            between = range(depth[patch] - 1, depth[needs], -1)
            passing = [Point(column, top + rows[patch, needs, column]) for column in between]
            ways[patch, needs] = (places[patch], *passing, places[needs])
        top += max(rows.values()) + 1
    return Layout(places, ways, max(depth.values(), default=-1) + 1, top)


def _depths(names: Sequence[PatchName], pairs: Sequence[Pair]) -> dict[PatchName, int]:
    depth: dict[PatchName, int] = {}
    for name in names:
        depth[name] = max((depth[needs] + 1 for patch, needs in pairs if patch == name), default=0)
    return depth


def _parts(names: Sequence[PatchName], pairs: Sequence[Pair]) -> list[list[PatchName]]:
    """The names, grouped by what hangs together."""
    group = {name: name for name in names}

    def root(name: PatchName) -> PatchName:
        while group[name] != name:
            name = group[name]
        return name

    for patch, needs in pairs:
        group[root(patch)] = root(needs)
    found: dict[PatchName, list[PatchName]] = {}
    for name in names:
        found.setdefault(root(name), []).append(name)
    return list(found.values())


def _rows(part: Sequence[PatchName], pairs: Sequence[Pair], depth: Mapping[PatchName, int]) -> dict[Node, int]:
    """A row for each node, no two alike in a column."""
    columns: list[list[Node]] = [[] for _ in range(max(depth[name] for name in part) + 1)]
    for name in part:
        columns[depth[name]].append((name, None, depth[name]))
    left: dict[Node, list[Node]] = {}
    right: dict[Node, list[Node]] = {}
    for patch, needs in pairs:
        passing: list[Node] = [(patch, needs, column) for column in range(depth[patch] - 1, depth[needs], -1)]
        for node in passing:
            columns[node[2]].append(node)
        chain: list[Node] = [(patch, None, depth[patch]), *passing, (needs, None, depth[needs])]
        for here, there in pairwise(chain):
            left.setdefault(here, []).append(there)
            right.setdefault(there, []).append(here)
    row = {node: at for column in columns for at, node in enumerate(column)}
    for sweep in range(SWEEPS):
        near = left if sweep % 2 == 0 else right
        for column in columns if sweep % 2 == 0 else reversed(columns):
            column.sort(key=lambda node: _middle((row[other] for other in near.get(node, ())), row[node]))
            row |= _spread(column, near, row)
    first = min(row.values())
    return {node: at - first for node, at in row.items()}


def _spread(column: Sequence[Node], near: Mapping[Node, Sequence[Node]], row: Mapping[Node, int]) -> dict[Node, int]:
    """Rows in this order, each as near to the middle of its neighbours as those before it allow."""
    placed: dict[Node, int] = {}
    least = 0
    for node in column:
        wanted = round(_middle((row[other] for other in near.get(node, ())), row[node]))
        placed[node] = least = max(wanted, least)
        least += 1
    return placed


def _middle(rows: Iterable[int], otherwise: int) -> float:
    found = list(rows)
    return sum(found) / len(found) if found else otherwise
