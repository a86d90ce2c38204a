"""Shows the ends of the logs of what serves, or of the release that was tried last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_of
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.record import Record
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

EVERY = 1.0  # seconds between looks while following


@dataclass(frozen=True)
class LogsRequest:
    """`which`: a role or an instance, None for all. `release`: None for what serves, else what was tried last."""

    selection: Selection
    which: str | None = None
    lines: int = 50
    follow: bool = False
    release: str | None = None


@dataclass(frozen=True)
class Log:
    instance: str
    text: str


def logs(ports: Ports, request: LogsRequest, emit: Callable[[Log], None]) -> None:
    """Each log's end goes to `emit`; with `follow` also what comes after, until Ctrl-C."""
    stack = load(ports, request.selection)
    with site_of(ports, stack) as site:
        facts = site.look(release=request.release or "")
        release = request.release or _last(facts)
        record = facts.records.get(release) if release else None
        if record is None and release and release in facts.releases:
            record = site.look(release=release).records.get(release)
        if record is None:
            raise _no_such(site, release)
        names = _chosen(record, request.which)
        sizes = {name: _show(site, _path(facts, record, name), name, request.lines, emit) for name in names}
        while request.follow:
            ports.clock.sleep(EVERY)
            for name in names:
                sizes[name] = _more(site, _path(facts, record, name), name, sizes[name], emit)


def _no_such(site: Site, release: str | None) -> StackctlError:
    if release is None:
        return StackctlError(f"{site.name}: nothing of {site.stack.name} was deployed yet")
    hint = f"`stackctl status {site.stack.name} --history` shows what was."
    return StackctlError(f"{site.name}: there is no release {release} of {site.stack.name}", hint)


def _last(facts: HostFacts) -> str | None:
    if facts.served:
        return facts.served
    return facts.status.release if facts.status and facts.status.release else facts.current


def _chosen(record: Record, which: str | None) -> list[str]:
    names = [launch.instance for launch in record.launches if which in (None, launch.instance, launch.role)]
    if not names:
        known = ", ".join(launch.instance for launch in record.launches)
        raise UsageError(f"{record.stack} has no {which}", f"There are: {known}.")
    return names


def _path(facts: HostFacts, record: Record, instance: str) -> str:
    return f"{facts.root}/releases/{record.release}/run/{instance}.log"


def _show(site: Site, path: str, name: str, lines: int, emit: Callable[[Log], None]) -> int:
    """Returns the size of the file then."""
    script = 'wc -c <"$1" && tail -n "$2" "$1"'
    done = site.host.run(("sh", "-c", script, "sh", path, str(lines)))
    size, _, text = done.stdout.decode("utf-8", "replace").partition("\n")
    emit(Log(name, text if done.ok else "(no log yet)\n"))
    return int(size) if done.ok else 0


def _more(site: Site, path: str, name: str, size: int, emit: Callable[[Log], None]) -> int:
    done = site.host.run(("tail", "-c", f"+{size + 1}", path))
    if done.ok and done.stdout:
        emit(Log(name, done.stdout.decode("utf-8", "replace")))
    return size + (len(done.stdout) if done.ok else 0)
