"""How a bisect's report, log and status look."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.text import Text

from stackctl.commands.bisect.views import LogView, StatusView, UndoView
from stackctl.core.bisect.report import BisectReport, Interval, RunRow
from stackctl.output.console import Console

HEADS = {
    "CONFIRMED": "confirmed by A/B",
    "LIKELY": "likely, not confirmed",
    "SET": "one of several that could not be told apart",
    "BASE": "the base itself fails",
    "NEVER FAILS": "no failure to search for",
    "BUDGET": "paused: the budget is used up",
    "INFRA": "paused: the infrastructure, not a change",
    "RUNNING": "not finished",
}
MOST_BELIEVED = 5
EMPTY: tuple[object, ...] = (None, "", (), [], {}, False)
COUNTED = {"fail": "bad", "pass": "clean", "neither": "no answer", "other": "another fault", "unbuildable": "no build"}


def show_report(console: Console, value: BisectReport) -> None:
    """The verdict first, then what speaks for it, then what to do."""
    console.print()
    console.print(Text.assemble((value.kind, "bold"), f"  {HEADS.get(value.kind, '')}"))
    if value.culprit:
        console.print(Text.assemble("culprit: ", (" + ".join(value.culprit), "bold red")))
    for other in value.alike:
        console.print(f"  not told apart from: {other}")
    if value.reason and value.kind != "CONFIRMED":  # its factor is told with the odds
        console.print(f"why: {value.reason}")
    if value.signature:
        console.print(f"the fault: {value.signature}")
        _show_suspects(console, value)
        _show_rates(console, value.p, value.q)
    _show_runs(console, value)
    _show_lines(console, *_prior(value))
    for title, lines in (
        ("look at the diff", value.look),
        ("see it again", tuple(f"{r.command}    # {r.arm}: {r.expect}" for r in value.reproduce)),
        ("not tested", value.untested),
        ("notes", value.notes),
    ):
        _show_lines(console, title, lines)
    console.print(f"events: {value.file}", style="dim")


def _show_suspects(console: Console, value: BisectReport) -> None:
    table = console.table(">probability", "hypothesis")
    for suspect in value.suspects:
        table.add_row(f"{suspect.probability:.4f}", suspect.label)
    console.print()
    console.print(table)
    if value.odds is not None:
        console.print(f"odds against the runner-up: {_odds(value.odds)} to 1")
    if value.bayes_factor is not None:
        console.print(f"confirmation: Bayes factor {_odds(value.bayes_factor)}")


def _prior(value: BisectReport) -> tuple[str, tuple[str, ...]]:
    """What was thought likely before the first run, so that a reader can tell evidence from belief."""
    if value.prior == "uniform":
        return "prior", ("uniform: every element and every pair alike, risk does not count",)
    lines = []
    for one in value.believed[:MOST_BELIEVED]:
        lines.append(f"{one.weight:.2f}  {one.element}")
        lines += [f"      {reason}" for reason in one.reasons]
    rest = len(value.believed) - MOST_BELIEVED
    more = (f"and {rest} more below {value.believed[MOST_BELIEVED].weight:.2f}",) if rest > 0 else ()
    return "prior, by what a patch touches (1: nothing that matters under load, 4: the most)", (*lines, *more)


def _odds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}" if value < 1e6 else "more than a million"


def _show_rates(console: Console, p: Interval, q: Interval) -> None:
    console.print(f"fails with it: {_interval(p)}; without it: {_interval(q)} (mean, 90 % interval, per start)")


def _interval(rate: Interval) -> str:
    return f"{rate.mean:.1%} ({rate.low:.1%} to {rate.high:.1%})"


def _show_runs(console: Console, value: BisectReport) -> None:
    if not value.runs:
        return
    console.print()
    console.print("elements, in the order of the marks (● in, · left out):", style="dim")
    for number, name in enumerate(value.members, 1):
        console.print(f"{number:3}  {name}", style="dim")
    table = console.table(">run", "part", "elements", "counts as", "seen", ">minutes")
    for row in value.runs:
        marks = "".join("●" if on else "·" for on in row.marks)
        style = {"fail": "red", "pass": "green"}.get(row.counted, "yellow")
        table.add_row(
            str(row.number), row.phase, marks, Text(COUNTED[row.counted], style), _seen(row), f"{row.minutes:.2f}"
        )
    console.print(table)
    console.print(f"{len(value.runs)} runs, {value.minutes:.1f} minutes")


def _seen(row: RunRow) -> str:
    return "" if row.counted == "pass" else row.shown


def _show_lines(console: Console, title: str, lines: tuple[str, ...]) -> None:
    if not lines:
        return
    console.print()
    console.print(f"{title}:", style="bold")
    console.raw("".join(f"  {line}\n" for line in lines))


def show_status(console: Console, value: StatusView) -> None:
    show_report(console, value.report)
    console.print(f"next: {value.next}")


def show_undo(console: Console, value: UndoView) -> None:
    console.print(f"run {value.run} of session {value.session} counts no more; next: {value.status.next}")


def show_log(console: Console, value: LogView) -> None:
    """One line an event."""
    for event in value.events:
        when = datetime.fromtimestamp(event["at"], UTC).strftime("%H:%M:%S")
        rest = {key: item for key, item in event.items() if key not in ("event", "at") and item not in EMPTY}
        detail = "  ".join(f"{key}={_short(item)}" for key, item in rest.items())
        console.raw(f"{when}  {event['event']:9} {detail}")
    if value.torn:
        console.print("the last line was torn and does not count", style="yellow")
    console.print(value.file, style="dim")


def _short(item: object) -> str:
    if isinstance(item, dict):
        text = ",".join(f"{key}:{_short(value)}" for key, value in item.items() if value not in EMPTY)
    elif isinstance(item, (list, tuple)):
        text = ",".join(map(_short, item))
    else:
        text = f"{item:.3g}" if isinstance(item, float) else str(item)
    return text if len(text) <= 160 else text[:157] + "…"
