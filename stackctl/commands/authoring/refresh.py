"""`patches refresh`: folds the edits of a work tree back into the patch file, and a new patch into the stack.

The queue is proved as it would be, by the code that reads it, before one byte is written; what somebody else has
changed since is never written over. The patch file is written first, then the line of the stack: killed in between, a
new patch is a file that no stack names, and the next refresh goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stackctl.commands.authoring.begin import line_of, names_before, tree_before
from stackctl.commands.authoring.editing import Opened, discard, find, remember
from stackctl.commands.authoring.message import Words, asked, drafted
from stackctl.commands.authoring.worktree import moved_aside, refuse_unfit
from stackctl.commands.changes import Change, as_diff, write_changes
from stackctl.commands.gather import load_file
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.queue.proving import Verdict, judged
from stackctl.commands.tree import Read, listing_of, read_queue
from stackctl.commands.workspace import Chosen, shown
from stackctl.core.authoring.draft import known
from stackctl.core.authoring.edit import Edit, changed, diff_digest, digest, worth_keeping
from stackctl.core.authoring.worktree import Snapshot
from stackctl.core.names import PatchName
from stackctl.core.patches.canonical import canonical, with_diff
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle
from stackctl.core.patches.values import Header
from stackctl.core.review.areas import OTHER, areas_of
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import Interrupted, PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports

PLACEHOLDER = Header("to be written", None, None, "")


@dataclass(frozen=True)
class RefreshRequest:
    """`keep_open`: go on editing afterwards. `keep_going`: write although later patches conflict.

    `overwrite`: also over a patch file whose diff somebody else has changed.
    """

    name: str | None = None
    stack: str | None = None
    words: Words = field(default_factory=Words)
    dry_run: bool = False
    keep_open: bool = False
    keep_going: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Refreshed:
    """`written`: files that were changed (with a dry run: that would be). `diff`: all that was written.

    `verdicts`: of the patches above it, and of other stacks that carry it. `open`: why the edit is still open.
    """

    name: PatchName
    stack: str
    folder: str
    new: bool
    changed: bool
    files: tuple[str, ...]
    written: tuple[str, ...] = ()
    dry_run: bool = False
    verdicts: tuple[Verdict, ...] = ()
    open: str | None = None
    diff: str = ""

    @property
    def exit(self) -> int:
        """3 when a patch above it, or another stack, wants hands."""
        return PatchConflict.exit_code if any(verdict.broken for verdict in self.verdicts) else 0


def refresh(ports: Ports, request: RefreshRequest) -> Refreshed:
    """Fold an open edit. Raises InvalidFile, UsageError, StackctlError; conflicts above it are in the result."""
    opening = find(ports, request.name, request.stack)
    try:
        return _Refresh(ports, request, opening).run()
    except KeyboardInterrupt as stop:
        name, stack = opening.edit.name, opening.place.called
        raise Interrupted(
            f"interrupted: the edit of {name} is open, with all that is in it",
            f"`stackctl patches refresh {name} {stack}` goes on, whatever was written already.",
        ) from stop


class _Refresh:
    """One refresh: reads the queue as it is and as it would be, and writes what is different."""

    def __init__(self, ports: Ports, request: RefreshRequest, opening: Opened) -> None:
        self.ports = ports
        self.request = request
        self.place, self.edit = opening.place, opening.edit
        self.opening = opening
        self.chosen = Chosen(self.place.stack, self.place.workspace)
        # everything is read through this, so that a change by somebody else is seen
        self.now, self.seen = foreseen(ports, {})
        self.file = self.place.patch_file  # or the version of it that this base takes: known with the stack
        self.changes: list[Change] = []  # the patch file first: a line without its file would break the stack

    def run(self) -> Refreshed:
        stack = load_file(self.now, self.chosen)
        listed = self.edit.name in stack.patches
        self.file = stack.patch_files.get(self.edit.name, self.file)
        old = self._old(listed)
        if self.edit.diff is None and self.request.words.any:
            old = None  # of a refresh that was killed: the same command says its header anew
        if old and self.request.words.any:
            raise UsageError(
                f"{self.edit.name} has a header already",
                f"Edit it in {shown(self.ports, self.file)}: a refresh keeps every byte of it.",
            )
        self.ports.progress.live(f"reading the queue of {stack.name} and the work tree of {self.edit.name}")
        read = read_queue(self.now, stack)
        self._refuse_moved_base(stack, read, listed)
        snapshot = self.ports.work_trees.snapshot(self.place.folder, self.edit.base)
        refuse_unfit(self.ports, self.opening, snapshot)
        self._refuse_empty(snapshot, old)
        if old and listed and self._is_tree_of(old, read, snapshot):
            return self._finish(snapshot, replace(self._result(snapshot), changed=False))
        file = self.file
        data = self._patch_file(old, snapshot)
        there = self.now.files.read(file) if self.now.files.exists(file) else None
        self.changes = [Change(file, shown(self.ports, file), there, data)]
        if not listed:
            self.changes.append(line_of(self.now, self.chosen, self.edit))
        return self._prove_and_write(stack, snapshot)

    def _old(self, listed: bool) -> ParsedPatch | None:
        """The patch file as it is, held against what it was when the edit was opened."""
        edit, file = self.edit, shown(self.ports, self.file)
        there = self.now.files.exists(self.file)
        data = self.now.files.read(self.file) if there else b""
        ours = there and digest(data) == edit.writing
        if edit.diff and not (listed and there):
            what = f"{edit.name} is no longer in the queue" if there else f"{file} is gone"
            raise self._meanwhile(what, "Put it back, or give the edit up with `--abort` (its diff is kept).")
        if not there:
            return None
        parsed = parse(data, file)
        if isinstance(parsed, Fault):
            raise error_of([parsed])
        if edit.diff is None and not ours:
            what = f"{file} was made since the edit was opened"
            raise self._meanwhile(what, "Take it away, or give the edit up with `--abort` (its diff is kept).")
        if edit.diff and not ours and diff_digest(parsed) != edit.diff and not self.request.overwrite:
            hint = "`--overwrite` puts this edit in its place; `--abort` gives the edit up and keeps its diff."
            raise self._meanwhile(f"the diff of {file} was changed since the edit was opened", hint)
        return parsed

    def _meanwhile(self, what: str, hint: str) -> StackctlError:
        return StackctlError(f"{what}; nothing is written, and the edit stays open", hint)

    def _refuse_moved_base(self, stack: ResolvedStack, read: Read, listed: bool) -> None:
        name = self.edit.name
        behind = (
            stack.patches[: stack.patches.index(name)] if listed else names_before(self.now, self.chosen, self.edit)
        )
        if tree_before(self.now, read, behind, self.edit.source) != self.edit.base:
            raise self._meanwhile(
                f"the queue below {name} was changed since the edit was opened",
                f"`stackctl patches edit {name} {self.place.called} --update` puts the edit onto it.",
            )

    def _refuse_empty(self, snapshot: Snapshot, old: ParsedPatch | None) -> None:
        if snapshot.tree == self.edit.base:
            left_out = worth_keeping(snapshot.left_out)
            ignored = f" (ignored by git: {', '.join(left_out)})" if left_out else ""
            drop = f"`stackctl patches drop {self.edit.name}` takes a patch out; "
            raise UsageError(
                f"the work tree of {self.edit.name} has no change{ignored}",
                f"{drop if old else ''}`--abort` closes the edit; `git add -f FILE` takes an ignored file in.",
            )

    def _is_tree_of(self, old: ParsedPatch, read: Read, snapshot: Snapshot) -> bool:
        """Whether the patch file gives this very tree: then it keeps its bytes."""
        patch = next(patch for patch in read.queue.patches if patch.name == self.edit.name)
        if patch.name in read.queue.conflicts or patch.data != old.data:
            return False
        return self.ports.git.apply(self.edit.base, [(patch.data, patch.strip)]).tree == snapshot.tree

    def _patch_file(self, old: ParsedPatch | None, snapshot: Snapshot) -> bytes:
        diff = self.ports.git.diff(self.edit.base, snapshot.tree).encode("utf-8", "surrogateescape")
        if old:
            return with_diff(old, diff)
        draft_of = parse(canonical(PLACEHOLDER, diff), shown(self.ports, self.file))
        if isinstance(draft_of, Fault):
            raise error_of([draft_of])
        area = areas_of(settle(self.edit.name, draft_of, 1))[0]
        told, words = known(None if area == OTHER else area, self.edit.source), self.request.words
        if self.request.dry_run:
            return canonical(drafted(self.ports, self.opening, words, told) or PLACEHOLDER, diff)
        about = (f"{self.edit.name}, for {self.place.called}", *self._files(snapshot))
        return canonical(asked(self.ports, self.opening, words, told, about), diff)

    def _prove_and_write(self, stack: ResolvedStack, snapshot: Snapshot) -> Refreshed:
        with self.ports.progress.step(f"proving the queue of {stack.name}"):
            verdicts = judged(self.now, self.changes, self.opening, snapshot.tree)
        result = replace(self._result(snapshot), verdicts=verdicts, diff=as_diff(self.changes))
        if result.exit and not self.request.keep_going:
            return replace(result, open="nothing is written: it would break what carries it")
        result = replace(result, written=tuple(change.file for change in self.changes))
        if not self.request.dry_run:
            self._write()
        return self._finish(snapshot, result)

    def _write(self) -> None:
        moved = self.seen.moved_on(self.place.workspace)
        if moved:
            names = ", ".join(shown(self.ports, file) for file in moved)
            raise self._meanwhile(f"{names} changed while the queue was proved", "Run it again.")
        writing = digest(self.changes[0].after or b"")
        remember(self.ports, self.place.folder, replace(self.edit, writing=writing))
        write_changes(self.ports, self.changes)

    def _finish(self, snapshot: Snapshot, result: Refreshed) -> Refreshed:
        """Close the edit, unless it is to stay, or holds what is in no patch."""
        if self.request.dry_run:
            return replace(result, open="a dry run", dry_run=True)
        reason = self._stays_open(snapshot)
        if reason is None:
            return result
        self._go_on()
        return replace(result, open=reason)

    def _stays_open(self, snapshot: Snapshot) -> str | None:
        """Takes the work tree away, or says why it is still there."""
        kept = (*worth_keeping(snapshot.left_out), *snapshot.only_here)
        if self.request.keep_open:
            return "--keep"
        if kept:
            return f"it holds what no patch has: {', '.join(kept)}"
        if not moved_aside(self.ports, self.opening, snapshot):
            return "its files were changed while it was folded: refresh it again"
        discard(self.ports, self.place.gone)
        return None

    def _go_on(self) -> None:
        """The edit as one of the patch that is written now."""
        parsed = parse(self.ports.files.read(self.file), self.file)
        if not isinstance(parsed, Fault):
            edit = Edit(self.edit.name, self.edit.stack, self.edit.source, self.edit.base, diff_digest(parsed))
            remember(self.ports, self.place.folder, edit)

    def _result(self, snapshot: Snapshot) -> Refreshed:
        name, stack = self.edit.name, self.place.called
        return Refreshed(name, stack, self.place.folder, self.edit.diff is None, True, self._files(snapshot))

    def _files(self, snapshot: Snapshot) -> tuple[str, ...]:
        return changed(listing_of(self.ports, self.edit.base), listing_of(self.ports, snapshot.tree))
