"""Where an import begins: the stack, the tree that the new patches stand on, and how diffs are followed from there.

Diffs are judged as those of a queue are, and git makes each tree; whatever does not fit its place is refused, never
bent. Nothing is written to the workspace here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from stackctl.commands.tree import Read, apply_patches, base_of, data_for_git, listing_of
from stackctl.core.importing.decide import Incoming, Note, is_canonical
from stackctl.core.importing.roots import Roots, renamer, rewritten
from stackctl.core.names import SGLANG, PatchName, TreeId
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.gitlog import errors_of_log
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.state import Landing
from stackctl.core.patches.values import Header, Offset, Patch, Queue
from stackctl.core.patches.walk import walk_diffs
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import PatchConflict
from stackctl.ports import Ports

Onto = Literal["queue", "base"]


@dataclass(frozen=True)
class How:
    """What holds for all kinds of sources. `only`: folders of the tree; what a fork has elsewhere is left out."""

    roots: Roots = field(default_factory=dict)
    only: tuple[str, ...] = ()
    fix_crlf: bool = False
    partial: bool = False
    title: str | None = None

    def keeps(self, path: str) -> bool:
        return not self.only or any(path == one or path.startswith(f"{one}/") for one in self.only)


@dataclass(frozen=True)
class Ground:
    """`tree` is what the patches stand on: the base, or all that the queue makes of it."""

    stack: ResolvedStack
    base: TreeId
    tree: TreeId
    how: How
    source: str = SGLANG


@dataclass(frozen=True)
class Draft:
    """A diff on its way to become a patch; `patch` is in names of the tree or of the file, `as_it_came` if in both."""

    origin: str
    header: Header
    patch: ParsedPatch
    as_it_came: bool = False


def draft(how: How, origin: str, data: bytes, level: int | None = None) -> Draft | Fault:
    """A file read strictly, its names mapped by the roots. `level`: a strip level that somebody states."""
    patch = parse(data, origin, rename=renamer(how.roots))
    if isinstance(patch, Fault) and patch.kind == "crlf-patch":
        if not how.fix_crlf:
            return replace(patch, hint="`--fix-crlf` takes the CRs out; a file that has CRs itself wants another diff.")
        data = data.replace(b"\r\n", b"\n")
        patch = parse(data, origin, rename=renamer(how.roots))
    if isinstance(patch, Fault):
        return patch
    plain = parse(data, origin)
    mapped = isinstance(plain, Fault) or [x.names for x in plain.files] != [x.names for x in patch.files]
    if not mapped and level is None:
        return Draft(origin, patch.header, patch, is_canonical(patch))
    again = parse(rewritten(patch, 1 if mapped or level is None else level), origin)
    return again if isinstance(again, Fault) else Draft(origin, patch.header, again)


def refuse_other_source(origin: str, header: Header, source: str) -> None:
    """A patch that says it is for another tree is applied to no other. Raises PatchConflict."""
    said = header.trailer("Source")
    if said and said != (source,):
        message = f"{origin} says `Source: {', '.join(said)}`, and it would be applied to {source}"
        raise PatchConflict(message, f"Import it alone, with `--source {said[0]}`.")


def follow(ports: Ports, tree: TreeId, drafts: Sequence[Draft]) -> tuple[list[Incoming], list[Note]]:
    """The tree after each draft, from `tree` on. Raises PatchConflict or InvalidFile with every fault."""
    names = [PatchName(f"import/{number}") for number in range(1, len(drafts) + 1)]
    read = read_entries(ports, tree, list(zip(names, (each.patch for each in drafts), strict=True)))
    whole = apply_patches(ports, read, read.walk.patches).tree
    incoming = []
    for each, patch in zip(drafts, read.walk.patches, strict=True):
        ports.progress.live(f"applying {each.origin}")
        tree = _step(ports, tree, patch, read.walk.landings)
        moved = any(one.offset for one in read.walk.landings if one.patch == patch.name)
        kept = each.patch.data if each.as_it_came and patch.strip == 1 and not moved else None
        incoming.append(Incoming(each.origin, each.header, tree, kept))
    if tree != whole:
        raise PatchConflict(f"one after the other the patches give tree {tree}, at once {whole}")
    origins = {name: each.origin for name, each in zip(names, drafts, strict=True)}
    notes = [
        Note("offset", f"{one.file}, hunk {one.hunk}: {one.offset:+d} lines, at {one.at}", origins[one.patch])
        for one in read.walk.landings
        if one.offset
    ]
    return incoming, notes


def read_entries(ports: Ports, tree: TreeId, entries: Sequence[tuple[PatchName, ParsedPatch]]) -> Read:
    """A series against any tree, as a queue is read, by its diffs alone. Raises the error of all faults at once."""
    entries = [(name, replace(one, header=replace(one.header, trailers=(), lines=()))) for name, one in entries]
    listing = listing_of(ports, tree)
    walk = walk_diffs(base_of(ports, listing, entries), entries)
    if walk.faults:
        raise error_of(list(walk.faults.values()))
    offsets = tuple(Offset(one.patch, one.file, one.hunk, one.at, one.offset) for one in walk.landings if one.offset)
    return Read(Queue(tree, tuple(walk.patches), walk.needs, {}, {}, offsets), walk.state.base, listing, walk)


def _step(ports: Ports, tree: TreeId, patch: Patch, landings: Sequence[Landing]) -> TreeId:
    applied = ports.git.apply(tree, [(data_for_git(patch, landings), patch.strip)])
    if applied.tree is None:
        raise PatchConflict(f"{patch.file}: git does not apply it: {errors_of_log(applied.output)}")
    return applied.tree
