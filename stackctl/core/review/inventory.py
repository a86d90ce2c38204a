"""What a stack carries against upstream, as a person asks it when output is wrong: by area, with age, upstream state,
when each patch may go, and what it touches of the things that go wrong under load.

Everything comes from the patch files. What a header does not say is None and told as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from stackctl.core.names import Digest, PatchName
from stackctl.core.patches.values import Patch, Queue
from stackctl.core.review.areas import area_of, areas_of
from stackctl.core.review.risk import KINDS, Kind, Level, Reason, assess
from stackctl.core.review.rows import needed_by, needs_of, remarks

LEVELS: tuple[Level, ...] = ("high", "medium", "low", "none")
DAY = 86400.0


@dataclass(frozen=True)
class FileLines:
    path: str
    area: str
    added: int
    removed: int


@dataclass(frozen=True)
class Carried:
    """One patch. `area` is the first of `areas`. `age`: whole days since the date of its header; None without one.

    `upstream`: the first word of that trailer, `link` the rest. `score`: of the risk, 0 to 10; `touches`: what its
    lines touch. `order` counts from 1.
    """

    order: int
    name: PatchName
    title: str | None
    why: str | None
    area: str
    areas: tuple[str, ...]
    source: str
    author: str | None
    date: str | None
    age: int | None
    upstream: str | None
    link: str | None
    remove_when: str | None
    toggles: tuple[str, ...]
    verified: tuple[str, ...]
    files: tuple[FileLines, ...]
    added: int
    removed: int
    needs: tuple[PatchName, ...]
    needed_by: tuple[PatchName, ...]
    level: Level
    score: float
    touches: tuple[Kind, ...]
    reasons: tuple[Reason, ...]
    said: str | None
    conflict: str | None
    remarks: tuple[str, ...]
    sha256: Digest

    @property
    def may_go(self) -> str:
        """When, in its header's words; a patch that upstream would not want stays, and the header says why."""
        if self.remove_when:
            return self.remove_when
        stays = (self.upstream or "").lower() == "inappropriate"
        return f"stays: {self.link}" if stays and self.link else "not said"


@dataclass(frozen=True)
class AreaSum:
    """How much of the queue is in one area; `level` of its riskiest patch."""

    area: str
    patches: int
    added: int
    removed: int
    level: Level


def carried(queue: Queue, patches: Sequence[Patch], now: float) -> tuple[Carried, ...]:
    """One for each of `patches`, in the order of the queue. `now`: seconds since the epoch."""
    order = {patch.name: number for number, patch in enumerate(queue.patches, 1)}
    return tuple(_carried(queue, patch, order[patch.name], now) for patch in patches)


def by_area(patches: Sequence[Carried]) -> tuple[AreaSum, ...]:
    """The area with most changed lines first."""
    areas: dict[str, list[Carried]] = {}
    for patch in patches:
        areas.setdefault(patch.area, []).append(patch)
    sums = [
        AreaSum(
            area,
            len(held),
            sum(one.added for one in held),
            sum(one.removed for one in held),
            min((one.level for one in held), key=LEVELS.index),
        )
        for area, held in areas.items()
    ]
    return tuple(sorted(sums, key=lambda one: (-one.added - one.removed, one.area)))


def by_touch(patches: Sequence[Carried]) -> Mapping[Kind, tuple[PatchName, ...]]:
    """Which patches touch batched indexing, buffers, synchronisation, scheduling; the riskiest first."""
    order = sorted(patches, key=lambda one: (-one.score, one.order))
    return {kind: tuple(one.name for one in order if kind in one.touches) for kind in KINDS}


def _carried(queue: Queue, patch: Patch, order: int, now: float) -> Carried:
    header, risk, areas = patch.header, assess(patch), areas_of(patch)
    upstream, _, link = (_only(patch, "Upstream") or "").partition(" ")
    fault = queue.conflicts.get(patch.name)
    files = [FileLines(file.path, area_of(file.path), file.added, file.removed) for file in patch.files]
    return Carried(
        order=order,
        name=patch.name,
        title=header.subject,
        why=_only(patch, "Why"),
        area=areas[0],
        areas=areas,
        source=patch.source,
        author=header.author,
        date=header.date,
        age=age(header.date, now),
        upstream=upstream or None,
        link=link or None,
        remove_when=_only(patch, "Remove-when"),
        toggles=header.trailer("Toggle"),
        verified=header.trailer("Verified-on"),
        files=tuple(files),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        needs=tuple(dict.fromkeys(need.needs for need in needs_of(queue.needs, patch.name))),
        needed_by=tuple(dict.fromkeys(need.patch for need in needed_by(queue.needs, patch.name))),
        level=risk.level,
        score=risk.score,
        touches=risk.kinds,
        reasons=risk.reasons,
        said=risk.said,
        conflict=fault.message if fault else None,
        remarks=remarks(patch),
        sha256=patch.sha256,
    )


def age(date: str | None, now: float) -> int | None:
    """Whole days; 0 for a date to come, None for what is no date. A date without a zone is taken as UTC."""
    try:
        when = datetime.fromisoformat(date) if date else None
        if when is None:
            return None
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0, int((now - seconds) // DAY))


def _only(patch: Patch, key: str) -> str | None:
    return next(iter(patch.header.trailer(key)), None) or None
