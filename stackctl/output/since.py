"""How changes of hosts are shown: for each host one line that says since when, then what changed and why it matters."""

from __future__ import annotations

from datetime import datetime

from rich.text import Text

from stackctl.commands.hosts.since import DriftReport, HostDrift
from stackctl.core.doctor.drift import Change
from stackctl.output.console import Console

STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
SHOWN = 60  # characters of a value


def show_since(console: Console, report: DriftReport) -> None:
    for number, host in enumerate(report.hosts):
        if number:
            console.print()
        _show_host(console, host)


def _show_host(console: Console, host: HostDrift) -> None:
    if host.moment is None:
        problem = host.problem.removeprefix(f"{host.host}: ")
        console.print(Text.assemble((host.host, "bold"), ": not compared: ", (problem, "bold red")))
        if host.hint:
            console.print(Text(f"  {host.hint}"))
        return
    count = len(host.changes)
    what = f"{count} change{'s' * (count != 1)}" if count else "as it was"
    moment = f"since the {host.moment} ({_time(host.moment.time)}, {host.moment.client})"
    console.print(Text.assemble((host.host, "bold"), ": ", (what, "yellow" if count else "green"), f" {moment}"))
    for change in host.changes:
        _show_change(console, change)
    if host.rebooted is not None:
        console.print(Text(f"  It was started anew since, {_time(host.rebooted)}.", style="dim"))


def _show_change(console: Console, change: Change) -> None:
    console.print(
        Text.assemble((f"  {change.what}", STYLES[change.severity]), f": {_short(change.then)} -> {_short(change.now)}")
    )
    console.print(Text(f"      {change.why}", style="dim"))


def _short(value: str) -> str:
    return value if len(value) <= SHOWN else value[: SHOWN - 1] + "…"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
