"""The verb that looks at hosts: `stackctl doctor`. Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stackctl.app import App, selects
from stackctl.commands.selection import Selection
from stackctl.errors import UsageError

if TYPE_CHECKING:
    from stackctl.commands.hosts.since import SinceRequest


@click.command("doctor", short_help="Look at the hosts of a stack; changes nothing. Exit 1 on errors.")
@click.option("-H", "--hosts", multiple=True, metavar="HOST[,HOST]", help="Only these hosts of the stack.")
@click.option("--report", metavar="FILE", help="A Markdown report for an issue; - prints it.")
@click.option("--since", metavar="RELEASE", help="Only what changed there since it was last well; or: last-clean.")
@click.option("--exit-code", is_flag=True, help="With --since: exit 7 when something changed.")
@click.option("--anonymous", is_flag=True, help="Without names of machines and people, addresses, numbers of cards.")
@selects
@click.pass_obj
def doctor(
    app: App, /, selection: Selection, hosts: tuple[str, ...], report: str | None, since: str | None, **flags: bool
) -> int:
    """Look at every host of a stack over SSH, or here: cards, driver, links, limits, disks, ports, clock, model.

    Every finding has a severity, what a person would type to see it, and a remedy. It takes no hold and writes
    nothing there. Exit 1 when a finding is an error.
    """
    from stackctl.commands.hosts.doctor import DoctorRequest, save_report
    from stackctl.commands.hosts.doctor import doctor as run
    from stackctl.commands.hosts.since import SinceRequest
    from stackctl.output.doctor import report_text, show_doctor

    names = tuple(name for word in hosts for name in word.split(",") if name)
    if since is not None:
        if report or flags["anonymous"]:
            raise UsageError("--since makes no report", "Leave out --report and --anonymous.")
        return _since(app, SinceRequest(selection, since, names, flags["exit_code"]))
    if flags["exit_code"]:
        raise UsageError("--exit-code is of --since", "Without it, 1 means that a finding is an error.")
    found = run(app.ports, DoctorRequest(selection, names, flags["anonymous"]))
    if report == "-":
        return app.show(found, lambda console, it: console.raw(report_text(it)))
    if report:
        save_report(app.ports, report, report_text(found))
    return app.show(found, show_doctor)


def _since(app: App, request: SinceRequest) -> int:
    from stackctl.commands.hosts.since import compare
    from stackctl.output.since import show_since

    return app.show(compare(app.ports, request), show_since)


VERBS = (doctor,)
