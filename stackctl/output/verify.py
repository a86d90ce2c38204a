"""How a test's report looks: the verdict first, then what failed and where it shows, then numbers and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from stackctl.core.verify.report import Finding, TestReport, Timings
from stackctl.core.verify.verdict import percent
from stackctl.output.console import NO_BREAK, Console

SHOWN = 3
_STYLES = {"clean": "bold green", "bad": "bold red", "inconclusive": "bold yellow"}


def show_report(console: Console, report: TestReport) -> None:
    """Fits 60 columns."""
    console.print(Text.assemble((report.verdict, _STYLES[report.verdict]), f"  {report.reason}"))
    if report.hint:
        console.print(Text.assemble(("hint: ", "cyan"), report.hint))
    console.print(_subject(report))
    for line in _counts(report):
        console.print(line)
    for finding in _first_failures(report.findings):
        for text in _finding(finding, console.width):
            console.print(text)
    for line in (_timings(report.timings), f"evidence: {_near(report.evidence)}" if report.evidence else ""):
        if line:
            console.print(line)


def _subject(report: TestReport) -> str:
    where = f"{report.stack} {report.release or ''}".strip() if report.stack else ""
    variant = f" ({report.variant})" if report.variant else ""
    return "  ".join(word for word in (report.test, f"{where}{variant}", report.url) if word)


def _counts(report: TestReport) -> Iterable[str]:
    if report.kind == "command":
        return
    if report.requests:
        yield (
            f"{report.failed} of {report.requests} requests failed, "
            f"in {report.bad_bursts} of {report.bursts} bursts of {report.concurrency}"
        )
    if report.bound is not None:
        rate = report.failed / report.requests if report.requests else 0.0
        sure = f"at most {percent(report.bound)} ({percent(report.confidence)} confidence)"
        yield f"failure rate {percent(rate)}, {sure}"
    for name, classes in (
        ("failed", report.classes),
        ("proved nothing", report.inconclusive),
        ("warnings", report.warnings),
    ):
        if classes:
            yield f"{name}: {_histogram(classes)}"
    if report.control:
        yield "control: " + ", ".join(f"{name} {said}" for name, said in report.control.items())


def _near(path: str) -> str:
    """Relative, where that is shorter to read."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _histogram(classes: Mapping[str, int]) -> str:
    return ", ".join(f"{cls}{NO_BREAK}{count}" for cls, count in classes.items())


def _first_failures(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each of the first failed requests; when none is bad, of those that prove nothing."""
    for verdict in ("bad", "inconclusive"):
        first: dict[str | None, Finding] = {}
        for finding in findings:
            if finding.verdict == verdict:
                first.setdefault(finding.request, finding)
        if first:
            return list(first.values())[:SHOWN]
    return []


def _finding(finding: Finding, width: int) -> Iterable[Text]:
    name = "/".join(word for word in (finding.cls, finding.sub) if word)
    yield Text.assemble("  ", (finding.request or "run", "bold"), f" {name}: {finding.detail}")
    if finding.quote:
        yield from _quote(finding.quote, finding.mark, max(20, width - 6))


def _quote(quote: str, mark: tuple[int, int] | None, width: int) -> Iterable[Text]:
    """One line of what came, and below it carets under the place; wide characters count twice."""
    start, end = mark or (0, 0)
    while cell_len(quote) > width and end < len(quote):
        quote = quote[:-1]
    while cell_len(quote) > width and start > 0:
        quote, start, end = quote[1:], start - 1, end - 1
    while cell_len(quote) > width:
        quote, end = quote[:-1], min(end, len(quote) - 1)
    yield Text("    " + quote, style="dim", no_wrap=True)
    if end > start:
        carets = "^" * cell_len(quote[start:end])
        yield Text(" " * (4 + cell_len(quote[:start])) + carets, style="red", no_wrap=True)


def _timings(timings: Timings) -> str:
    words = []
    if timings.ttft_p50 is not None and timings.ttft_p99 is not None:
        words.append(f"first token {timings.ttft_p50:.2f} s (p99 {timings.ttft_p99:.2f})")
    if timings.gap_p99 is not None:
        words.append(f"gaps p99 {timings.gap_p99:.2f} s")
    if timings.tokens_per_second is not None:
        words.append(f"{timings.tokens_per_second:.0f} tokens/s")
    if timings.start_seconds is not None:
        words.append(f"started in {timings.start_seconds:.0f} s")
    return ", ".join(words)
