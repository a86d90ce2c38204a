"""Goes back to the release that served before, through the same checks and the same gate as a deploy."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.commands.deploying.cutting import confirm, replaced
from stackctl.commands.deploying.holding import held
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.values import DeployResult
from stackctl.core.names import ReleaseId
from stackctl.errors import StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class RollbackRequest:
    """`to`: a release that is still there; None for the one before."""

    selection: Selection
    to: str | None = None
    yes: bool = False
    wait: float | None = None


def rollback(ports: Ports, request: RollbackRequest) -> DeployResult:
    """Raises as deploy does. Refuses before anything is stopped when the release is not whole there."""
    stack = load(ports, request.selection)
    with site_of(ports, stack) as site, held(site, "stackctl rollback", request.wait) as hold:
        facts = site.look(release=request.to or "", attempt=hold.attempt)
        target = ReleaseId(request.to) if request.to else _before(facts)
        if target is None:
            raise StackctlError(f"{site.name}: no release of {stack.name} served before", "Deploy the one you want.")
        if target == facts.served:
            raise StackctlError(f"{site.name}: {target} serves already", f"Or: stackctl restart {stack.name}.")
        confirm(site, facts, f"replace it by {target}", request.yes)
        return replaced(site, hold, "rollback", facts, target)


def _before(facts: HostFacts) -> ReleaseId | None:
    """When nothing serves, what served last."""
    return facts.previous if facts.served else facts.current
