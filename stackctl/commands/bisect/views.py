"""`stackctl bisect log | status | undo | report`: looks at a session. Each replays the events; only undo adds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stackctl.commands.bisect.journal import Journal, newest
from stackctl.commands.bisect.search import shown
from stackctl.commands.gather import load as load_stack
from stackctl.commands.selection import Selection
from stackctl.core.bisect.events import Undone, record
from stackctl.core.bisect.report import BisectReport, report
from stackctl.core.bisect.search import Done
from stackctl.core.bisect.session import Budget, next_step, search_of
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import UsageError
from stackctl.ports import Ports

Load = Callable[[Ports, Selection], ResolvedStack]


@dataclass(frozen=True)
class ViewRequest:
    """Which session: the newest of the stack, of this test, or the one with this id."""

    selection: Selection
    test: str | None = None
    session: str | None = None


@dataclass(frozen=True)
class LogView:
    """`events`: as the lines of the file hold them. `torn`: the last line has no end and does not count."""

    file: str
    torn: bool
    events: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class StatusView:
    """`next`: what a call of bisect would do now."""

    report: BisectReport
    next: str


@dataclass(frozen=True)
class UndoView:
    session: str
    run: int
    status: StatusView


def log(ports: Ports, request: ViewRequest, load: Load = load_stack) -> LogView:
    """All events, in order."""
    journal = _journal(ports, request, load)
    events = tuple(record(entry.event, entry.at) for entry in journal.entries)
    return LogView(journal.file, journal.session.torn, events)


def status(ports: Ports, request: ViewRequest, load: Load = load_stack) -> StatusView:
    """Where the session stands, and what comes next."""
    return _status(_journal(ports, request, load))


def undo(ports: Ports, request: ViewRequest, run: int | None = None, load: Load = load_stack) -> UndoView:
    """A run counts no more: the last one, or this number. The session is open again."""
    journal = _journal(ports, request, load)
    numbers = [chosen.run for chosen, _ in journal.session.runs]
    if not numbers or run not in (None, *numbers):
        which = f"no run {run}" if numbers else "no run yet"
        raise UsageError(f"session {journal.session.started.session} has {which}", hint="see stackctl bisect log")
    number = numbers[-1] if run is None else run
    journal.add(Undone(number))
    return UndoView(journal.session.started.session, number, _status(journal))


def last_report(ports: Ports, request: ViewRequest, load: Load = load_stack) -> BisectReport:
    """The report of the session, as it stands."""
    journal = _journal(ports, request, load)
    return report(journal.session, search_of(journal.session), journal.file)


def _journal(ports: Ports, request: ViewRequest, load: Load) -> Journal:
    stack = load(ports, request.selection)
    return newest(ports, stack.workspace, stack.name, (request.test, request.session))


def _status(journal: Journal) -> StatusView:
    session = journal.session
    search = search_of(session)
    step = next_step(session, search, Budget())
    if session.finished:
        words = "nothing: it has ended"
    elif isinstance(step, Done):
        words = f"{step.kind}: {step.reason}"
    else:
        words = f"{step.phase}: {shown(search.space.left_out(step.mask), search.space.names(step.mask))}"
    return StatusView(report(session, search, journal.file), words)
