"""How pruning looks: what goes, why, how much room that gives."""

from __future__ import annotations

from rich.text import Text

from stackctl.commands.deploying.prune import PruneResult
from stackctl.output.console import Console


def show_prune(console: Console, result: PruneResult) -> None:
    if result.gone:
        table = console.table("what", "name", "why", "host", ">size")
        for one in result.gone:
            table.add_row(one.kind, one.name, one.why, one.host, size(one.size))
        console.print(table)
    verb = "would be freed" if result.dry_run else "freed"
    what = f"{size(result.size)} {verb}" if result.gone else "nothing to remove"
    console.print(f"{result.stack}: {what}")
    for note in result.notes:
        console.print(Text(note, style="yellow"))


def size(count: int) -> str:
    """`12.3 MiB`"""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
