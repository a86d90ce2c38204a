"""`stackctl patches verify --record`: writes into each patch on which base, and when, it was proved.

Only the bytes that were just proved are recorded, one line a patch file, and none when one cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from stackctl.commands.changes import Change, write_changes
from stackctl.commands.gather import ADDED
from stackctl.commands.queue.look import VerifyReport, taken_patches, verify_read
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read
from stackctl.core.names import SGLANG
from stackctl.core.patches.values import Patch
from stackctl.core.patches.verified import verified
from stackctl.core.stack.resolved import GitBase, PathBase, PypiBase, ResolvedStack
from stackctl.errors import InvalidFile, Problem, Where
from stackctl.ports import Ports

WHAT = "applies alone and in another order"


@dataclass(frozen=True)
class RecordReport:
    """`recorded`: files that got the line, or would get it with `dry_run`."""

    report: VerifyReport
    day: str
    recorded: tuple[str, ...]
    dry_run: bool

    @property
    def exit(self) -> int:
        return self.report.exit


def record(ports: Ports, selection: Selection, dry_run: bool = False) -> RecordReport:
    """Verify, then write `Verified-on:` into each patch. Records nothing unless all of the queue is proved.

    Raises StackctlError, with all files as they were, when one is not as it was proved or cannot be written.
    """
    stack, read, patches = taken_patches(ports, selection)
    report = verify_read(ports, stack, read, patches)
    day = datetime.fromtimestamp(ports.clock.now(), UTC).date().isoformat()
    if report.exit:
        return RecordReport(report, day, (), dry_run)
    listed = [patch for patch in patches if not patch.name.startswith(ADDED)]
    changes = {change.path: change for change in _changes(stack, read, listed, day)}
    if not dry_run:
        write_changes(ports, tuple(changes.values()))
    return RecordReport(report, day, tuple(change.file for change in changes.values()), dry_run)


def _changes(stack: ResolvedStack, read: Read, patches: list[Patch], day: str) -> Iterator[Change]:
    """Only of files that change."""
    problems = []
    for patch in patches:
        try:
            data = verified(patch.data, patch.header, _pin(stack, read, patch.source), day, WHAT)
        except ValueError as error:
            hint = "Give it a header: `stackctl patches edit`, or a mail header with a subject."
            problems.append(Problem(f"nothing can be recorded: {error}", Where(patch.file, 1), hint=hint))
            continue
        if data != patch.data:
            yield Change(read.queue.paths[patch.name], patch.file, patch.data, data)
    if problems:
        raise InvalidFile(problems)


def _pin(stack: ResolvedStack, read: Read, source: str) -> str:
    """The base of a source in one word: `sglang==0.5.15`, a commit, or the tree of a folder."""
    base = stack.base if source == SGLANG else stack.sources[source]
    match base:
        case PypiBase(requirement, _):
            return requirement
        case GitBase(_, _, commit):
            return commit
        case PathBase(_, commit):
            return commit or (read.queue.base if source == SGLANG else read.queue.sources[source])
