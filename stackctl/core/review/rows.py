"""What a queue consists of, one row a patch: where it belongs, how large it is, and when it may go.

Everything comes from the patch files; what a header does not say is None here and told as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stackctl.core.names import SGLANG, Digest, PatchName
from stackctl.core.patches.headers import lint
from stackctl.core.patches.values import Need, Patch, Queue


@dataclass(frozen=True)
class Row:
    """`order` counts from 1. `upstream` is the first word of the trailer (Pending, Submitted …), `link` the rest."""

    order: int
    name: PatchName
    title: str | None
    area: str | None
    files: int
    added: int
    removed: int
    upstream: str | None
    link: str | None
    remove_when: str | None
    needs: tuple[PatchName, ...]
    sha256: Digest
    conflict: str | None = None
    remarks: tuple[str, ...] = ()
    source: str = SGLANG


def rows_of(queue: Queue) -> tuple[Row, ...]:
    return tuple(_row(order, patch, queue) for order, patch in enumerate(queue.patches, 1))


def remarks(patch: Patch) -> tuple[str, ...]:
    """What the lint says of the header, each with its line in the patch file."""
    return tuple(f"line {one.where.line}: {one.message}" for one in lint(patch) if one.where)


def needs_of(needs: Sequence[Need], name: PatchName) -> tuple[Need, ...]:
    return tuple(need for need in needs if need.patch == name)


def needed_by(needs: Sequence[Need], name: PatchName) -> tuple[Need, ...]:
    return tuple(need for need in needs if need.needs == name)


def _row(order: int, patch: Patch, queue: Queue) -> Row:
    upstream, _, link = _only(patch, "Upstream", "").partition(" ")
    fault = queue.conflicts.get(patch.name)
    return Row(
        order,
        patch.name,
        patch.header.subject,
        _only(patch, "Area", "") or None,
        len(patch.files),
        sum(section.added for section in patch.files),
        sum(section.removed for section in patch.files),
        upstream or None,
        link or None,
        _only(patch, "Remove-when", "") or None,
        tuple(dict.fromkeys(need.needs for need in needs_of(queue.needs, patch.name))),
        patch.sha256,
        fault.kind if fault else None,
        remarks(patch),
        patch.source,
    )


def _only(patch: Patch, key: str, otherwise: str) -> str:
    return next(iter(patch.header.trailer(key)), otherwise)
