"""A rebase that writes, and waits for hands where it must: begin, continue, leave out, look, abort.

All that was decided is asked anew each time, from the queue as it is; only what a person answered is kept. A resolution
counts where the very same tree comes up again, and git's memory of it wherever the same conflict does.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from stackctl.commands.changes import as_diff, write_changes
from stackctl.commands.gather import load
from stackctl.commands.rebase.folder import (
    Session,
    folder_of,
    keep_edits,
    make_work,
    read_session,
    resolutions,
    with_event,
)
from stackctl.commands.rebase.look import Prepared, RebaseReport, RebaseRequest, prepare
from stackctl.commands.rebase.take import take_work
from stackctl.commands.rebase.trial import Trial
from stackctl.commands.rebase.write import planned, refuse_name, refuse_unwritable
from stackctl.commands.selection import Selection
from stackctl.commands.workspace import shown
from stackctl.core.rebase.events import LeftOut, Opened, SessionState, Started
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase, ResolvedStack
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class WriteRequest:
    """`name`: of the new stack, else that of the old one and the new base. `dry_run`: show what would be written."""

    rebase: RebaseRequest
    name: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class RebaseAborted:
    """`diff`: the file that keeps what was edited in the work tree. `resolved`: conflicts that were settled before."""

    stack: str
    diff: str | None
    resolved: tuple[str, ...]


def write(ports: Ports, request: WriteRequest) -> RebaseReport:
    """Rebase and write; open a work tree for the first patch that wants hands. Raises UsageError when one is open."""
    refuse_name(request.name)
    stack = load(ports, request.rebase.selection)
    if read_session(ports, stack):
        raise UsageError(f"a rebase of {stack.name} is open", "Say --continue, --status or --abort.")
    prepared = prepare(ports, request.rebase)
    refuse_unwritable(prepared)
    asked = request.rebase
    new = prepared.new.base
    sha256 = new.sha256 if isinstance(new, PypiBase) else None
    onto = _onto(new, prepared.old.base)
    started = Started(onto, sha256, asked.keep, asked.selection.without, request.name)
    return _go(ports, prepared, Session(folder_of(stack), SessionState(started)), dry_run=request.dry_run)


def go_on(ports: Ports, selection: Selection) -> RebaseReport:
    """Take what a person made of the waiting patch, and go on. Raises InvalidFile while it is not settled."""
    stack, session = _open(ports, selection)
    waiting = session.state.waiting
    if waiting and not ports.files.is_dir(session.work):
        make_work(ports, session, waiting)
        raise StackctlError(
            f"{shown(ports, session.work)} was not there, and is made anew", "Settle the conflict there."
        )
    prepared = _prepared(ports, selection, session)
    if waiting:
        session = take_work(ports, stack, session, waiting, prepared.labels(waiting.patch))
        prepared = _prepared(ports, selection, session)
    return _go(ports, prepared, session)


def leave_out(ports: Ports, selection: Selection) -> RebaseReport:
    """Leave the waiting patch out of the new queue, with all that needs it, and go on."""
    _, session = _open(ports, selection)
    waiting = session.state.waiting
    if waiting is None:
        raise UsageError("no patch waits for hands", "Say --continue.")
    kept = keep_edits(ports, session, waiting)
    session = with_event(ports, session, LeftOut(waiting.patch))
    report = _go(ports, _prepared(ports, selection, session), session)
    told = (f"What was edited for {waiting.patch} is in {shown(ports, kept)}.",) if kept else ()
    return replace(report, hints=(*told, *report.hints))


def status(ports: Ports, selection: Selection) -> RebaseReport:
    """Where an open rebase stands. Nothing is changed."""
    _, session = _open(ports, selection)
    report = _prepared(ports, selection, session).run(ports)[1]
    waiting = session.state.waiting
    if waiting is None:
        return replace(report, hints=("No patch waits for hands; --continue goes on.",))
    return replace(report, work=session.work, hints=_how(ports, session, waiting))


def abort(ports: Ports, selection: Selection) -> RebaseAborted:
    """Give the rebase up. What was edited and is in no resolution is kept as a diff; git's memory stays."""
    stack, session = _open(ports, selection)
    waiting = session.state.waiting
    kept = keep_edits(ports, session, waiting) if waiting else None
    ports.files.remove(session.folder)
    return RebaseAborted(stack.name, shown(ports, kept) if kept else None, tuple(session.state.resolved))


