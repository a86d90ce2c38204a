"""`stackctl bisect`: which change, or which pair of changes, makes the test fail.

It deploys variants of the stack through the common pipeline and judges them with the common test; what it learns is
appended to the session's file before it is used, so that a killed bisect goes on where it was. It takes no machine
that serves production unless told to, and puts back what served there whatever happens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stackctl.commands.bisect.journal import Journal, begin, new_id, unfinished
from stackctl.commands.bisect.run import Bench, Pipeline, learn, real_pipeline, run
from stackctl.commands.selection import Selection
from stackctl.core.bisect.elements import Picked, facts_of, pick
from stackctl.core.bisect.events import Chosen, Ended, Learned, Observed, Restored, Served, Started, Working
from stackctl.core.bisect.hypotheses import Prior
from stackctl.core.bisect.report import BisectReport, label, report
from stackctl.core.bisect.search import Done, Outcome, Search, Try
from stackctl.core.bisect.session import Budget, changed, next_step, search_of
from stackctl.core.patches.values import Queue
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.units import duration
from stackctl.errors import GateFailed, Held, Interrupted, RollbackFailed, StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class BisectRequest:
    """`budget`: a duration (`90m`) or `30 runs`, for the whole session. None: what the stack file says, or a default.

    `min_rate`: how often the full stack must fail at least for this to be worth searching; rarer is NEVER FAILS.
    """

    selection: Selection
    test: str | None = None
    budget: str | None = None
    new: bool = False
    min_rate: float = 0.5
    prior: Prior | None = None
    take_over: bool = False
    seed: str = "0"


def bisect(ports: Ports, request: BisectRequest, pipeline: Pipeline | None = None) -> BisectReport:
    """Search until a culprit is confirmed, or a reason to stop. Raises Interrupted on Ctrl-C; a later call goes on."""
    verbs = pipeline or real_pipeline()
    stack = verbs.load(ports, request.selection)
    test = _test_of(stack, request.test)
    _refuse_hosts(stack, take_over=request.take_over)
    budget = _budget(request.budget, stack.bisect.budget)
    verbs.compose(ports, stack)  # a queue that does not apply as a whole is no case for a search
    bench = Bench(ports, verbs, request.selection, test)
    journal = _journal(bench, request, stack)
    _take(ports, journal)
    try:
        _remember_what_serves(bench, journal, production=_production(stack))
        _work(bench, journal, budget)
    except (KeyboardInterrupt, Interrupted):
        raise _interrupted(bench, journal) from None
    except BaseException:
        _put_back(bench, journal)
        raise
    ports.progress.say(_put_back(bench, journal))
    return report(journal.session, search_of(journal.session), journal.file)


def _interrupted(bench: Bench, journal: Journal) -> StackctlError:
    """What is left, and what goes on. What served is put back at the first Ctrl-C, and left at the second."""
    started, count = journal.session.started, len(journal.session.runs)
    what = f"bisect interrupted after {count} run{'s'[: count != 1]}"
    hint = f"the session is kept: stackctl bisect {started.stack} --test {started.test} goes on"
    try:
        return Interrupted(f"{what}; {_put_back(bench, journal)}", hint)
    except (KeyboardInterrupt, Interrupted):
        served = journal.session.served
        before = f"release {served.release} that served before is not put back" if served and served.release else ""
        left = before or "its variant is not stopped"
        return Interrupted(f"{what}, and again: {left}", f"{hint}, and does it at its end; now: stackctl status")
    except StackctlError as error:
        error.hint = f"{error.hint}; {hint}" if error.hint else hint
        return error


def _test_of(stack: ResolvedStack, asked: str | None) -> str:
    name = asked or stack.bisect.test
    known = ", ".join(stack.tests) or "none"
    if not name:
        raise UsageError("which test?", hint=f"--test NAME, or `bisect.test` in the stack file; it has {known}")
    if name not in stack.tests:
        raise UsageError(f"{stack.name} has no test {name}", hint=f"it has {known}")
    return name


def _production(stack: ResolvedStack) -> list[str]:
    used = {instance.host for instance in stack.instances}
    return [host.name for host in stack.hosts.values() if host.name in used and host.purpose == "production"]


def _refuse_hosts(stack: ResolvedStack, *, take_over: bool) -> None:
    if stack.bisect.on:
        raise UsageError(
            "bisect.on: running variants on other hosts is not there yet",
            hint="name the other hosts in a stack file that `extends` this one, and bisect that",
        )
    serving = _production(stack)
    if serving and not take_over:
        raise StackctlError(
            f"{', '.join(serving)} is a production host: a bisect stops what serves there",
            hint="run it on a test host, or say --take-over: what serves is put back and gated at the end",
        )


def _budget(asked: str | None, seconds: float | None) -> Budget:
    if asked is None:
        return Budget() if seconds is None else Budget(minutes=seconds / 60.0)
    runs = re.fullmatch(r"(\d+)( ?runs?)?", asked.strip())
    if runs and int(runs[1]):
        return Budget(runs=int(runs[1]))
    try:
        return Budget(minutes=duration(asked) / 60.0)
    except ValueError as error:
        raise UsageError(f"--budget {asked}: {error}", hint="or a number of runs, like `30 runs`") from None


def _journal(bench: Bench, request: BisectRequest, stack: ResolvedStack) -> Journal:
    """The session to go on with, or a new one; a difference is told by name."""
    queue = bench.pipeline.queue_of(bench.ports, stack)
    prior = request.prior or stack.bisect.prior
    facts = facts_of(stack, queue, bench.test)
    facts |= {"prior": prior, "seed": request.seed, "least rate": str(request.min_rate)}
    old = None if request.new else unfinished(bench.ports, stack.workspace, stack.name, bench.test)
    if old:
        name = old.session.started.session
        differing = changed(old.session, facts)
        if not differing:
            bench.ports.progress.say(f"going on with session {name}: {len(old.session.runs)} runs so far")
            return old
        bench.ports.progress.say(f"session {name} is about something else ({', '.join(differing)}): a new one begins")
    return _begin(bench, request, (stack, queue), facts)


def _begin(bench: Bench, request: BisectRequest, of: tuple[ResolvedStack, Queue], facts: dict[str, str]) -> Journal:
    stack, queue = of
    picked: Picked = pick(stack, queue)
    started = Started(
        session=new_id(bench.ports, stack.workspace),
        stack=stack.name,
        test=bench.test,
        facts=facts,
        members=picked.members,
        needs=picked.needs,
        untested=picked.untested,
        seed=request.seed,
        prior=request.prior or stack.bisect.prior,
        min_rate=request.min_rate,
    )
    journal = begin(bench.ports, stack.workspace, started)
    count = len(search_of(journal.session).candidates)
    bench.ports.progress.say(f"{len(picked.members)} elements, {count} hypotheses, session {started.session}")
    return journal


def _take(ports: Ports, journal: Journal) -> None:
    """One process a session."""
    worker = journal.session.worker
    me = (ports.who.user(), ports.who.pid())
    if worker and worker.by == me[0] and worker.pid != me[1] and ports.who.alive(worker.pid):
        raise StackctlError(
            f"process {worker.pid} works on session {journal.session.started.session}",
            hint="wait for it or stop it; --new begins another session",
        )
    journal.add(Working(*me))


def _remember_what_serves(bench: Bench, journal: Journal, *, production: list[str]) -> None:
    """Once a session: what a killed bisect left running is not what served before it."""
    if journal.session.served:
        return
    now = bench.pipeline.status(bench.ports, bench.selection)
    without, added = parse_variant(now.variant)
    if added and production:
        raise StackctlError(
            f"what serves has patches given by --with ({', '.join(added)}): it could not be put back",
            hint="deploy the stack as its file says first",
        )
    journal.add(Served(now.release, without, added))


def parse_variant(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Elements left out and patches added, from a deployment's description of its variant (`str(Variant)`)."""
    without = re.search(r"^without ([^()]*?)(?: \(and | with |$)", text)
    added = re.search(r"(?:^|\s)with (patch:.*)$", text)
    return (
        tuple(without[1].split(", ")) if without else (),
        tuple(added[1].split(", ")) if added else (),
    )


