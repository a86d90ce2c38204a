"""What differs between two queues: patches added, dropped, moved, renamed, changed, and how.

A patch is known by its name; one that has no counterpart is looked for by its content. Moved is only what a person
would have moved: the fewest patches whose place must change to get from the old order to the new. That other patches
shift its lines is no change of a patch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stackctl.core.names import Digest, PatchName
from stackctl.core.patches.values import Header, Patch
from stackctl.core.review.areas import areas_of
from stackctl.core.review.rangediff import code, likeness, range_diff

Kind = Literal["added", "dropped", "changed", "context", "header", "unknown", "same"]
WORDS: Mapping[str, str] = {"context": "context only", "header": "header only", "unknown": "changed (?)"}
SAID: Mapping[str, str] = {
    "same": "",
    "header": "only its header changed",
    "context": "it changes the same lines, beside others",
    "unknown": "changed; its old content is not here",
}
ALIKE = 0.6  # share of lines in common from which a patch of another name is taken for the same one


@dataclass(frozen=True)
class Entry:
    """A patch of a queue. `patch` is None where only its digest is known (an old lock)."""

    name: PatchName
    sha256: Digest
    patch: Patch | None


@dataclass(frozen=True)
class Change:
    """One patch of either side.

    `context`: it adds and removes the same lines, beside others. `header`: its diff is the same. `unknown`: its bytes
    differ, and the old ones are not here. `same`: only its place or its name changed. Orders count from 1. `was`: its
    old name. `notes`: changes of the header, one line each. `files`: paths that either version touches.
    """

    kind: Kind
    name: PatchName
    title: str | None
    old_order: int | None = None
    new_order: int | None = None
    moved: bool = False
    was: PatchName | None = None
    areas: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()
    range_diff: str = ""
    source: str = "sglang"

    @property
    def word(self) -> str:
        """One or two words: `changed, moved`."""
        first = "" if self.kind == "same" else WORDS.get(self.kind, self.kind)
        second = "renamed" if self.was else "moved" if self.moved else ""
        return ", ".join(word for word in (first, second) if word)

    @property
    def said(self) -> str:
        """A few words: what a heading says."""
        words = [SAID.get(self.kind, self.kind)]
        if self.moved:
            words.append(f"moved from {self.old_order} to {self.new_order}")
        if self.was:
            words.append(f"it was called {self.was}")
        return ", ".join(word for word in words if word)


def compare(old: Sequence[Entry], new: Sequence[Entry]) -> tuple[Change, ...]:
    """All that differs, in the order of the new queue, then what was dropped. Empty for equal queues."""
    pairs = _paired(old, new)
    places = {entry.name: number for number, entry in enumerate(old, 1)}
    stays = _stays([places[pairs[entry.name].name] for entry in new if entry.name in pairs])
    changes = []
    for number, entry in enumerate(new, 1):
        before = pairs.get(entry.name)
        if before is None:
            changes.append(_alone("added", entry, number))
            continue
        place = places[before.name]
        change = _change(before, entry, place, number, place not in stays)
        if change:
            changes.append(change)
    gone = {entry.name for entry in pairs.values()}
    dropped = [_alone("dropped", entry, places[entry.name]) for entry in old if entry.name not in gone]
    return (*changes, *dropped)


def _paired(old: Sequence[Entry], new: Sequence[Entry]) -> dict[PatchName, Entry]:
    """New name -> old entry: by name, then by equal content, then by the most lines in common."""
    by_name = {entry.name: entry for entry in old}
    pairs = {entry.name: by_name[entry.name] for entry in new if entry.name in by_name}
    left = [entry for entry in old if entry.name not in pairs]
    found = [(-_alike(one, entry), number, one, entry) for number, entry in enumerate(new) if entry.name not in pairs
             for one in left]  # fmt: skip
    for score, _, one, entry in sorted(found, key=lambda each: each[:2]):
        if -score >= ALIKE and entry.name not in pairs and one in left:
            pairs[entry.name] = one
            left.remove(one)
    return pairs


def _alike(old: Entry, new: Entry) -> float:
    if old.sha256 == new.sha256:
        return 2.0
    return likeness(old.patch, new.patch) if old.patch and new.patch else 0.0


def _stays(places: Sequence[int]) -> set[int]:
    """Old places of a longest run of patches that are in the same order on both sides."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        at = bisect_left(tails, place)
        before[place] = tails[at - 1] if at else None
        tails[at : at + 1] = [place]
    kept: set[int] = set()
    place_or_none = tails[-1] if tails else None
    while place_or_none is not None:
        kept.add(place_or_none)
        place_or_none = before[place_or_none]
    return kept


