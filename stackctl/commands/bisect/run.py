"""One run of a bisect: deploy a variant through the common pipeline, load it, say what was seen.

What fails is told apart here: a variant that cannot be composed is unbuildable; a start, a gate or a load that fails
for any other reason gave no answer. Only the test's own verdict on the very release that was deployed counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from stackctl.commands.deploying.holding import EVERY, Busy, same_machine
from stackctl.commands.selection import Selection
from stackctl.core.bisect.search import Outcome
from stackctl.core.bisect.space import Clause, Space, bits
from stackctl.core.deploy.values import Deployment, DeployResult
from stackctl.core.patches.values import Queue
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.verify.report import TestReport
from stackctl.errors import Held, Interrupted, InvalidFile, PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports, Progress

PATIENCE = 3 * 3600.0  # seconds for a hold: a start and a way back of a large model
T = TypeVar("T")
MOST_WORDS = 240  # characters of a reason


@dataclass(frozen=True)
class Pipeline:
    """The verbs that a bisect is a caller of. `compose` only plans; `restore`: a release that served before."""

    load: Callable[[Ports, Selection], ResolvedStack]
    queue_of: Callable[[Ports, ResolvedStack], Queue]
    compose: Callable[[Ports, ResolvedStack], object]
    deploy: Callable[[Ports, Selection], DeployResult]
    stop: Callable[[Ports, Selection], object]
    restore: Callable[[Ports, Selection, str], DeployResult]
    status: Callable[[Ports, Selection], Deployment]
    run_test: Callable[[Ports, str, Selection], TestReport]


def real_pipeline() -> Pipeline:
    """The verbs as the command line calls them. Deploys do not ask: the bisect was asked before it began.

    They wait for a cut-over that an interrupted or killed run left on the host, and for nothing else.
    """
    from stackctl.commands.bisect.planning import Planner
    from stackctl.commands.deploying.deploy import DeployRequest, deploy
    from stackctl.commands.deploying.rollback import RollbackRequest, rollback
    from stackctl.commands.deploying.status import status
    from stackctl.commands.deploying.stop import stop
    from stackctl.commands.gather import load
    from stackctl.commands.testing.test import TestRequest, run_test
    from stackctl.commands.tree import queue_of

    return Pipeline(
        load=load,
        queue_of=queue_of,
        compose=Planner().compose,
        deploy=lambda ports, selection: alone(
            ports, lambda: deploy(ports, DeployRequest(selection, yes=True, lint=False))
        ),
        stop=lambda ports, selection: alone(ports, lambda: stop(ports, selection)),
        restore=lambda ports, selection, to: alone(
            ports, lambda: rollback(ports, RollbackRequest(selection, to=to, yes=True))
        ),
        status=status,
        run_test=lambda ports, name, selection: run_test(ports, TestRequest(name, selection, quick=True)),
    )


def alone(ports: Ports, act: Callable[[], T]) -> T:
    """`act()`, once no cut-over goes on that has lost its client. Raises Held for a hold that somebody has."""
    deadline = ports.clock.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except Busy as busy:
            ours = busy.holder.pid == ports.who.pid() and same_machine(ports.who, busy.holder)
            if not (ours or busy.status) or ports.clock.monotonic() > deadline:
                raise
            ports.progress.live(f"waiting: {busy.message}")
            ports.clock.sleep(EVERY)


@dataclass(frozen=True)
class Muted:
    """Progress of a verb within a run: one line that moves, since there are many runs and each has many steps."""

    to: Progress
    prefix: str

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        self.live(text)
        yield

    def say(self, text: str) -> None:
        self.live(text)

    def live(self, text: str) -> None:
        self.to.live(f"{self.prefix}  {text}")


@dataclass(frozen=True)
class Bench:
    """Where variants are run. `selection`: what the user asked for; variants leave out more."""

    ports: Ports
    pipeline: Pipeline
    selection: Selection
    test: str

    def under(self, prefix: str) -> Bench:
        """The same, with the progress of its verbs behind a prefix."""
        return replace(self, ports=replace(self.ports, progress=Muted(self.ports.progress, prefix)))

    def variant(self, left_out: tuple[str, ...]) -> Selection:
        return replace(self.selection, without=(*self.selection.without, *left_out))


def run(bench: Bench, left_out: tuple[str, ...]) -> Outcome:
    """Start this variant afresh and load it. Errors that a retry cannot mend (held, wrong usage) are raised."""
    began = bench.ports.clock.monotonic()
    outcome = _observe(bench, bench.variant(left_out))
    return replace(outcome, minutes=(bench.ports.clock.monotonic() - began) / 60.0)


def _observe(bench: Bench, variant: Selection) -> Outcome:
    conflict = why_unbuildable(bench, variant)
    if conflict:
        return Outcome("unbuildable", conflict)
    try:
        deployed = bench.pipeline.deploy(bench.ports, variant)
        if deployed.outcome == "kept":  # it served already: a run is a fresh start
            bench.pipeline.stop(bench.ports, bench.selection)
            deployed = bench.pipeline.deploy(bench.ports, variant)
    except PatchConflict as error:
        return Outcome("unbuildable", _brief(error))
    except (Held, Interrupted, UsageError, InvalidFile):
        raise
    except StackctlError as error:
        return Outcome("inconclusive", f"did not come up: {_brief(error)}")
    try:
        seen = bench.pipeline.run_test(bench.ports, bench.test, variant)
    except (Interrupted, UsageError, InvalidFile):
        raise
    except StackctlError as error:
        return Outcome("inconclusive", f"the test could not run: {_brief(error)}", release=deployed.release)
    return _outcome(deployed, seen)


def _outcome(deployed: DeployResult, seen: TestReport) -> Outcome:
    if seen.release not in (None, deployed.release):
        return Outcome("inconclusive", f"release {seen.release} answered, not {deployed.release}")
    return Outcome(
        verdict=seen.verdict,
        reason=seen.reason if seen.verdict == "inconclusive" else "",
        signature=seen.signature,
        classes=dict(seen.classes),
        wedge=seen.wedge,
        start_seconds=seen.timings.start_seconds or deployed.start_seconds,
        release=deployed.release,
        evidence=seen.evidence,
    )


def why_unbuildable(bench: Bench, variant: Selection) -> str | None:
    """What stands against composing it, or None. It costs no start."""
    try:
        bench.pipeline.compose(bench.ports, bench.pipeline.load(bench.ports, variant))
    except PatchConflict as error:
        return _brief(error)
    return None


def learn(bench: Bench, space: Space, mask: int) -> Clause:
    """The smallest reason found why a subset cannot be composed, so that no other with it is tried."""

    def fails(candidate: int) -> bool:
        return why_unbuildable(bench, bench.variant(space.left_out(candidate))) is not None

    worst = mask
    for i in bits(space.full & ~mask):
        more = worst | space.closure[i]
        if more != worst and fails(more):
            worst = more
    off = space.full & ~worst
    least = worst
    for i in bits(worst):
        fewer = space.drop(least, 1 << i)
        if fewer != least and fails(fewer):
            least = fewer
    return Clause(on=space.names(least), off=space.names(off))


def _brief(error: StackctlError) -> str:
    """What a line of a table can hold."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join(lines[:2])[:MOST_WORDS]
