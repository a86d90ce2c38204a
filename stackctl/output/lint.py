"""How findings and rules look: one line a finding, as compilers do, so that editors jump to it; hints below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from stackctl.core.lint.ignore import Ignored
from stackctl.core.lint.values import Finding, Severity
from stackctl.output.console import Console

if TYPE_CHECKING:
    from stackctl.commands.linting.rules import RuleLine

STYLES: dict[Severity, str] = {"error": "bold red", "warning": "yellow", "info": "cyan"}
NAMES: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def show_findings(console: Console, findings: Sequence[Finding], engines: int) -> None:
    """`engines`: how many there are; a finding of all of them names none."""
    for one in findings:
        place = f"{one.where or one.key}: " if one.where or one.key else ""
        whom = f" ({', '.join(one.instances)})" if 0 < len(one.instances) < engines else ""
        console.print(Text.assemble(place, (one.severity, STYLES[one.severity]), f" {one.rule}: {one.message}{whom}"))
        if one.hint:
            console.print(f"    hint: {one.hint}")


def show_ignored(console: Console, ignored: Sequence[Ignored]) -> None:
    for each in ignored:
        console.print(Text(f"{each.finding.where}: ignored {each.finding.rule}: {each.finding.message}", style="dim"))
        console.print(Text(f"    because {each.reason}", style="dim"))


def counted(findings: Sequence[Finding], ignored: Sequence[Ignored]) -> str:
    """`1 error, 2 warnings, 1 note, 1 ignored`; empty when there is nothing."""
    counts = [(NAMES[kind], sum(one.severity == kind for one in findings)) for kind in STYLES]
    words = [f"{count} {name}{'s'[: count != 1]}" for name, count in counts if count]
    return ", ".join(words + ([f"{len(ignored)} ignored"] if ignored else []))


def show_rules(console: Console, rules: Sequence[RuleLine]) -> None:
    table = console.table("rule", "severity", "sglang", "looks for")
    for rule in rules:
        about = f"{rule.about} (inferred)" if rule.inferred else rule.about
        table.add_row(rule.id, Text(rule.severity, style=STYLES[rule.severity]), rule.versions or "all", about)
    console.print(table)


def show_rule(console: Console, rule: RuleLine) -> None:
    console.print(Text.assemble((rule.id, "bold"), f": {rule.about}"))
    inferred = "; inferred from sources or one report, so it may be wrong" if rule.inferred else ""
    console.print(f"{rule.severity}, sglang {rule.versions or 'of any version'}{inferred}")
    console.print()
    console.print(rule.why)
    if rule.evidence:
        console.print()
        console.print("evidence:")
        for one in rule.evidence:
            console.print(f"  {one}")
    console.print()
    console.print("to let one value through, on its line or alone above it:")
    console.print(f"  # stackctl: ignore {rule.id} because REASON")
    console.print("for the whole stack:")
    console.print(f"  lint: {{severity: {{{rule.id}: off}}}}    # or error, warning, info")
