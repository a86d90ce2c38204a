"""What a bisect found, as one value: computed from the session each time, never stored.

It says what is sure (confirmed by A/B), what is only likely, who comes second and by how much, and what was not tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote

from stackctl.core.bisect.confirm import arms_of
from stackctl.core.bisect.hypotheses import Hypothesis, Prior
from stackctl.core.bisect.search import Judgement, Phase, Search
from stackctl.core.bisect.session import Session

SET_MASS = 0.95


@dataclass(frozen=True)
class Suspect:
    """`names` is empty for the base and for nothing at all; then `label` says which."""

    label: str
    names: tuple[str, ...]
    probability: float


@dataclass(frozen=True)
class Interval:
    """90 % of the posterior, on the grid, and its mean."""

    low: float
    mean: float
    high: float


@dataclass(frozen=True)
class RunRow:
    """`marks`: one for each member in order, True when it was in. `counted`: as what the run counts."""

    number: int
    phase: Phase
    marks: tuple[bool, ...]
    counted: Judgement
    shown: str
    minutes: float
    start_seconds: float
    evidence: str | None


@dataclass(frozen=True)
class Reproduce:
    """One command line that shows the culprit's effect, or its absence."""

    arm: str
    expect: str
    command: str


@dataclass(frozen=True)
class Believed:
    """What was thought of an element before the first run: its weight against the others (1: no risk), and why."""

    element: str
    weight: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class BisectReport:
    """`kind`: how it ended, or RUNNING. `culprit`: empty unless named. `odds`: against the runner-up.

    `believed`: the elements with a weight above 1, heaviest first; they count only when `prior` is `weighted`.
    """

    stack: str
    test: str
    session: str
    kind: str
    reason: str
    signature: str | None
    culprit: tuple[str, ...]
    alike: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    odds: float | None
    bayes_factor: float | None
    p: Interval
    q: Interval
    members: tuple[str, ...]
    runs: tuple[RunRow, ...]
    minutes: float
    reproduce: tuple[Reproduce, ...]
    look: tuple[str, ...]
    untested: tuple[str, ...]
    notes: tuple[str, ...]
    file: str
    prior: Prior = "weighted"
    believed: tuple[Believed, ...] = ()

    @property
    def probability(self) -> float:
        return self.suspects[0].probability

    @property
    def exit(self) -> int:
        """0 with an answer, 1 when it paused without one."""
        return 1 if self.kind in ("BUDGET", "INFRA", "RUNNING") else 0


def report(session: Session, search: Search, file: str) -> BisectReport:
    """The report of a session as it stands."""
    ended = session.ended
    top = search.top
    named = bool(ended) and ended.kind in ("CONFIRMED", "LIKELY") and bool(top.members)  # type: ignore[union-attr]
    suspects = _suspects(search, whole_set=bool(ended and ended.kind == "SET"))
    p, q = _rates(search)
    return BisectReport(
        stack=session.started.stack,
        test=session.started.test,
        session=session.started.session,
        kind=ended.kind if ended else "RUNNING",
        reason=ended.reason if ended else "",
        signature=search.signature,
        culprit=_names(search, top.members) if named else (),
        alike=_alike(search, top) if named else (),
        suspects=suspects,
        odds=suspects[0].probability / suspects[1].probability if suspects[1:] and suspects[1].probability else None,
        bayes_factor=search.confirmation.factor if search.confirmation else None,
        p=p,
        q=q,
        members=tuple(member.element for member in search.space.members),
        runs=_rows(session, search),
        minutes=session.minutes,
        reproduce=_reproduce(session, search, top) if named else (),
        look=_look(search, top) if named else (),
        untested=(*session.started.untested, *_untested(search)),
        notes=(*_learned(session), *session.notes),
        file=file,
        prior=session.started.prior,
        believed=_believed(search),
    )


def _believed(search: Search) -> tuple[Believed, ...]:
    risky = [member for member in search.space.members if member.weight > 1.0]
    risky.sort(key=lambda member: -member.weight)
    return tuple(Believed(member.element, member.weight, member.reasons) for member in risky)


