"""`stackctl patches inventory`: what a stack carries against upstream, as a table or as one page that a reviewer reads.

It reads, and writes nothing but the page that was asked for; a file that is no page is not overwritten.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.commands.changes import refuse_other
from stackctl.commands.queue.graph import QueueGraph, graph_of
from stackctl.commands.queue.look import taken_patches
from stackctl.commands.review.diff import Shape
from stackctl.commands.review.revision import told_at
from stackctl.commands.review.sides import ports_of
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read
from stackctl.commands.workspace import shown
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.values import Patch
from stackctl.core.review.areas import areas_of, wanted_area
from stackctl.core.review.drawing import Words, svg
from stackctl.core.review.inventory import AreaSum, Carried, by_area, by_touch, carried
from stackctl.core.review.page import PARTS, Page, anchor, page
from stackctl.core.review.risk import Kind
from stackctl.core.stack.compare import pin
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.ports import Ports

ALL = Shape()
PAGE_BEGINS = b"<!doctype html>"


@dataclass(frozen=True)
class Inventory:
    """`base` in words, `tree` its id. `touching`: which patches touch what goes wrong under load."""

    stack: str
    variant: str
    base: str
    tree: TreeId
    patches: tuple[Carried, ...]
    areas: tuple[AreaSum, ...]
    touching: Mapping[Kind, tuple[PatchName, ...]]
    shape: Shape = field(default=ALL, repr=False)


@dataclass(frozen=True)
class SavedPage:
    """`size` in bytes."""

    file: str
    patches: int
    size: int


def take_inventory(ports: Ports, selection: Selection, shape: Shape = ALL) -> Inventory:
    """The queue of a stack, or of `STACK@REVISION`. Conflicts are told, not raised; broken files raise InvalidFile."""
    at, selection, revision = ports_of(ports, selection)
    stack, read, patches = told_at(revision, lambda: taken_patches(at, selection))
    return _inventory(ports, stack, read, _chosen(patches, shape, stack.name), shape)


def save_page(ports: Ports, selection: Selection, shape: Shape, file: str) -> SavedPage:
    """The same as one HTML file that needs nothing else. Raises StackctlError rather than overwrite another file."""
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), file))
    refuse_other(ports, path, PAGE_BEGINS, "page")
    at, selection, revision = ports_of(ports, selection)
    stack, read, patches = told_at(revision, lambda: taken_patches(at, selection))
    chosen = _chosen(patches, shape, stack.name)
    found = _inventory(ports, stack, read, chosen, shape)
    texts = {name: ports.templates.text(name, stack.workspace) for name in PARTS}
    drawing = _drawing(told_at(revision, lambda: graph_of(at, selection)), found.patches) if found.patches else ""
    label = f"{stack.name}@{revision}" if revision else stack.name
    made = Page(f"{label} {stack.variant}".strip(), found.base, found.patches, tuple(chosen), drawing, shape.area)
    data = page(made, texts).encode("utf-8", "replace")
    ports.files.write(path, data)
    return SavedPage(shown(ports, path), len(found.patches), len(data))


def _inventory(ports: Ports, stack: ResolvedStack, read: Read, patches: Sequence[Patch], shape: Shape) -> Inventory:
    rows = carried(read.queue, patches, ports.clock.now())
    return Inventory(
        stack=stack.name,
        variant=str(stack.variant),
        base=pin(stack),
        tree=read.queue.base,
        patches=rows,
        areas=by_area(rows),
        touching=by_touch(rows),
        shape=shape,
    )


def _chosen(patches: Sequence[Patch], shape: Shape, stack: str) -> list[Patch]:
    if not shape.area:
        return list(patches)
    wanted = wanted_area(shape.area, patches, stack)
    return [patch for patch in patches if wanted in areas_of(patch)]


def _drawing(found: QueueGraph, patches: Sequence[Carried]) -> str:
    links = {one.name: f"#{anchor(one.name)}" for one in patches}
    return svg(found.graph, Words(titles=found.titles, links=links))
