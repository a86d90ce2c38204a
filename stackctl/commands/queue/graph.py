"""The verbs that say who needs whom: the graph of a queue, and the lines that tie one patch to another."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.commands.changes import refuse_other
from stackctl.commands.queue.look import named_patch, taken_patches
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read
from stackctl.commands.workspace import shown
from stackctl.core.names import SGLANG, PatchName
from stackctl.core.patches.hints import Hint, hints
from stackctl.core.patches.values import Need
from stackctl.core.review.drawing import Words, svg
from stackctl.core.review.evidence import Evidence, evidence, neighbours
from stackctl.core.review.graph import HINT, Graph, way
from stackctl.ports import Ports

DRAWING_BEGINS = b'<svg xmlns="http://www.w3.org/2000/svg" class="queue"'


@dataclass(frozen=True)
class QueueGraph:
    """`graph.edges` are needs and, with the reason `hint`, the pairs of `hints`. `conflicts` do not apply.

    `sources`: of patches for another tree than sglang's.
    """

    stack: str
    variant: str
    graph: Graph
    hints: tuple[Hint, ...]
    titles: Mapping[PatchName, str]
    conflicts: tuple[PatchName, ...] = ()
    sources: Mapping[PatchName, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One need, and every line that shows it. `files`: patch files of the one that needs, and of the one needed."""

    need: Need
    files: tuple[str, str]
    lines: tuple[Evidence, ...]


@dataclass(frozen=True)
class Why:
    """`answer`: needs (over `steps`), needed (the other way round, over `steps`), or apart.

    `hints`: Python names that one of the two uses and the other adds. `shared`: files that both touch.
    """

    stack: str
    patch: PatchName
    other: PatchName
    answer: Literal["needs", "needed", "apart"]
    steps: tuple[Step, ...]
    hints: tuple[Hint, ...]
    shared: tuple[str, ...]


def graph_of(ports: Ports, selection: Selection) -> QueueGraph:
    """The graph of a stack's queue, without what is left out. Raises InvalidFile for broken patch files."""
    stack, read, patches = taken_patches(ports, selection)
    names = tuple(patch.name for patch in patches)
    found = tuple(hint for hint in hints_of(ports, read) if {hint.patch, hint.adds} <= set(names))
    known = {(need.patch, need.needs) for need in read.queue.needs}
    extra = dict.fromkeys((hint.patch, hint.adds) for hint in found if (hint.patch, hint.adds) not in known)
    edges = [need for need in read.queue.needs if {need.patch, need.needs} <= set(names)]
    edges += [_edge(next(hint for hint in found if (hint.patch, hint.adds) == pair)) for pair in extra]
    titles = {patch.name: patch.header.subject or "" for patch in patches}
    title = " ".join([stack.name, str(stack.variant)]).strip()
    conflicts = tuple(name for name in names if name in read.queue.conflicts)
    sources = {patch.name: patch.source for patch in patches if patch.source != SGLANG}
    graph = Graph(title, names, tuple(edges))
    return QueueGraph(stack.name, str(stack.variant), graph, found, titles, conflicts, sources)


def save_drawing(ports: Ports, found: QueueGraph, file: str) -> str:
    """The drawing: as text for `-`, else into a file, which is then named. Raises StackctlError for another file."""
    drawn = svg(found.graph, Words(titles=found.titles))
    if file == "-":
        return drawn
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), file))
    refuse_other(ports, path, DRAWING_BEGINS, "drawing of a queue")
    ports.files.write(path, drawn.encode())
    return shown(ports, path)


def _edge(hint: Hint) -> Need:
    return Need(hint.patch, hint.adds, HINT, f"{hint.file}:{hint.line} uses {hint.name}")


def hints_of(ports: Ports, read: Read) -> tuple[Hint, ...]:
    """Names that one patch uses and another adds, of each source by itself; none that its base knows already."""
    found: list[Hint] = []
    for part in read.parts.values():
        maybe = hints(part.walk.patches, part.walk.state)
        there = ports.git.words(part.queue.base, {hint.name for hint in maybe}) if maybe else frozenset()
        found += [hint for hint in maybe if hint.name not in there]
    return tuple(found)


def why(ports: Ports, patch: str, other: str, selection: Selection) -> Why:
    """Why one patch needs another: the chain between them, each step with its lines. Raises UsageError for a name."""
    stack, read, _ = taken_patches(ports, selection)
    first, second = named_patch(read.queue, patch), named_patch(read.queue, other)
    one, two = first.name, second.name
    forth = way(read.queue.needs, one, two)
    back = None if forth else way(read.queue.needs, two, one)
    pair = {one, two}
    found = tuple(hint for hint in hints_of(ports, read) if {hint.patch, hint.adds} == pair)
    answer: Literal["needs", "needed", "apart"] = "needs" if forth else "needed" if back else "apart"
    steps = tuple(_step(read, need) for need in forth or back or ())
    shared = neighbours(read.queue.patches, one, two) if first.source == second.source else ()
    return Why(stack.name, one, two, answer, steps, found, shared)


def _step(read: Read, need: Need) -> Step:
    files = {patch.name: patch for patch in read.queue.patches}
    one, other = files[need.patch], files[need.needs]
    part = read.parts[one.source]
    series = read.queue.patches if need.reason == "declared" else part.walk.patches  # it may be of another source
    return Step(need, (one.file, other.file), evidence(part.base, series, part.walk.windows, need))
