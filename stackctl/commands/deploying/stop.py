"""Stops all that a stack has on its host, strays of a killed cut-over included, and leaves no process behind."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.commands.deploying.cutting import cut_over
from stackctl.commands.deploying.evidence import save_evidence
from stackctl.commands.deploying.holding import held
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.names import ReleaseId
from stackctl.ports import Ports


@dataclass(frozen=True)
class StopResult:
    """`release`: what served before; None when nothing did. `processes`: how many were there.

    `evidence`: the folder that was written because what served was not well; empty when nothing was.
    """

    stack: str
    host: str
    release: ReleaseId | None
    processes: int
    evidence: str = ""


def stop(ports: Ports, selection: Selection, wait: float | None = None, *, evidence: bool = False) -> StopResult:
    """Raises Held, and StackctlError when a process cannot be ended.

    `evidence`: of a release that is not well, save what shows why. A bisect needs none: it has its test's.
    """
    stack = load(ports, selection)
    with site_of(ports, stack) as site, held(site, "stackctl stop", wait) as hold:
        facts = site.look(attempt=hold.attempt)
        saved = save_evidence(site, facts, "stop") if evidence else ""
        # nothing there and nothing left half-way: also no folder is made
        if facts.processes or facts.served or facts.unfinished:
            cut_over(site, hold, "stop", facts, "")
        return StopResult(stack.name, site.name, facts.served, len(facts.processes), saved)
