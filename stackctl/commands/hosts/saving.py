"""Saves what a host is like at a good moment: a release has passed its gate there, or a test was clean.

It never fails what went before: what could not be saved is said, and costs one moment to compare with. Ctrl-C ends the
saving only, for what was deployed or tested stays so.
"""

from __future__ import annotations

from stackctl.commands.hosts.looking import quick_look
from stackctl.commands.site import Site, site_of
from stackctl.core.deploy.record import Record
from stackctl.core.doctor.saved import Event, Moment, line
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.verify.report import TestReport
from stackctl.errors import StackctlError
from stackctl.ports import Ports

SAVE = 20.0  # seconds


def save_served(site: Site, event: Event, record: Record) -> None:
    """After a gate."""
    ports = site.ports
    moment = Moment(ports.clock.now(), event, record.release, ports.who.user(), record.variant)
    _save(site, moment, record.python)


def save_clean(ports: Ports, stack: ResolvedStack, report: TestReport) -> None:
    """After a clean test of what is deployed."""
    try:
        with site_of(ports, stack) as site:
            words = (report.release or "", ports.who.user(), report.variant, report.test)
            record = site.look(release=report.release or "").records.get(report.release or "")
            _save(site, Moment(ports.clock.now(), "test", *words), record.python if record else site.python)
    except (StackctlError, KeyboardInterrupt) as error:
        _not_saved(ports, stack.name, error)


def _save(site: Site, moment: Moment, python: str) -> None:
    try:
        row, facts = line(moment, quick_look(site, python))
        site.ask("facts", {"line": row, "facts": facts}, timeout=SAVE)
    except (StackctlError, KeyError, TypeError, ValueError, KeyboardInterrupt) as error:
        _not_saved(site.ports, site.name, error)


def _not_saved(ports: Ports, where: str, error: BaseException) -> None:
    match error:
        case StackctlError():
            why = error.message
        case KeyboardInterrupt():
            why = "interrupted; what went before is done"
        case _:
            why = f"{type(error).__name__}: {error}"
    ports.progress.say(f"{where}: what the host is like was not saved: {why.removeprefix(f'{where}: ')}")
