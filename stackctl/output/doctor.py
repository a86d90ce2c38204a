"""How a look at hosts is shown: for each a few lines of facts, then what was found, the worst first."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from rich.table import Table
from rich.text import Text

from stackctl.core.doctor.markdown import markdown
from stackctl.core.doctor.summary import CARD_COLUMNS, card_rows, rows
from stackctl.core.doctor.values import SEVERITIES, Facts, Finding, HostReport, Report
from stackctl.output.console import Console

STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def show_doctor(console: Console, report: Report) -> None:
    for number, host in enumerate(report.hosts):
        if number:
            console.print()
        _show_host(console, host)
    console.print()
    _show_sum(console, report)


def report_text(report: Report) -> str:
    """Markdown, with the time in the reader's own zone."""
    return markdown(report, datetime.fromtimestamp(report.when).astimezone().isoformat(" ", "seconds"))


def _show_host(console: Console, host: HostReport) -> None:
    roles = f": {', '.join(host.roles)}" if host.roles else ": no role"
    console.print(Text.assemble((host.name, "bold"), f" ({host.address}, {host.purpose}){roles}"))
    if host.facts is not None:
        _show_facts(console, host.facts)
    for finding in host.findings:
        show_finding(console, finding)
    if not host.findings:
        console.print(Text("  nothing to find fault with", style="green"))


def _show_facts(console: Console, facts: Facts) -> None:
    table = Table.grid(padding=(0, 2))
    for name, text in rows(facts):
        table.add_row(Text("  " + name, style="dim"), Text(text))
    console.print(table)
    if facts.cards:
        cards = console.table(*CARD_COLUMNS)
        for row in card_rows(facts):
            cards.add_row(*(Text(cell) for cell in row))
        console.print(cards)


def show_finding(console: Console, finding: Finding) -> None:
    message = finding.message.replace("\n", "\n      ")  # a line of its own never looks like a finding
    head = Text.assemble((f"  {finding.severity}", STYLES[finding.severity]), f" {finding.id}: {message}")
    console.print(head)
    for one in finding.evidence:
        console.print(Text(f"      $ {one.command}", style="dim"))
        for line in one.output.splitlines():
            console.print(Text(f"      {line}", style="dim"))
    if finding.remedy:
        console.print(Text.assemble(("      remedy: ", "cyan"), finding.remedy))


def _show_sum(console: Console, report: Report) -> None:
    counted = Counter(finding.severity for finding in report.findings)
    words = [
        f"{counted[name]} {name}{'s' * (counted[name] != 1 and name != 'info')}" for name in SEVERITIES if counted[name]
    ]
    hosts = f"{len(report.hosts)} host{'s' * (len(report.hosts) != 1)}"
    style = "bold red" if counted["error"] else "green"
    console.print(
        Text.assemble((f"{report.stack}: ", "bold"), f"{hosts}, ", (", ".join(words) or "no findings", style))
    )