def _open(ports: Ports, selection: Selection) -> tuple[ResolvedStack, Session]:
    if selection.without or selection.with_patches:
        raise UsageError("an open rebase knows its variant", "Leave out --without and --with.")
    stack = load(ports, selection)
    session = read_session(ports, stack)
    if session is None:
        raise UsageError(
            f"no rebase of {stack.name} is open",
            f"`stackctl patches rebase {stack.name} --onto BASE --write` begins one.",
        )
    return stack, session


def _prepared(ports: Ports, selection: Selection, session: Session) -> Prepared:
    asked = session.state.started
    variant = Selection(selection.stack, asked.without, ())
    prepared = prepare(ports, RebaseRequest(variant, asked.onto, asked.sha256, asked.keep))
    answers = replace(
        prepared.answers, resolved=resolutions(ports, session), left_out=frozenset(session.state.left_out)
    )
    return replace(prepared, answers=answers)


def _go(ports: Ports, prepared: Prepared, session: Session, *, dry_run: bool = False) -> RebaseReport:
    rebasing, report = prepared.run(ports)
    waiting = next((patch for patch in report.patches if patch.wants_hands and patch.verdict != "blocked"), None)
    if waiting is None:
        return _written(ports, prepared, session, report, dry_run=dry_run)
    if dry_run:
        return replace(report, hints=(f"Nothing can be written before {waiting.name} is settled.",))
    opened = _opened(ports, rebasing.trials[waiting.name], prepared)
    for event in (opened,) if session.lines else (session.state.started, opened):
        session = with_event(ports, session, event)
    make_work(ports, session, opened)
    return replace(report, work=session.work, hints=_how(ports, session, opened))


def _written(
    ports: Ports, prepared: Prepared, session: Session, report: RebaseReport, *, dry_run: bool
) -> RebaseReport:
    changes = planned(ports, prepared, report, session.state.started.name)
    files = tuple(change.file for change in changes)
    if dry_run:
        return replace(report, files=files, diff=as_diff(changes))
    write_changes(ports, changes)
    ports.files.remove(session.folder)
    return replace(report, files=files, written=True)


def _opened(ports: Ports, trial: Trial, prepared: Prepared) -> Opened:
    """Shown is the merge, with what git remembers of parts of it; where nothing can be merged, the tree as it is."""
    name = trial.patch.name
    if trial.merged is None:
        return Opened(name, trial.before, trial.onto, None, trial.onto)
    known = ports.merges.recall(trial.merged, prepared.answers.memory) if prepared.answers.memory else {}
    files: dict[str, bytes | None] = {**known}
    return Opened(name, trial.before, trial.onto, trial.after, ports.merges.replace(trial.merged.tree, files))


def _how(ports: Ports, session: Session, waiting: Opened) -> tuple[str, ...]:
    return (
        f"{waiting.patch} waits in {shown(ports, session.work)}: settle it there (`git diff` shows it), then",
        f"`stackctl patches rebase {posixpath.basename(session.folder)} --continue`; --leave-out gives it up, "
        "--abort all of it.",
    )


def _onto(new: Base, old: Base) -> str:
    """What to say for this base another time."""
    match new:
        case PypiBase():
            return new.requirement
        case GitBase():
            return new.commit if isinstance(old, GitBase) and old.url == new.url else f"{new.url}@{new.commit}"
        case PathBase():
            return new.commit or new.path
