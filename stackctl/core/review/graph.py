"""The needs of a queue as a graph, written as a tree of text or as DOT; and the shortest way from one patch to another.

It draws what depend.py and hints.py found and decides nothing. In a tree every patch stands once: under the need that
stands last in the queue; a need that this one implies is left to DOT, which has them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stackctl.core.names import PatchName
from stackctl.core.patches.depend import STRENGTH, closure
from stackctl.core.patches.values import Need

HINT = "hint"  # the reason of an edge that is no need: a Python name of the one is used in the other
WEIGHT = (*STRENGTH, HINT)
COLOURS = {
    "content": "#c0392b", "context": "#2471a3", "tombstone": "#7d3c98", "file": "#1e8449", "declared": "#7f8c8d",
    HINT: "#b9770e",
}  # fmt: skip


@dataclass(frozen=True)
class Graph:
    """`names` in the order of the queue; `edges` of patches to what they need, hints among them."""

    title: str
    names: tuple[PatchName, ...]
    edges: tuple[Need, ...]

    @cached_property
    def place(self) -> Mapping[PatchName, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def below(self) -> Mapping[PatchName, tuple[Need, ...]]:
        """What each patch needs, in the order of the queue. An edge to what comes later or is left out is none."""
        kept = [
            edge for edge in self.edges if self.place.get(edge.needs, len(self.names)) < self.place.get(edge.patch, 0)
        ]
        kept.sort(key=lambda edge: self.place[edge.needs])
        return {name: tuple(edge for edge in kept if edge.patch == name) for name in self.names}

    @cached_property
    def reduced(self) -> Mapping[PatchName, tuple[Need, ...]]:
        """The same without each edge that others imply."""
        reach = {name: closure(self.edges, [name]) - {name} for name in self.names}
        return {
            name: tuple(
                edge for edge in edges if not any(edge.needs in reach[other.needs] for other in edges if other != edge)
            )
            for name, edges in self.below.items()
        }

    @cached_property
    def alone(self) -> tuple[PatchName, ...]:
        """Patches that need none and that none needs."""
        tied = {name for edges in self.below.values() for edge in edges for name in (edge.patch, edge.needs)}
        return tuple(name for name in self.names if name not in tied)


def tree(graph: Graph) -> list[str]:
    """Lines of text: under each patch those that fall with it; at the end those that stand alone."""
    under: dict[PatchName, list[PatchName]] = {name: [] for name in graph.names}
    roots = []
    for name in graph.names:
        needs = graph.reduced[name]
        if needs:
            under[needs[-1].needs].append(name)
        elif name not in graph.alone:
            roots.append(name)
    lines = [line for root in roots for line in _branch(graph, under, root, "", "")]
    if graph.alone:
        lines += [""] * bool(lines) + [f"{len(graph.alone)} stand alone:" if roots else "all stand alone:"]
        lines += [f"  {name}" for name in graph.alone]
    return lines


def _branch(
    graph: Graph, under: Mapping[PatchName, Sequence[PatchName]], name: PatchName, lead: str, further: str
) -> Iterator[str]:
    """A patch and what hangs on it; without recursion, since a chain may be as long as the queue."""
    todo = [(name, lead, further)]
    while todo:
        here, before, following = todo.pop()
        yield before + here + _label(graph.reduced[here])
        last = len(under[here]) - 1
        below = [
            (child, following + ("└─ " if at == last else "├─ "), following + ("   " if at == last else "│  "))
            for at, child in enumerate(under[here])
        ]
        todo += reversed(below)


def _label(needs: Sequence[Need]) -> str:
    if not needs:
        return ""
    *others, under = needs
    where = f", {under.file}" if under.file else ""
    more = ", ".join(f"{need.needs} ({need.reason})" for need in others)
    return f"  [{under.reason}{where}]" + (f" and needs {more}" if more else "")


def dot(graph: Graph) -> str:
    """All patches and all edges, for Graphviz: `dot -Tsvg`."""
    lines = [f"digraph {_quoted(graph.title)} {{", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
    lines += [f"  {_quoted(name)};" for name in graph.names]
    for edge in sorted_edges(graph):
        style = ", style=dashed" if edge.reason == HINT else ""
        place = f"{edge.file or ''}, line {edge.line} of the patch".lstrip(", ") if edge.line else edge.file or ""
        lines.append(
            f"  {_quoted(edge.patch)} -> {_quoted(edge.needs)} "
            f'[label="{edge.reason}", color="{COLOURS[edge.reason]}", tooltip={_quoted(place)}{style}];'
        )
    return "\n".join([*lines, "}", ""])


def sorted_edges(graph: Graph) -> list[Need]:
    return [edge for name in graph.names for edge in graph.below[name]]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
    return f'"{escaped}"'


def way(needs: Iterable[Need], start: PatchName, goal: PatchName) -> tuple[Need, ...] | None:
    """The shortest chain of needs from one patch to another, the strongest of equals; None when there is none."""
    following: dict[PatchName, list[Need]] = {}
    for need in sorted(needs, key=lambda need: WEIGHT.index(need.reason)):
        following.setdefault(need.patch, []).append(need)
    came: dict[PatchName, Need | None] = {start: None}
    todo = [start]
    for name in todo:  # grows while it is gone through: the nearest first
        for need in following.get(name, ()):
            if need.needs not in came:
                came[need.needs] = need
                todo.append(need.needs)
    if goal not in came or goal == start:
        return None
    return _back(came, goal)


def _back(came: Mapping[PatchName, Need | None], goal: PatchName) -> tuple[Need, ...]:
    steps: list[Need] = []
    while (need := came[goal]) is not None:
        steps.insert(0, need)
        goal = need.patch
    return tuple(steps)


def closures(names: Collection[PatchName], needs: Sequence[Need]) -> dict[PatchName, tuple[PatchName, ...]]:
    """For each patch all that it needs, without itself, in the order of the queue."""
    found = {}
    for name in names:
        wanted = closure(needs, [name]) - {name}
        found[name] = tuple(other for other in names if other in wanted)
    return found
