"""`stackctl prune`: removes what nothing refers to any more: releases, trees, models, environments, downloads.

All of it can be made again. What serves, what served before, and what a record or a process names is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stackctl.commands.base import spare_wheels
from stackctl.commands.deploying.holding import held
from stackctl.commands.environment import REMOTE_HOME
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_of
from stackctl.core.stack.resolved import HostSpec
from stackctl.ports import Ports

LONG = 600.0  # seconds: an environment has tens of thousands of files
OF_THE_STACK = {"releases": "beyond the newest {keep}", "trees": "no release has it", "models": "no release has it"}


@dataclass(frozen=True)
class Gone:
    """`kind`: release, tree, model, environment or download. `size` in bytes, as the disk gets them back."""

    kind: str
    name: str
    size: int
    why: str
    host: str


@dataclass(frozen=True)
class PruneResult:
    """`dry_run`: nothing is gone yet. `notes`: what stays for a reason that may pass."""

    stack: str
    host: str
    dry_run: bool
    gone: tuple[Gone, ...]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(one.size for one in self.gone)


def prune(ports: Ports, selection: Selection, *, dry_run: bool = False, wait: float | None = None) -> PruneResult:
    """Raises Held when somebody deploys this stack; a dry run looks without the hold."""
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        facts = site.look()
        if dry_run or not (facts.releases or facts.trees):
            return _pruned(site, dry_run)
        with held(site, "stackctl prune", wait), ports.progress.step(f"{site.name}: remove what nothing refers to"):
            return _pruned(site, dry_run)


def _pruned(site: Site, dry: bool) -> PruneResult:
    said = site.ask("prune", {"keep": site.stack.keep_releases, "dry": dry}, timeout=LONG)
    keep = site.stack.keep_releases
    gone = [
        _gone(kind.removesuffix("s"), {**item, "why": why.format(keep=keep)}, site.name)
        for kind, why in OF_THE_STACK.items()
        for item in said[kind]
    ]
    tidied = _tidied(site, dry)
    downloads = _own_downloads(site, dry)
    gone += [_gone("environment", item, site.name) for item in tidied["environments"]]
    gone += [_gone("download", item, "here") for item in downloads["downloads"]]
    return PruneResult(site.stack.name, site.name, dry, tuple(gone), tuple(tidied["stay"]))


def _gone(kind: str, item: Mapping[str, Any], host: str) -> Gone:
    return Gone(kind, item["name"], item["bytes"], item["why"], host)


def _tidied(site: Site, dry: bool) -> dict[str, Any]:
    home = site.ports.files.home() if site.host.spec.is_local else REMOTE_HOME
    request = {"stacks": "~/.stackctl", "stack": site.stack.name, "environments": f"{home}/environments", "dry": dry}
    return site.ask("tidy", request, timeout=LONG)


def _own_downloads(site: Site, dry: bool) -> dict[str, Any]:
    """Of this machine, wherever the stack runs: bases are fetched here."""
    ports = site.ports
    host = ports.hosts.open(HostSpec("here", "local"))
    try:
        here = replace(site, host=host, python=ports.who.python())
        wheels = list(spare_wheels(ports))
        request = {"stacks": "~/.stackctl", "stack": site.stack.name, "downloads": ports.files.home(), "dry": dry}
        return here.ask("tidy", {**request, "wheels": wheels}, timeout=LONG)
    finally:
        host.close()
