"""The verdict on one patch at a new base: a closed union, decided from findings alone.

Every patch gets one, and none hides another. What leaves the queue (upstream, contained, empty, retire) says so;
what wants a person (conflict, gone, blocked) is never carried along on a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from stackctl.core.names import Commit, PatchName, TreeId
from stackctl.core.patches.values import Offset
from stackctl.core.rebase.merge import Clash

Verdict = Literal[
    "clean", "offset", "merged", "partly", "moved", "upstream", "contained", "empty", "retire", "conflict", "gone",
    "blocked",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LEAVES: frozenset[Verdict] = frozenset(("upstream", "contained", "empty", "retire"))
HANDS: frozenset[Verdict] = frozenset(("conflict", "gone", "blocked"))
EYES: frozenset[Verdict] = frozenset(("merged", "partly", "moved"))

MergeOutcome = Literal["changed", "same", "conflict", "impossible"]
Settled = Literal["", "by hand", "remembered", "left out", "emptied"]


@dataclass(frozen=True)
class Findings:
    """What was found out about one patch, before anything is decided.

    `fits`: each hunk has one place by its context. `agrees`: the tree of that is the tree of the merge. `reverses`: all
    of it can be taken back. `identical`: its files are byte for byte what it would make of them. `inside`: hunks that
    the base has already, of `hunks`. `commit`: the base's own commit of this change. `lacking`: patches that it needs
    and that are not there.
    """

    merge: MergeOutcome
    fits: bool = False
    offset: bool = False
    agrees: bool = False
    reverses: bool = False
    identical: bool = False
    inside: int = 0
    hunks: int = 0
    moved: bool = False
    deleted: bool = False
    retires: bool = False
    commit: Commit | None = None
    lacking: tuple[PatchName, ...] = ()


def decide(found: Findings) -> Verdict:
    """One verdict; the surest finding first."""
    if found.merge == "same" or (found.reverses and not found.fits):
        return _there(found)
    if found.commit and found.merge == "conflict":
        return "upstream"  # the base has changed it further since
    if found.retires:
        return "retire"
    if found.lacking:
        return "blocked"
    if found.merge == "impossible":
        return _by_context(found) if found.fits else "conflict"
    if found.merge == "conflict":
        return "moved" if found.moved else "gone" if found.deleted else "conflict"
    if found.inside:
        return "partly"
    if found.moved:
        return "moved"
    return _by_context(found) if found.fits and found.agrees else "merged"


def _there(found: Findings) -> Verdict:
    """The base has it: by which proof."""
    if found.commit:
        return "upstream"
    return "contained" if found.reverses or found.identical else "empty"


def _by_context(found: Findings) -> Verdict:
    return "offset" if found.offset else "clean"


@dataclass(frozen=True)
class Rebased:
    """What became of one patch. `trees`: before and after it on the new base, None when it has no place there yet.

    `data`: its file for the new base, None while the old file serves. `range_diff`: how its diff changed. `settled`:
    how a verdict that wants hands was answered. `moved`: old path -> new path. `conditions`: its Remove-when, and
    whether it holds. `alone`: what a blocked or retiring patch would be otherwise.
    """

    name: PatchName
    verdict: Verdict
    trees: tuple[TreeId, TreeId] | None = None
    notes: tuple[str, ...] = ()
    offsets: tuple[Offset, ...] = ()
    clashes: tuple[Clash, ...] = ()
    needed_by: tuple[PatchName, ...] = ()
    lacking: tuple[PatchName, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)
    commit: Commit | None = None
    conditions: tuple[tuple[str, bool | None], ...] = ()
    alone: Verdict | None = None
    settled: Settled = ""
    data: bytes | None = None
    range_diff: str = ""

    @property
    def wants_hands(self) -> bool:
        return self.verdict in HANDS and not self.settled

    @property
    def stays(self) -> bool:
        """Whether it is in the new queue."""
        return not self.wants_hands and self.verdict not in LEAVES and self.settled not in ("left out", "emptied")
