"""All that a look at a host finds against what its stack wants: one function a subject, each a generator.

A finding is made of what is known only. Severity: an error is what a deploy would refuse, or what cannot work; a
warning what is known to hurt; the rest is information.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from stackctl.core.doctor import (
    findings_cards,
    findings_docker,
    findings_driver,
    findings_host,
    findings_links,
    findings_python,
)
from stackctl.core.doctor.values import SEVERITIES, Finding, Look
from stackctl.core.doctor.wanted import Wanted

Check = Callable[[Look, Wanted], Iterator[Finding]]
CHECKS: tuple[Check, ...] = (
    *findings_driver.CHECKS,
    *findings_cards.CHECKS,
    *findings_links.CHECKS,
    *findings_docker.CHECKS,
    *findings_host.CHECKS,
    *findings_python.CHECKS,
)


def findings(look: Look, wanted: Wanted) -> tuple[Finding, ...]:
    """Errors first; within a severity in the order of the checks."""
    found = [replace(one, host=wanted.spec.name) for check in CHECKS for one in check(look, wanted)]
    return in_order(found)


def in_order(found: list[Finding] | tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda one: SEVERITIES.index(one.severity)))
