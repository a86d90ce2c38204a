"""Stops what serves and starts the same release again, through the same checks and the same gate."""

from __future__ import annotations

from dataclasses import replace

from stackctl.commands.deploying.cutting import confirm, replaced
from stackctl.commands.deploying.evidence import save_evidence
from stackctl.commands.deploying.holding import held
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.deploy.values import DeployResult
from stackctl.errors import StackctlError
from stackctl.ports import Ports


def restart(
    ports: Ports, selection: Selection, *, yes: bool = False, wait: float | None = None, evidence: bool = True
) -> DeployResult:
    """Raises as deploy does; when it does not come up again, nothing serves (exit 1).

    `evidence`: of a release that is not well, save what shows why, before it is stopped.
    """
    stack = load(ports, selection)
    with site_of(ports, stack) as site, held(site, "stackctl restart", wait) as hold:
        facts = site.look(attempt=hold.attempt)
        if facts.served is None:
            raise StackctlError(f"{site.name}: nothing of {stack.name} serves", f"stackctl deploy {stack.name}")
        confirm(site, facts, f"restart {facts.served}", yes)
        saved = save_evidence(site, facts, "restart") if evidence else ""
        return replace(replaced(site, hold, "restart", facts, facts.served), evidence=saved)
