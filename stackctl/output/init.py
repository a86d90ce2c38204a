"""How a new workspace is told: what was written, and what to do next."""

from __future__ import annotations

from stackctl.commands.init import InitResult
from stackctl.output.console import Console


def show_init(console: Console, result: InitResult) -> None:
    if result.dry_run and result.diff:
        console.raw(result.diff)
    for file in result.written:
        console.print(f"  {'would write' if result.dry_run else 'written'} {file}")
    if not result.written:
        console.print(f"{result.folder} is a workspace already, and its schema is the newest: nothing to do")
    if result.stack is not None and not result.dry_run:
        console.print(f"Change what {result.stack} marks with `<-`, then run: stackctl check {result.stack}")
