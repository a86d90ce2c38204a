"""How the findings of a raw command look: as those of a stack, with a caret under the word of a command line."""

from __future__ import annotations

from rich.text import Text

from stackctl.commands.linting.command import LintCommandResult
from stackctl.core.lint.values import Finding
from stackctl.errors import InvalidFile
from stackctl.output.console import Console
from stackctl.output.lint import STYLES, counted, show_findings

BEFORE, AFTER = 30, 60  # characters of a long command around the word
SHOWN_UNKNOWN = 8


def show_lint_command(console: Console, result: LintCommandResult) -> None:
    """The stack alone goes to stdout when it is asked for there; all else is prose then."""
    prose = console
    if result.stack and result.written is None:
        prose = Console()
        prose.as_json = True
        console.raw(result.stack)
    _head(prose, result)
    if result.line:
        for one in result.findings:
            _pointed(prose, result.line, one)
    else:
        show_findings(prose, result.findings, result.engines)
    _silences(prose, result)
    if result.refused:
        prose.error(InvalidFile(result.refused, "no stack was made of it: a stack cannot say this"))
    if result.written:
        prose.print(f"{result.written}: written; `stackctl check {result.written}` goes on from here")
    prose.print(counted(result.findings, ()) or "nothing found")


def _head(console: Console, result: LintCommandResult) -> None:
    roles = ", ".join(f"{one.id} (line {one.where.line})" if not result.line else one.id for one in result.launches)
    console.print(f"{result.source}: {roles}")
    console.print(f"  base   {result.base}" + (f", {result.why}" if result.why else ""))
    for model in dict.fromkeys(result.models):
        experts = f", experts {model.experts}" if model.experts else ""
        known = f"{model.family}{experts} (by its {model.source})" if model.family else ""
        console.print(f"  model  {known or 'not known: no rule of one model is asked; --model names it'}")
    if result.card is not None:
        console.print(f"  card   {result.card.arch}")
    else:
        console.print("  card   not known: no rule of one card is asked; --card names it")


def _pointed(console: Console, line: str, one: Finding) -> None:
    """The finding, and the part of the command that it is about."""
    console.print(Text.assemble((one.severity, STYLES[one.severity]), f" {one.rule}: {one.message}"))
    if one.where is not None and one.where.column is not None:
        row = line.split("\n")[(one.where.line or 1) - 1]
        column = one.where.column - 1
        begin = 0 if column <= BEFORE else row.rfind(" ", 0, column - BEFORE) + 1
        end = row.find(" ", column + AFTER)
        part = row[begin : end if end >= 0 else len(row)]
        dots = "… " if begin else ""
        width = len(one.key) or len(row[column:].split(" ", 1)[0])
        console.print(Text("    " + dots + part, no_wrap=True))
        console.print(
            Text("    " + " " * (len(dots) + column - begin) + "^" * max(1, width), style="cyan", no_wrap=True)
        )
    if one.hint:
        console.print(f"    hint: {one.hint}")


def _silences(console: Console, result: LintCommandResult) -> None:
    """What was not looked at, so that silence is not taken for praise."""
    for sentence in result.unknown[:SHOWN_UNKNOWN]:
        console.note(f"nothing is said about it: {sentence}", style=None)
    if len(result.unknown) > SHOWN_UNKNOWN:
        console.note(f"… and {len(result.unknown) - SHOWN_UNKNOWN} more that are not known", style=None)
    if result.unread and console.verbose:
        for sentence in result.unread:
            console.note(f"not read in the base: {sentence}", style=None)
