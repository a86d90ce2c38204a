"""How a patch queue looks: its list, one patch, the whole as a diff, and the verdicts of a verification."""

from __future__ import annotations

from stackctl.commands.queue.look import PatchList, PatchVerdict, ShownPatch, VerifyReport
from stackctl.commands.queue.verified import RecordReport
from stackctl.core.names import SGLANG, PatchName
from stackctl.core.patches.values import Need
from stackctl.core.review.rows import Row
from stackctl.output.console import Console

NARROW = 100  # columns below which a row is written as lines
STYLES = {"clean": "green", "offset": "yellow", "conflict": "red"}


def show_list(console: Console, result: PatchList) -> None:
    if result.variant:
        console.print(f"{result.stack} {result.variant}", style="yellow")
    if not result.rows:
        console.print(f"{result.stack} has no patches")
        return
    if console.width < NARROW:
        _show_lines(console, result)
        return
    several = bool(result.sources)
    columns = ("source",) if several else ()
    table = console.table(
        ">#", "patch", *columns, "title", "area", ">files", ">+", ">-", "upstream", _needs_head(result)
    )
    table.columns[1].overflow = "fold"  # a name must be there to be copied
    for row in result.rows:
        needs = ", ".join(_needs(result, row))
        state = row.conflict or row.upstream or "not said"
        numbers = (str(row.files), str(row.added), str(row.removed))
        source = (row.source,) if several else ()
        table.add_row(
            str(row.order), row.name, *source, row.title or "no title", row.area or "not said", *numbers, state, needs,
            style="red" if row.conflict else None,
        )  # fmt: skip
    console.print(table)


def _show_lines(console: Console, result: PatchList) -> None:
    for row in result.rows:
        console.print(
            f"{row.order}  {row.name}  +{row.added} -{row.removed} in {row.files} file{'s'[: row.files != 1]}"
        )
        console.print(f"   {row.title or 'no title'}")
        source = f"for {row.source}, " if result.sources else ""
        console.print(f"   {source}{row.area or 'no area'}, upstream {row.upstream or 'not said'}")
        if _needs(result, row):
            console.print(f"   {_needs_head(result)} {', '.join(_needs(result, row))}")
        if row.conflict:
            console.print(f"   {row.conflict}", style="red")


def _needs_head(result: PatchList) -> str:
    return "needs" if result.closures is None else "needs in all"


def _needs(result: PatchList, row: Row) -> tuple[PatchName, ...]:
    return row.needs if result.closures is None else result.closures[row.name]


def show_patch(console: Console, result: ShownPatch) -> None:
    """What stackctl knows about it goes before the file, in lines that a patch reader skips."""
    lines = [
        f"{result.row.name}: patch {result.row.order} of the queue, +{result.row.added} -{result.row.removed}",
        f"file: {result.file}",
        f"sha256: {result.row.sha256}",
        *([f"source: {result.row.source}"] if result.row.source != SGLANG else []),
        f"strip level: {result.strip}",
        *(f"needs {need.needs}: {_why(need)}" for need in result.needs),
        *(f"needed by {need.patch}: {_why(need)}" for need in result.needed_by),
        *(f"offset: {each.file}, hunk {each.hunk}, {each.offset:+d}, at {each.at}" for each in result.offsets),
        *(f"remark: {remark}" for remark in result.row.remarks),
    ]
    if result.row.conflict:
        lines.append(f"conflict: {result.row.conflict}")
    console.raw("".join(f"# {line}\n" for line in lines) + "\n" + result.text)


def _why(need: Need) -> str:
    if need.reason == "declared":
        return "its header says so"
    reasons = {
        "content": "it changes lines that the other wrote",
        "context": "it stands beside lines that the other wrote",
        "tombstone": "it reaches over lines that the other deleted",
        "file": "the other made, moved or took away the file",
    }
    return f"{reasons[need.reason]} ({need.file}, line {need.line} of the patch)"


def show_verify(console: Console, result: VerifyReport) -> None:
    if result.variant:
        console.print(f"{result.stack} {result.variant}", style="yellow")
    for verdict in result.verdicts:
        _show_verdict(console, verdict)
    if result.tree is None:
        console.print("the queue does not apply as a whole", style="red")
        return
    for name, (tree, regrouped) in {"": (result.tree, result.regrouped), **result.sources}.items():
        what = f"{name} tree {tree}".strip()
        if regrouped is None:
            console.print(f"{what}; another order is not possible at the edges of a file", style="green")
        elif tree == regrouped:
            console.print(f"{what}, the same in another order of independent patches", style="green")
        else:
            console.print(f"{what}, but {regrouped} in another order: a need is not declared", style="red")


def show_recorded(console: Console, result: RecordReport) -> None:
    show_verify(console, result.report)
    for file in result.recorded:
        console.print(f"{file}: {'would record' if result.dry_run else 'recorded'} {result.day}")
    if not result.recorded:
        console.print("nothing to record" if not result.exit else "nothing is recorded: not all is proved")


def _show_verdict(console: Console, verdict: PatchVerdict) -> None:
    others = [name for name in verdict.closure if name != verdict.name]
    needs = f"  with {', '.join(others)}" if others else ""
    needs += f"  for {verdict.source}" if verdict.source != SGLANG else ""
    console.print(f"{verdict.verdict:9} {verdict.name}{needs}", style=STYLES[verdict.verdict])
    if verdict.reason:
        console.print(f"          {verdict.reason}")
    if verdict.hint:
        console.print(f"          {verdict.hint}")
    for each in verdict.offsets:
        console.print(f"          {each.file}, hunk {each.hunk}: {each.offset:+d}, at line {each.at}")
    for remark in verdict.remarks:
        console.print(f"          remark: {remark}")
