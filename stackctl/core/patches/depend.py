"""Who needs whom in a queue, and the subsets that this leaves possible.

Needs come from one walk over the series: the lines that a hunk reads were written by somebody, and lines that it
bridges were deleted by somebody. Where the code of one patch calls what another defines, no diff shows it: the
trailer `Needs:` says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

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


def declared_needs(patches: Sequence[Patch]) -> tuple[tuple[Need, ...], tuple[Fault, ...]]:
    """Needs of the trailers `Needs: NAME (reason)`, and faults for names that are not earlier in the series."""
    places = {patch.name: place for place, patch in enumerate(patches)}
    needs, faults = [], []
    for place, patch in enumerate(patches):
        for value in patch.header.trailer("Needs"):
            name = PatchName(value.partition(" (")[0].strip())
            if name not in places:
                message = f"`Needs: {name}`, but the series has no such patch"
                faults.append(_bad_needs(patch, message, "Add it before this one, or correct the name."))
            elif places[name] >= place:
                faults.append(_bad_needs(patch, f"`Needs: {name}`, which does not come before it", "Move it up."))
            else:
                needs.append(Need(patch.name, name, "declared"))
    return tuple(needs), tuple(faults)


def excluded(patches: Sequence[Patch]) -> tuple[Fault, ...]:
    """Patches that stand beside one that their trailer `Conflicts: NAME (reason)` names."""
    names = {patch.name for patch in patches}
    faults = []
    for patch in patches:
        for value in patch.header.trailer("Conflicts"):
            name = value.partition(" (")[0].strip()
            if name in names:
                message = f"its header says `Conflicts: {value}`, and {name} is in the queue"
                line = _line_of(patch, b"conflicts:")
                faults.append(Fault("excluded", patch.file, line, message, f"Leave out one of the two: {name}."))
    return tuple(faults)


def _bad_needs(patch: Patch, message: str, hint: str) -> Fault:
    return Fault("bad-needs", patch.file, _line_of(patch, b"needs:"), message, hint)


def _line_of(patch: Patch, key: bytes) -> int | None:
    lines = patch.data.split(b"\n")
    return next((at for at, text in enumerate(lines, 1) if text.lower().startswith(key)), None)


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
