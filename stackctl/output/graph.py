"""How the needs of a queue look: a tree of text, and the lines that tie one patch to another."""

from __future__ import annotations

from stackctl.commands.queue.graph import QueueGraph, Step, Why
from stackctl.core.patches.hints import Hint
from stackctl.core.review.evidence import Evidence
from stackctl.core.review.graph import HINT, tree
from stackctl.output.console import Console

SHOWN = 8  # lines of one need; a long hunk is clear from its first ones
REASONS = {
    "content": "it changes lines that the other wrote",
    "context": "it stands beside lines that the other wrote",
    "tombstone": "it reaches over lines that the other deleted",
    "file": "the other made, moved or took away the file",
    "declared": "its header says so",
}


def show_graph(console: Console, result: QueueGraph) -> None:
    graph = result.graph
    needs = sum(edge.reason != HINT for edge in graph.edges)
    patches = f"{len(graph.names)} patch{'es' * (len(graph.names) != 1)}"
    console.print(f"{graph.title}: {patches}, {needs} need{'s' * (needs != 1)}", style="bold")
    if graph.names:
        console.raw("\n".join(tree(graph)))
    for source in dict.fromkeys(result.sources.values()):
        names = ", ".join(name for name, one in result.sources.items() if one == source)
        console.print(f"for {source}: {names}")
    for hint in result.hints:
        console.print(hint_line(hint), style="yellow")
    for name in result.conflicts:
        console.print(f"{name} does not apply, so its needs are not known: `stackctl patches verify`", style="red")


def show_why(console: Console, result: Why) -> None:
    if result.answer == "apart":
        console.print(f"{result.patch} and {result.other} do not need each other", style="green")
        for path in result.shared:
            console.print(f"  both touch {path}, away from each other's lines")
    elif result.answer == "needed":
        console.print(f"{result.patch} does not need {result.other}; it is the other way round", style="yellow")
    for step in result.steps:
        _show_step(console, step)
    for hint in result.hints:
        console.print(hint_line(hint), style="yellow")


def _show_step(console: Console, step: Step) -> None:
    kinds = list(dict.fromkeys([step.need.reason, *(line.reason for line in step.lines)]))
    told = "; ".join(REASONS[kind] for kind in kinds)
    console.print(f"{step.need.patch} needs {step.need.needs}: {told}", style="bold")
    file = None
    for line in step.lines[:SHOWN]:
        if line.file and line.file != file:
            file = line.file
            console.print(f"  {file}")
        _show_line(console, step, line)
    if len(step.lines) > SHOWN:
        console.print(f"  and {len(step.lines) - SHOWN} lines more (--json has all)")


def _show_line(console: Console, step: Step, line: Evidence) -> None:
    """The line in the needing patch, and the one that it rests on."""
    rows = [(f"{step.files[0]}:{line.line}", line.text)]
    if line.other_line:
        rows.append((f"{step.files[1]}:{line.other_line}", line.other_text or ""))
    width = max(len(place) for place, _ in rows)
    for place, text in rows:
        console.raw(f"    {place:{width}}  {text}")
    if line.tree_line:
        where = "gone from the tree before" if line.reason == "tombstone" else "in the tree:"
        console.print(f"    {where} line {line.tree_line}")


def hint_line(hint: Hint) -> str:
    return (
        f"hint: {hint.patch} uses {hint.name} ({hint.file}:{hint.line}), which {hint.adds} adds "
        f"({hint.bound_in}:{hint.bound_at}); if it cannot do without, say `Needs: {hint.adds}` in its header"
    )
