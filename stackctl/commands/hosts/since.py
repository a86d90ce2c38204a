"""`stackctl doctor --since`: what changed on each host of a stack since a release was deployed there, or tested clean.

It reads what was saved on the host and looks at it again; nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stackctl.commands.gather import load
from stackctl.commands.hosts.doctor import chosen
from stackctl.commands.hosts.looking import looking_python, quick_look
from stackctl.commands.hosts.together import side_by_side
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_on
from stackctl.core.doctor.drift import Change, changes
from stackctl.core.doctor.saved import FILE, LAST_CLEAN, Moment, is_release, parse, since
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import Drift, StackctlError, UsageError
from stackctl.ports import Ports

SHORTEST = 4  # characters of a release


@dataclass(frozen=True)
class HostDrift:
    """One host. `moment`: what it is compared with; None when it could not be, then `problem` says why.

    `rebooted`: since then; `saves`: how often facts were saved there with that release.
    """

    host: str
    moment: Moment | None = None
    changes: tuple[Change, ...] = ()
    rebooted: float | None = None
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True)
class DriftReport:
    """`exit`: 1 when a host could not be compared; with `exit_code` 7 when something changed."""

    stack: str
    since: str
    hosts: tuple[HostDrift, ...]
    exit_code: bool = field(default=False, repr=False)

    @property
    def exit(self) -> int:
        if any(host.problem for host in self.hosts):
            return 1
        return Drift.exit_code if self.exit_code and any(host.changes for host in self.hosts) else 0


@dataclass(frozen=True)
class SinceRequest:
    """`since`: the beginning of a release's id, or `last-clean`. `hosts`: names of the stack's hosts, none for all."""

    selection: Selection
    since: str
    hosts: tuple[str, ...] = ()
    exit_code: bool = False


def compare(ports: Ports, request: SinceRequest) -> DriftReport:
    """Raises UsageError for a word that can be no release, and for a host that the stack has not."""
    word = request.since
    if word != LAST_CLEAN and not (is_release(word) and len(word) >= SHORTEST):
        raise UsageError(
            f"--since {word!r}: no release", f"Give the first {SHORTEST} or more digits of one, or {LAST_CLEAN}."
        )
    stack = load(ports, request.selection)
    names = chosen(stack, request.hosts)
    with ports.progress.step(f"look at {', '.join(names)}"):
        hosts = side_by_side(names, lambda name: _host(ports, stack, name, word))
    return DriftReport(stack.name, word, hosts, request.exit_code)


def _host(ports: Ports, stack: ResolvedStack, name: str, word: str) -> HostDrift:
    spec = stack.hosts[name]
    try:
        with site_on(ports, stack, spec, looking_python(ports, spec)) as site:
            return drift(site, word)
    except StackctlError as error:
        return HostDrift(name, problem=error.message, hint=error.hint or "")


def drift(site: Site, word: str) -> HostDrift:
    text = (site.host.get(f"{site.root}/{FILE}") or b"").decode("utf-8", "replace")
    saved = since(parse(text), word, site.name)
    facts = quick_look(site, saved.facts.python.path or site.python)
    rebooted = facts.boot if facts.boot is not None and facts.boot > saved.moment.time else None
    return HostDrift(site.name, saved.moment, changes(saved.facts, facts), rebooted)
