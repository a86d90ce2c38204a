"""A report that can be attached to an issue: findings first, then facts, then what the commands printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackctl.core.doctor.summary import CARD_COLUMNS, card_rows, rows
from stackctl.core.doctor.values import Command, Finding, HostReport, Report

LONGEST = 20_000  # characters of one output: an issue takes 65536 in all
SKIPPED = re.compile(r"^\s*<(?:encoder_stats|fbc_stats|ibmnpu|supported_clocks)>.*?</\w+>\n", re.S | re.M)


def markdown(report: Report, when: str) -> str:
    """`when`: the time of the report, for a reader."""
    return "\n".join(_lines(report, when)) + "\n"


def _lines(report: Report, when: str) -> Iterator[str]:
    yield f"# stackctl doctor {report.stack}"
    yield ""
    yield f"{when}, stackctl {report.stackctl}, {len(report.hosts)} host{'s' * (len(report.hosts) != 1)}. Keys, tokens "
    yield "and values of secrets are shown as `***`; look through it all the same before you publish it."
    for host in report.hosts:
        yield from ("", f"## {host.name} ({host.address}, {host.purpose})", "")
        yield f"Roles: {', '.join(host.roles) or 'none'}. Looked in {host.seconds:.1f} s."
        for finding in host.findings:
            yield from _finding(finding)
        if not host.findings:
            yield from ("", "No findings.")
        yield from _facts(host)
        for command in host.commands:
            yield from _command(command)


def _finding(finding: Finding) -> Iterator[str]:
    yield from ("", f"### {finding.severity}: {finding.id}", "", _text(finding.message))
    for one in finding.evidence:
        yield from ("", *_fenced(f"$ {one.command}\n{one.output}"))
    if finding.remedy:
        yield from ("", f"What to do: {_text(finding.remedy)}")


def _facts(host: HostReport) -> Iterator[str]:
    if host.facts is None:
        return
    yield from ("", "### facts", "", "| what | how it is |", "|---|---|")
    yield from (f"| {name} | {_cell(text)} |" for name, text in rows(host.facts))
    if cards := card_rows(host.facts):
        yield from (
            "",
            "| " + " | ".join(name.lstrip(">") for name in CARD_COLUMNS) + " |",
            "|---" * len(CARD_COLUMNS) + "|",
        )
        yield from ("| " + " | ".join(map(_cell, row)) + " |" for row in cards)


def _command(command: Command) -> Iterator[str]:
    typed = " ".join(command.argv)
    if command.missing:
        return
    state = f"exit {command.code}" if command.code is not None else "cut off" if command.cut else "not run"
    said = SKIPPED.sub("", command.stdout) + (f"\n{command.stderr}" if command.stderr.strip() else "")
    if not said.strip():
        return
    cut = f"\n… {len(said) - LONGEST} more characters" if len(said) > LONGEST else ""
    yield from (
        "",
        "<details><summary><code>" + _html(typed) + f"</code> ({state}, {command.seconds:.1f} s)</summary>",
        "",
    )
    yield from (*_fenced(said[:LONGEST].strip("\n") + cut), "", "</details>")


def _fenced(text: str) -> Iterator[str]:
    """A fence longer than any that the text has."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    yield from (fence + "text", text, fence)


def _text(words: str) -> str:
    """Words of a host in a line of prose: no markup, no mention, no line of its own."""
    return re.sub(r"([\\`*_<>\[\]@#|])", r"\\\1", " ".join(words.split()))


def _cell(words: str) -> str:
    return _text(words)


def _html(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