def _change(old: Entry, new: Entry, place: int, number: int, moved: bool) -> Change | None:
    kind, notes, diff = _difference(old, new)
    renamed = old.name != new.name
    if kind == "same" and not moved and not renamed:
        return None
    patches = [patch for patch in (new.patch, old.patch) if patch]
    return Change(
        kind,
        new.name,
        _title(patches),
        place,
        number,
        moved,
        old.name if renamed else None,
        _areas(patches),
        _files(patches),
        _added(patches),
        _removed(patches),
        notes,
        diff,
        patches[0].source if patches else "sglang",
    )


def _difference(old: Entry, new: Entry) -> tuple[Kind, tuple[str, ...], str]:
    if old.sha256 == new.sha256:
        return "same", (), ""
    if old.patch is None or new.patch is None:
        return "unknown", (), ""
    notes = tuple(header_notes(old.patch.header, new.patch.header))
    if code(old.patch, context=False) != code(new.patch, context=False):
        return "changed", notes, range_diff(old.patch, new.patch)
    if code(old.patch, context=True) != code(new.patch, context=True):
        return "context", notes, range_diff(old.patch, new.patch)
    return ("header", notes, range_diff(old.patch, new.patch)) if notes else ("same", (), "")


def header_notes(old: Header, new: Header) -> Iterator[str]:
    """What a header says otherwise, one line each."""
    for key, before, after in (
        ("title", old.subject, new.subject), ("author", old.author, new.author), ("date", old.date, new.date),
    ):  # fmt: skip
        if before != after:
            yield f"{key}: {before or 'none'} -> {after or 'none'}"
    if old.body.split() != new.body.split():
        yield "message: reworded"
    for key in dict.fromkeys([*(key for key, _ in old.trailers), *(key for key, _ in new.trailers)]):
        gone = [value for value in old.trailer(key) if value not in new.trailer(key)]
        come = [value for value in new.trailer(key) if value not in old.trailer(key)]
        if len(gone) == len(come) == 1:
            yield f"{key}: {gone[0]} -> {come[0]}"
        else:
            yield from (f"{key}: no longer {value}" for value in gone)
            yield from (f"{key}: now also {value}" if old.trailer(key) else f"{key}: now {value}" for value in come)


def _alone(kind: Kind, entry: Entry, number: int) -> Change:
    patches = [entry.patch] if entry.patch else []
    old, new = (None, number) if kind == "added" else (number, None)
    return Change(
        kind,
        entry.name,
        _title(patches),
        old,
        new,
        areas=_areas(patches),
        files=_files(patches),
        added=_added(patches),
        removed=_removed(patches),
        source=patches[0].source if patches else "sglang",
    )


def _title(patches: Sequence[Patch]) -> str | None:
    return patches[0].header.subject if patches else None


def _areas(patches: Sequence[Patch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(area for patch in patches for area in areas_of(patch)))


def _files(patches: Sequence[Patch]) -> tuple[str, ...]:
    names = (name for patch in patches for file in patch.files for name in (file.new, file.old) if name)
    return tuple(dict.fromkeys(names))


def _added(patches: Sequence[Patch]) -> int:
    return sum(file.added for file in patches[0].files) if patches else 0


def _removed(patches: Sequence[Patch]) -> int:
    return sum(file.removed for file in patches[0].files) if patches else 0
