"""A report that can be attached to an issue: findings first, then facts, then what the commands printed.

An issue takes 65536 characters. Findings and facts are whole; outputs share the room that is left, the longest are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stackctl.core.doctor.summary import CARD_COLUMNS, card_rows, rows
from stackctl.core.doctor.values import Command, Finding, HostReport, Report

LARGEST = 60_000  # characters of a report: somebody writes a few lines above it
# of nvidia-smi's XML, what is not there or nobody asks for: half of it
SKIPPED = re.compile(
    r"^\s*<(encoder_stats|fbc_stats|ibmnpu|supported_clocks|accounted_processes)>.*?</\1>\n"
    r"|^\s*<(\w+)>(?:N/A|Not Supported|None)</\2>\n",
    re.S | re.M,
)


def markdown(report: Report, when: str) -> str:
    """`when`: the time of the report, for a reader."""
    said = [len(_said(command)) for host in report.hosts for command in host.commands]
    longest = _shared(said, LARGEST - sum(len(line) + 1 for line in _lines(report, when, 0)))
    return "\n".join(_lines(report, when, longest)) + "\n"


def _shared(sizes: Sequence[int], room: int) -> int:
    """How long each may be, so that all fit: what the short ones leave is for the long ones."""
    left = max(room, 0)
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _lines(report: Report, when: str, longest: int) -> Iterator[str]:
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
            yield from _command(command, longest)


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


def _said(command: Command) -> str:
    said = SKIPPED.sub("", command.stdout) + (f"\n{command.stderr}" if command.stderr.strip() else "")
    return said.strip("\n") if said.strip() and not command.missing else ""


def _command(command: Command, longest: int) -> Iterator[str]:
    typed = " ".join(command.argv)
    state = f"exit {command.code}" if command.code is not None else "cut off" if command.cut else "not run"
    said = _said(command)
    if not said:
        return
    cut = f"\n… {len(said) - longest} more characters, in --json" if len(said) > longest else ""
    yield from (
        "",
        "<details><summary><code>" + _html(typed) + f"</code> ({state}, {command.seconds:.1f} s)</summary>",
        "",
    )
    yield from (*_fenced(said[:longest] + cut), "", "</details>")


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
