"""How a moved or a dropped patch is told: the change, the proof, and who else reads the changed file."""

from __future__ import annotations

from stackctl.commands.queue.requeue import Requeued
from stackctl.core.names import SGLANG
from stackctl.output.console import Console
from stackctl.output.graph import hint_line


def show_requeued(console: Console, result: Requeued) -> None:
    if result.diff:
        console.raw(result.diff)
    proof = result.proof
    same = "" if result.dropped else "the same "
    for source, tree in proof.trees.items():
        what = f"{same}tree {tree}" if source == SGLANG else f"{source}: {same}tree {tree}"
        console.print(f"proved by the walk and by git: {what}", style="green")
    for name in proof.rewritten:
        console.print(f"  {name} has new line numbers: its old ones would fit elsewhere now")
    for other in proof.others:
        lost = f" and loses {', '.join(other.lost)}" if other.lost else ""
        end = (
            "proved too"
            if other.proved
            else f"not proved, its base is another: `stackctl patches verify {other.stack}`"
        )
        console.print(f"  {other.stack} reads the same file{lost}; {end}", style=None if other.proved else "yellow")
    for hint in result.hints:
        console.print(hint_line(hint), style="yellow")
    for file in result.deleted:
        console.print(f"  {'deleted' if result.written else 'would delete'} {file}")
    for file in result.kept:
        console.print(f"  {file} stays: a stack still names it")
    console.print(_done(result))


def _done(result: Requeued) -> str:
    if not result.diff:
        return f"{result.patch} stands there already: nothing to do"
    if result.dropped:
        names = ", ".join(result.dropped)
        return f"{'dropped' if result.written else 'would drop'} {names} from {result.stack}"
    place = result.order.index(result.patch) + 1
    return f"{'moved' if result.written else 'would move'} {result.patch} to place {place} of {len(result.order)}"