def _work(bench: Bench, journal: Journal, budget: Budget) -> None:
    """Choose, write down, run, write down; until the search is done or pauses."""
    while True:
        search = search_of(journal.session)
        step = next_step(journal.session, search, budget)
        if isinstance(step, Done):
            named = step.kind in ("CONFIRMED", "LIKELY")
            culprit = tuple(search.space.members[i].element for i in search.top.members) if named else ()
            journal.add(Ended(step.kind, step.reason, culprit))
            return
        _one_run(bench, journal, step)


def _one_run(bench: Bench, journal: Journal, step: Try) -> None:
    space = journal.session.space
    left_out = space.left_out(step.mask)
    if journal.session.pending is None:
        journal.add(Chosen(journal.session.last_number + 1, step.phase, left_out))
    number = journal.session.last_number
    bench.ports.progress.say(f"run {number}: {shown(left_out, space.names(step.mask))}")
    outcome = run(bench.under(f"run {number}"), left_out)
    journal.add(Observed(number, outcome))
    if outcome.verdict == "unbuildable":
        journal.add(Learned(learn(bench, space, step.mask), outcome.reason))
    said = (f"run {number}", _seen(outcome), _standing(search_of(journal.session)))
    bench.ports.progress.say("  ".join(word for word in said if word))


