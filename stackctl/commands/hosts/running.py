"""What of a stack runs on a host now: asked on the host, compared with its release, the stack file, and what was saved.

The release that the stack file says is made only where an engine serves: a look at an empty host fetches no base.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stackctl.commands.linting.tables import upstream_of
from stackctl.commands.release import release
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.gate import expected
from stackctl.core.deploy.record import RecordedLaunch
from stackctl.core.deploy.values import Launch, Release
from stackctl.core.doctor import running
from stackctl.core.doctor.saved import FILE, Saved, parse
from stackctl.core.doctor.there import Planned, There, parse_answers, parse_containers
from stackctl.core.doctor.values import Facts, Finding
from stackctl.core.doctor.wanted import wanted
from stackctl.core.render.launch import launches
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.upstream.values import Upstream
from stackctl.errors import StackctlError
from stackctl.ports import Ports

BOUND = 5.0  # seconds for one answer
PATIENCE = 4 * BOUND + 30.0


def look_running(site: Site, facts: Facts) -> There:
    """Changes nothing. What cannot be read there is told, and keeps nothing else from being told."""
    try:
        return _look(site, facts)
    except StackctlError as error:
        return There(facts, HostFacts(site.root, "", "", 0), fault=error.message)


def _look(site: Site, facts: Facts) -> There:
    there = There(facts, site.look())
    asked = _asked(there)
    containers = sorted({one.container for one in facts.engines if one.container})
    if asked or containers:
        request = {"launches": asked, "bound": BOUND, "containers": containers}
        said = site.ask("serving", request, timeout=PATIENCE + BOUND * len(containers))
        answers, about = parse_answers(said["answers"]), parse_containers(said["containers"])
        there = replace(there, answers=answers, containers=about)
    return replace(there, saved=_saved(site, there.state.served)) if there.state.served else there


def _saved(site: Site, served: str) -> tuple[Saved, ...]:
    """None when they cannot be read: `--since` says why."""
    try:
        text = (site.host.get(f"{site.root}/{FILE}") or b"").decode("utf-8", "replace")
    except StackctlError:
        return ()
    return tuple(one for one in parse(text) if one.moment.release == served)


def _asked(there: There) -> list[dict[str, object]]:
    """What serves, by its record; else nothing: who else is on the ports is known by its process."""
    record = there.record
    alive = {one.instance for one in there.state.instances if one.alive}
    return [_question(launch) for launch in record.launches if launch.instance in alive] if record else []


def _question(launch: RecordedLaunch) -> dict[str, object]:
    expect = {} if launch.role == "router" else expected(launch.argv)
    return {"instance": launch.instance, "role": launch.role, "ask": launch.inside, "expect": expect}


def running_findings(
    ports: Ports, selection: Selection, stack: ResolvedStack, seen: dict[str, There]
) -> dict[str, tuple[Finding, ...]]:
    """`seen`: host -> what is there. By host."""
    serves = any(there.record is not None for there in seen.values())
    by_hand = any(
        there.facts.stranger(port) for host, there in seen.items() for port in wanted(stack, host).ports or ()
    )
    planned = _planned(ports, selection, stack, serves or by_hand)
    return {
        name: tuple(replace(one, host=name) for one in running.findings(planned(name), there))
        for name, there in seen.items()
    }


def _planned(ports: Ports, selection: Selection, stack: ResolvedStack, serves: bool) -> Callable[[str], Planned]:
    made: Release | None = None
    table: Upstream | None = None
    why = ""
    if serves:
        try:
            made = release(ports, selection)
            table = upstream_of(ports, made.tree.tree, made.stack.serve.module)
        except StackctlError as error:
            why = error.message
    started: tuple[Launch, ...] = made.launches if made else launches(stack)

    def of(host: str) -> Planned:
        return Planned(
            stack.name,
            made.id if made else "",
            tuple(one for one in started if one.host == host),
            {port: name.partition(" ")[0] for port, name in (wanted(stack, host).ports or {}).items()},
            (made.tree.tree, *(source.tree for _, source in sorted(made.tree.sources.items()))) if made else (),
            str(made.stack.variant) if made else "",
            why,
            table,
        )

    return of
