"""Says what a stack's host has: which release and variant, since when, how healthy, who holds it, what is unfinished.

It never takes the hold and never changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.release import release
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.deploy.facts import HostFacts, Seen
from stackctl.core.deploy.hold import told
from stackctl.core.deploy.journal import Entry, entries
from stackctl.core.deploy.record import Record, RecordedLaunch
from stackctl.core.deploy.values import Deployment, InstanceState
from stackctl.core.names import ReleaseId
from stackctl.errors import StackctlError
from stackctl.ports import Ports


def status(ports: Ports, selection: Selection, *, compare: bool = False) -> Deployment:
    """`compare`: also make the release that the stack file says now, which takes a moment longer.

    Raises StackctlError when the host cannot be asked.
    """
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        found = deployment(stack.name, site.name, site.look(health=stack.timeouts.probe))
    return _compared(ports, selection, found) if compare and found.release else found


def _compared(ports: Ports, selection: Selection, found: Deployment) -> Deployment:
    """A variant is one only until the stack file agrees."""
    try:
        wanted = release(ports, selection)
    except StackctlError as error:
        note = f"what the stack file says now cannot be made: {error.message}"
        return replace(found, notes=(*found.notes, note))
    if wanted.id == found.release:
        return replace(found, variant=str(wanted.stack.variant))
    if found.variant:
        return found
    note = f"the stack file has changed: it says {wanted.id} now; `stackctl deploy {found.stack}` would start it"
    return replace(found, notes=(*found.notes, note))


@dataclass(frozen=True)
class Past:
    """One attempt of the journal; `seconds` from its first to its last line, `outcome` empty while it is at work."""

    when: float
    kind: str
    release: str
    outcome: str
    seconds: float
    detail: str


def history(ports: Ports, selection: Selection) -> tuple[Past, ...]:
    """All attempts on the host, oldest first."""
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        text = (site.host.get(f"{site.root}/journal.jsonl") or b"").decode("utf-8", "replace")
    attempts: dict[str, list[Entry]] = {}
    for entry in entries(text):
        attempts.setdefault(entry.attempt, []).append(entry)
    return tuple(_past(lines) for lines in attempts.values())


def _past(lines: list[Entry]) -> Past:
    first, last = lines[0], lines[-1]
    outcome = last.phase if not last.step else ""
    return Past(first.time, first.kind, first.release, outcome, last.time - first.time, last.detail)


def deployment(stack: str, host: str, facts: HostFacts) -> Deployment:
    served = facts.served
    record = facts.records.get(served) if served else None
    notes = tuple(_notes(stack, facts))
    hold = told(facts.hold) if facts.hold else None
    if record is None or served is None:
        return Deployment(stack, None, previous=_before(facts, None), hold=hold, notes=notes)
    made = facts.deployed.get(served, {})
    return Deployment(
        stack,
        served,
        record.tree,
        record.variant,
        made.get("since"),
        record.who,
        record.url,
        made.get("start_seconds"),
        _before(facts, served),
        tuple(_instance(launch, record, host, facts) for launch in record.launches),
        hold,
        notes,
        record.torch_build,
        record.sources,
    )


def _before(facts: HostFacts, served: ReleaseId | None) -> ReleaseId | None:
    """What a rollback would go to; after a stop that is what was stopped."""
    return facts.previous if served else facts.current


def _instance(launch: RecordedLaunch, record: Record, host: str, facts: HostFacts) -> InstanceState:
    seen = next(
        (one for one in facts.instances if (one.release, one.instance) == (record.release, launch.instance)), None
    )
    health = facts.health.get(launch.instance, "")
    if seen is None:
        return InstanceState(launch.instance, host, "absent", url=launch.url)
    if seen.alive:
        return InstanceState(launch.instance, host, "running", seen.pid, None, launch.url, health)
    return InstanceState(launch.instance, host, "exited", None, seen.exit, launch.url)


def _notes(stack: str, facts: HostFacts) -> Iterator[str]:
    last = facts.status
    if facts.cutover and last is not None:
        yield f"a cut-over ({last.kind}) to {last.release or 'nothing'} goes on: {last.step}"
    elif facts.unfinished is not None and last is not None:
        yield f"a cut-over ({last.kind}) to {last.release or 'nothing'} was killed while it did: {last.step}"
        yield f"`stackctl deploy {stack}` or `stackctl stop {stack}` puts it right"
    elif last is not None and last.state == "stopped":
        yield "stopped"
    elif last is not None and last.state in ("failed", "broken"):
        yield f"the last {last.kind} failed and nothing serves: {_brief(last.message)}"
    elif last is not None and last.state == "restored":
        yield f"the last {last.kind}, to {last.release}, failed; {last.old} was brought back: {_brief(last.message)}"
    strays = _strays(facts)
    if strays and not facts.cutover:
        names = ", ".join(f"{one.instance} of {one.release}" for one in strays)
        yield f"processes of releases that do not serve: {names}"


def _brief(message: str) -> str:
    """A reason without the log that it quotes: `stackctl logs` shows that."""
    return message.partition("; the end of its log:")[0]


def _strays(facts: HostFacts) -> list[Seen]:
    return [one for one in facts.instances if one.alive and one.release != facts.served]