def shown(left_out: tuple[str, ...], left_in: tuple[str, ...]) -> str:
    """`-demo/x -flag:y`, or what is in when that is shorter."""
    if not left_out:
        return "full"
    if not left_in:
        return "base"
    if len(left_in) < len(left_out):
        return "only " + " ".join(name.removeprefix("patch:") for name in left_in)
    return " ".join("-" + name.removeprefix("patch:") for name in left_out)


def _seen(outcome: Outcome) -> str:
    detail = outcome.signature if outcome.verdict == "bad" else outcome.reason
    return f"{outcome.verdict} ({detail})" if detail else outcome.verdict


def _standing(search: Search) -> str:
    if search.signature is None:
        return ""
    top = search.top
    return f"P={search.posterior.weights()[search.culprit]:.2f} {label(search, top)}"


def _put_back(bench: Bench, journal: Journal) -> str:
    """Stop the variant, or put back what served; says which. Nothing when no variant was ever started."""
    session = journal.session
    served = session.served
    if served is None or not (session.runs or session.pending):
        return "nothing was started"
    if served.release is None:
        with bench.ports.progress.step("stopping the variant"):
            bench.pipeline.stop(bench.ports, bench.selection)
        journal.add(Restored(None))
        return f"nothing of {session.started.stack} runs now"
    with bench.ports.progress.step(f"putting back release {served.release}"):
        now = _serve_again(bench, served, served.release)
    journal.add(Restored(now))
    if now != served.release:
        return f"release {now} serves: {served.release} was no longer there, and the stack has changed since"
    return f"release {now} serves again, as before"


def _serve_again(bench: Bench, served: Served, release: str) -> str:
    """The very release, else the same variant made anew. A cut-over that still goes on may end with another."""
    now = bench.pipeline.status(bench.ports, bench.selection)
    if now.release == release and now.hold is None:
        return release
    try:
        return bench.pipeline.restore(bench.ports, bench.selection, release).release
    except (GateFailed, RollbackFailed, Held, Interrupted):
        raise
    except StackctlError as error:
        if bench.pipeline.status(bench.ports, bench.selection).release == release:
            return release  # where the cut-over that was waited for ended
        if served.with_patches:
            raise
        bench.ports.progress.say(f"{release} cannot be put back as it was, so it is made anew: {error}")
    return bench.pipeline.deploy(bench.ports, replace(bench.selection, without=served.without, with_patches=())).release
