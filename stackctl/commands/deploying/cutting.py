"""From one release to another on a host: the part that deploy, restart, rollback and stop have in common.

Also what its end means for the user: words and exit code.
"""

from __future__ import annotations

from stackctl.commands.deploying import follow, preparing
from stackctl.commands.deploying.follow import Watched
from stackctl.commands.deploying.holding import Hold
from stackctl.commands.hosts.saving import save_served
from stackctl.commands.site import Site
from stackctl.core.deploy.cutover import Cutover, Kind
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.journal import start_seconds
from stackctl.core.deploy.record import Record
from stackctl.core.deploy.values import DeployResult, Outcome
from stackctl.core.names import ReleaseId
from stackctl.errors import GateFailed, RollbackFailed, StackctlError


def cut_over(site: Site, hold: Hold, kind: Kind, facts: HostFacts, new: str) -> Watched:
    """To `new`, or to nothing. Whatever serves now comes back when it fails. Raises as `raise_unless_up`."""
    old = "" if kind == "stop" else facts.served or ""
    cutover = Cutover(
        site.stack.name,
        hold.attempt,
        kind,
        facts.root,
        site.python,
        f"{facts.root}/probes.py",
        new,
        old,
        site.stack.timeouts,
    )
    watched = follow.run(site, hold, cutover)
    raise_unless_up(site, watched)
    return watched


def replaced(site: Site, hold: Hold, kind: Kind, facts: HostFacts, release: ReleaseId) -> DeployResult:
    """To a release whose folder is there already: checked, cut over, gated."""
    record = facts.records.get(release)
    if record is None:
        raise StackctlError(
            f"{site.name}: release {release} is not there", f"stackctl status {site.stack.name} --history"
        )
    with site.ports.progress.step(f"{site.name}: look whether {release} can start"):
        preparing.refuse(record, facts, preparing.look(site, record, None, hold.attempt))
    watched = cut_over(site, hold, kind, facts, release)
    save_served(site, "restart" if kind == "restart" else "rollback", record)
    outcome: Outcome = "restarted" if kind == "restart" else "rolled back"
    took = start_seconds(watched.status)
    return DeployResult(outcome, record.stack, release, record.variant, record.url, facts.served, took)


def confirm(site: Site, facts: HostFacts, what: str, yes: bool) -> None:
    """On production, what serves is stopped only by somebody who said so."""
    if yes or site.host.spec.purpose != "production" or not facts.served:
        return
    there = f"{site.name} is production and serves {facts.served}"
    answer = site.ports.who.confirm(f"{there}: {what}?")
    if answer is None:
        raise StackctlError(f"{there}, and there is no terminal to ask on: nothing was touched", "Say --yes.")
    if not answer:
        raise StackctlError("nothing was touched")


def raise_unless_up(site: Site, watched: Watched) -> None:
    """StackctlError: nothing serves. GateFailed: the old one serves again. RollbackFailed: not even that."""
    status = watched.status
    if status.state in ("committed", "stopped"):
        return
    detail = f"\n{watched.failure}" if watched.failure else f": {status.message}"
    if status.state == "untouched":
        raise StackctlError(f"{site.name}: nothing was stopped{detail}", "Is the disk there full?")
    if status.kind == "stop":
        raise StackctlError(
            f"{site.name}: could not end all processes{detail}", f"Look: stackctl status {site.stack.name}."
        )
    failed = f"{site.name}: release {status.release} did not come up"
    logs = f"Its logs: ~/.stackctl/{site.stack.name}/releases/{status.release}/run/ there."
    if status.state == "restored":
        raise GateFailed(f"{failed}; {status.old} serves again, and passed its gate{detail}", logs)
    if status.state == "broken":
        raise RollbackFailed(
            f"{failed}, and what served before did not come back: nothing serves{detail}",
            f"Look: stackctl status {site.stack.name}; then deploy a release that works. {logs}",
        )
    raise StackctlError(f"{failed}; it was stopped, and nothing serves{detail}", logs)


def gate_again(site: Site, record: Record, facts: HostFacts) -> str | None:
    """Ask the serving release what a new one is asked. None: it passed; else what it failed at."""
    site.host.put(f"{facts.root}/probes.py", site.program("gate").encode())
    limit = site.stack.timeouts.probe * (4 + max(3, site.stack.gate.requests)) + 60.0
    folder = f"{facts.root}/releases/{record.release}"
    argv = (site.python, "-I", "-S", "-B", f"{facts.root}/probes.py", "gate", folder)
    with site.ports.progress.step(f"{site.name}: gate of release {record.release}"):
        done = site.host.run(argv, timeout=limit)
    return None if done.ok else (done.stdout or done.stderr).decode("utf-8", "replace").strip()
