"""Says what a stack's host has: which release and variant, since when, how healthy, who holds it, what is unfinished.

It never takes the hold and never changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.deploy.facts import HostFacts, Seen
from stackctl.core.deploy.hold import told
from stackctl.core.deploy.record import Record, RecordedLaunch
from stackctl.core.deploy.values import Deployment, InstanceState
from stackctl.core.names import ReleaseId
from stackctl.ports import Ports


def status(ports: Ports, selection: Selection) -> Deployment:
    """Raises StackctlError when the host cannot be asked."""
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        return deployment(stack.name, site.name, site.look(health=stack.timeouts.probe))


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
        yield f"stopped; {facts.current or 'nothing'} served before"
    elif last is not None and last.state in ("failed", "broken"):
        yield f"the last {last.kind} failed and nothing serves: {last.message}"
    elif last is not None and last.state == "restored":
        yield f"the last {last.kind}, to {last.release}, failed; {last.old} was brought back: {last.message}"
    strays = _strays(facts)
    if strays and not facts.cutover:
        names = ", ".join(f"{one.instance} of {one.release}" for one in strays)
        yield f"processes of releases that do not serve: {names}"


def _strays(facts: HostFacts) -> list[Seen]:
    return [one for one in facts.instances if one.alive and one.release != facts.served]
