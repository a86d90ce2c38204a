"""A session replayed from its events: which runs count, what is pending, how it ended.

Everything but the events is computed again each time, so that a killed session goes on with the same choices as one
that was never killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackctl.core.bisect.events import (
    Chosen,
    Ended,
    Learned,
    Log,
    Noted,
    Observed,
    Restored,
    Served,
    Started,
    Undone,
    Working,
)
from stackctl.core.bisect.search import Done, Plan, Run, Search, Try
from stackctl.core.bisect.space import Clause, Space, make_space
from stackctl.errors import StackctlError

MOST_RUNS = 200  # when the user gives no budget: a test that rarely fails must be made harsher, not run for ever


@dataclass(frozen=True)
class Budget:
    """When to pause: minutes spent in runs, or a number of runs."""

    minutes: float | None = None
    runs: int = MOST_RUNS


@dataclass
class Session:
    """`order`: runs that count, and None for each pause among them."""

    started: Started
    order: list[tuple[Chosen, Observed] | None] = field(default_factory=list)
    pending: Chosen | None = None
    clauses: list[Learned] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended: Ended | None = None
    served: Served | None = None
    worker: Working | None = None
    last_number: int = 0
    torn: bool = False

    @property
    def space(self) -> Space:
        clauses: list[Clause] = [learned.clause for learned in self.clauses]
        return make_space(self.started.members, self.started.needs, clauses)

    @property
    def finished(self) -> bool:
        return self.ended is not None and not self.ended.is_pause

    @property
    def runs(self) -> list[tuple[Chosen, Observed]]:
        return [entry for entry in self.order if entry]

    @property
    def minutes(self) -> float:
        return sum(observed.outcome.minutes for _, observed in self.runs)


def replay(log: Log) -> Session:
    """Raises StackctlError when the log does not begin with `started`."""
    if not log.entries or not isinstance(log.entries[0].event, Started):
        raise StackctlError("the session has no beginning", hint="begin anew with --new")
    session = Session(log.entries[0].event, torn=log.torn)
    for entry in log.entries[1:]:
        match entry.event:
            case Chosen() as chosen:
                session.pending, session.last_number = chosen, chosen.run
            case Observed() as observed:
                _observe(session, observed)
            case Undone(run):
                session.order = [e for e in session.order if not e or e[0].run != run]
                session.pending = session.ended = None
            case Ended() as ended:
                session.ended = ended
                if ended.is_pause:
                    session.order.append(None)
            case Learned() as learned:
                session.clauses.append(learned)
            case Noted(text):
                session.notes.append(text)
            case Working() as worker:
                session.worker = worker
            case Served() as served:
                session.served = served
            case Restored():
                session.served = None
            case Started():
                raise StackctlError("the session begins twice", hint="begin anew with --new")
    return session


def _observe(session: Session, observed: Observed) -> None:
    """An outcome without its choice is of a run that an undo took away meanwhile."""
    if session.pending and session.pending.run == observed.run:
        session.order.append((session.pending, observed))
        session.pending = None


def search_of(session: Session) -> Search:
    """The search with all that counts fed in."""
    started = session.started
    space = session.space
    search = Search(Plan(space, started.prior, started.seed, started.stop, started.min_rate))
    for entry in session.order:
        if entry is None:
            search.paused()
        else:
            chosen, observed = entry
            search.feed(Run(chosen.run, chosen.phase, space.without(chosen.without), observed.outcome))
    return search


def next_step(session: Session, search: Search, budget: Budget) -> Try | Done:
    """A pending choice is repeated: its outcome was never written. Otherwise what the search says, within budget."""
    if session.pending:
        return Try(session.pending.phase, session.space.without(session.pending.without))
    step = search.next()
    if isinstance(step, Done):
        return step
    if len(session.runs) >= budget.runs:
        return Done("BUDGET", f"{len(session.runs)} runs are used up")
    if budget.minutes is not None and session.minutes >= budget.minutes:
        return Done("BUDGET", f"{budget.minutes:.0f} minutes are used up")
    return step


def changed(session: Session, facts: Mapping[str, str]) -> tuple[str, ...]:
    """Which facts differ from those the session was started with. A session about another thing must not go on."""
    before = session.started.facts
    return tuple(sorted(key for key in {*before, *facts} if before.get(key) != facts.get(key)))
