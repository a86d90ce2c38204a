"""Who needs whom in a queue, and the subsets that this leaves possible.

Needs come from one walk over the series: the lines that a hunk reads were written by somebody, and lines that it
bridges were deleted by somebody. Where the code of one patch calls what another defines, no diff shows it: the
trailer `Needs:` says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import Text, holds_end, holds_start, pre_numbers
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.values import Hunk, Need, Patch

STRENGTH = ("content", "context", "tombstone", "file", "declared")


def needs_of_hunk(text: Text, hunk: Hunk, at: int, patch: PatchName, file: str) -> Iterable[Need]:
    """Direct needs of a hunk that goes to index `at` of `text`, before it is put there."""
    owners = text.owners[at : at + len(hunk.old_lines)]
    gaps = _gaps_inside(hunk, at, len(owners))
    if not any(owners) and not any(text.gaps[gaps.start : gaps.stop]):  # the base alone, as nearly always
        return
    kinds = [line[:1] for line in hunk.lines if not line.startswith(b"+")]
    numbers = pre_numbers(hunk)
    for owner, kind, number in zip(owners, kinds, numbers, strict=True):
        if owner and owner != patch:
            yield Need(patch, PatchName(owner), "content" if kind == b"-" else "context", file, number)
    for gap in gaps:
        inner = min(max(gap - at, 0), len(numbers) - 1)
        for owner in sorted(text.gaps[gap] - {patch}):
            yield Need(patch, PatchName(owner), "tombstone", file, numbers[inner] if numbers else hunk.line)


def _gaps_inside(hunk: Hunk, at: int, size: int) -> range:
    """Gaps that the window reaches over; one at its edge counts where the hunk is tied to the file's start or end."""
    first = at if holds_start(hunk) else at + 1
    last = at + size if holds_end(hunk) else at + size - 1
    return range(first, last + 1)


def named_patch(value: str) -> PatchName:
    """The name of a trailer `Needs: NAME (reason)` or `Conflicts: NAME (reason)`."""
    return PatchName(value.partition(" (")[0].strip())


def declared_needs(patches: Sequence[Patch]) -> tuple[tuple[Need, ...], tuple[Fault, ...]]:
    """Needs of the trailers `Needs: NAME (reason)`, and faults for names that are not earlier in the series."""
    places = {patch.name: place for place, patch in enumerate(patches)}
    wanted = {patch.name: [named_patch(value) for value in patch.header.trailer("Needs")] for patch in patches}
    needs, faults = [], []
    for place, patch in enumerate(patches):
        for value, line in patch.header.places("Needs"):
            name = named_patch(value)
            if name in places and places[name] < place:
                needs.append(Need(patch.name, name, "declared", None, line))
            else:
                message, hint = _why_bad(patch.name, name, wanted)
                faults.append(Fault("bad-needs", patch.file, line, message, hint))
    return tuple(needs), tuple(faults)


def _why_bad(patch: PatchName, name: PatchName, wanted: Mapping[PatchName, Sequence[PatchName]]) -> tuple[str, str]:
    said = f"`Needs: {name}`"
    if name == patch:
        return f"{said}, which is the patch itself", "Take the line out."
    if name not in wanted:
        return f"{said}, but the series has no such patch", "Add it before this one, or correct the name."
    edges = [(here, there) for here, names in wanted.items() for there in names]
    if patch in _reach(edges, [name]):
        return f"{said}, and {name} needs it in turn: they go in a circle", f"Take the need out of one: {name} or this."
    return f"{said}, which does not come before it", f"Move it up: {name} above {patch}."


def excluded(patches: Sequence[Patch]) -> tuple[Fault, ...]:
    """Patches beside one that the trailer `Conflicts: NAME (reason)` names: the line of either side excludes the pair.

    A pair is told once, at the line of the patch that stands first, of those that say so.
    """
    names = {patch.name for patch in patches}
    told: set[frozenset[PatchName]] = set()
    faults = []
    for patch in patches:
        for value, line in patch.header.places("Conflicts"):
            name = named_patch(value)
            pair = frozenset((patch.name, name))
            if name in names and pair not in told and name != patch.name:
                told.add(pair)
                message = f"its header says `Conflicts: {value}`, and {name} is in the queue too"
                hint = f"Leave one of the two out: {patch.name} or {name}."
                faults.append(Fault("excluded", patch.file, line, message, hint, {"pair": [patch.name, name]}))
    return tuple(faults)


def strongest(needs: Iterable[Need]) -> tuple[Need, ...]:
    """One need a pair of patches and file, the one that says most; in order of appearance."""
    best: dict[tuple[str, str], Need] = {}
    for need in needs:
        known = best.get((need.patch, need.needs))
        if known is None or STRENGTH.index(need.reason) < STRENGTH.index(known.reason):
            best[need.patch, need.needs] = need
    return tuple(best.values())


def closure(needs: Iterable[Need], selected: Collection[PatchName]) -> frozenset[PatchName]:
    """The patches and all that they need."""
    return _reach(((need.patch, need.needs) for need in needs), selected)


def dependents(needs: Iterable[Need], dropped: Collection[PatchName]) -> frozenset[PatchName]:
    """What falls when `dropped` are left out: all that needs one of them, without them."""
    return _reach(((need.needs, need.patch) for need in needs), dropped) - frozenset(dropped)


def _reach(edges: Iterable[tuple[PatchName, PatchName]], start: Collection[PatchName]) -> frozenset[PatchName]:
    following: dict[PatchName, list[PatchName]] = {}
    for here, there in edges:
        following.setdefault(here, []).append(there)
    seen, todo = set(start), list(start)
    while todo:
        for there in following.get(todo.pop(), ()):
            if there not in seen:
                seen.add(there)
                todo.append(there)
    return frozenset(seen)