def _names(search: Search, members: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(search.space.members[i].element for i in members)


def label(search: Search, hypothesis: Hypothesis) -> str:
    """How a hypothesis is spoken of."""
    words = {"none": "nothing fails", "base": "the base, without any element"}
    return words.get(hypothesis.kind) or " + ".join(_names(search, hypothesis.members))


def _suspects(search: Search, *, whole_set: bool) -> tuple[Suspect, ...]:
    """The five most likely, what is being confirmed first; for a SET as many as hold 95 %."""
    weights = search.posterior.weights()
    order = sorted(search.posterior.ranked(), key=lambda i: i != search.culprit)
    found: list[Suspect] = []
    mass = 0.0
    for i in order:
        if len(found) >= 5 and not (whole_set and mass < SET_MASS):
            break
        hypothesis = search.candidates[i]
        found.append(Suspect(label(search, hypothesis), _names(search, hypothesis.members), weights[i]))
        mass += weights[i]
    return tuple(found)


def _alike(search: Search, top: Hypothesis) -> tuple[str, ...]:
    """What no variant that can be built tells apart from the culprit."""
    merged = [" + ".join(_names(search, members)) for members in top.alike]
    carried = [name for i in top.members for name in search.space.members[i].carries]
    return (*merged, *carried)


def _rates(search: Search) -> tuple[Interval, Interval]:
    counts = search.posterior.counts(search.culprit)
    fails_in, runs_in, fails_out, runs_out = counts.fails_in, counts.runs_in, counts.fails_out, counts.runs_out
    for arm in search.confirmation.arms if search.confirmation else ():
        if arm.name == "B":
            fails_in, runs_in = fails_in + arm.fails, runs_in + arm.runs
        else:
            fails_out, runs_out = fails_out + arm.fails, runs_out + arm.runs
    model = search.model
    return Interval(*model.p.interval(fails_in, runs_in)), Interval(*model.q.interval(fails_out, runs_out))


def _rows(session: Session, search: Search) -> tuple[RunRow, ...]:
    rows = []
    for run in search.runs:
        outcome = run.outcome
        shown = outcome.signature or outcome.verdict if outcome.verdict == "bad" else outcome.verdict
        rows.append(
            RunRow(
                number=run.number,
                phase=run.phase,
                marks=tuple(bool(run.mask >> i & 1) for i in range(search.space.size)),
                counted=search.judged(run),
                shown=f"{shown}: {outcome.reason}" if outcome.reason and outcome.verdict != "clean" else shown,
                minutes=outcome.minutes,
                start_seconds=outcome.start_seconds,
                evidence=outcome.evidence,
            )
        )
    return tuple(rows)


def _reproduce(session: Session, search: Search, top: Hypothesis) -> tuple[Reproduce, ...]:
    stack, test = quote(session.started.stack), quote(session.started.test)
    lines = []
    for arm in arms_of(search.space, top):
        without = "".join(f" --without {quote(name)}" for name in search.space.left_out(arm.mask))
        command = f"stackctl deploy {stack}{without} && stackctl test {test} {stack}"
        lines.append(Reproduce(arm.name, "bad" if arm.name == "B" else "clean", command))
    return tuple(lines)


def _look(search: Search, top: Hypothesis) -> tuple[str, ...]:
    members = [search.space.members[i] for i in top.members]
    return tuple(
        f"stackctl patches show {quote(member.element.removeprefix('patch:'))}    # {member.file}"
        for member in members
        if member.is_patch
    )


def _untested(search: Search) -> tuple[str, ...]:
    decided = [run.mask for run in search.runs if search.judged(run) in ("pass", "fail")]
    ever_out = 0
    for mask in decided:
        ever_out |= search.space.full & ~mask
    never = [f"{name} (never left out of a run that counted)" for name in search.space.left_out(ever_out)]
    return (
        *(never if search.signature else ()),
        "three or more elements that fail only together",
        "how the loads of one start hang together: a start counts as one observation",
    )


def _learned(session: Session) -> tuple[str, ...]:
    return tuple(
        f"cannot be built: with {', '.join(learned.clause.on) or 'nothing'}"
        f" and without {', '.join(learned.clause.off) or 'nothing'} ({learned.reason})"
        for learned in session.clauses
    )
