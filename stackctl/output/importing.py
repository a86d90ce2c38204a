"""How an import and an export look: what became what, what was left out and why, and the proof."""

from __future__ import annotations

from itertools import groupby

from stackctl.commands.importing.export import Exported
from stackctl.commands.importing.verb import ImportReport
from stackctl.core.importing.decide import Note
from stackctl.output.console import Console

HEADINGS = {
    "modified": "differs from the base",
    "added": "not in the base",
    "missing": "missing there",
    "skipped": "no patch",
    "left-out": "left out",
    "nothing": "matches nothing, changes nothing: look at these",
    "other-step": "not replayed, and not about the tree as far as the words say",
    "not-replayed": "not replayed: look at these",
    "stale": "stale bytecode",
    "unexplained": "not explained: look at these",
    "unproved": "not proved: look at these",
    "offset": "placed elsewhere than stated",
    "remark": "remarks",
}
ALARMING = ("nothing", "not-replayed", "unexplained", "unproved")
MANY = 40  # lines of one heading, without -v


def show_import(console: Console, result: ImportReport) -> None:
    _notes(console, result.notes)
    if not result.patches:
        console.print("nothing to import: the source is what the patches would stand on", style="green")
        console.print(f"  tree {result.source_tree}")
        return
    verb = "would write" if result.dry_run else "wrote"
    for patch in result.patches:
        said = verb if patch.state == "new" else "is there already:"
        size = f"+{patch.added} -{patch.removed} in {patch.files} file{'s'[: patch.files != 1]}"
        console.print(f"{said} {patch.file}  {size}  from {patch.origin}")
        console.print(f"      {patch.title}" + (f"  ({patch.author})" if patch.author else ""))
    where = "behind the queue" if result.onto == "queue" else "before the queue, on the base"
    console.print(f"stands on tree {result.start_tree}, {where}")
    console.print(f"the source    {result.source_tree}", style="green")
    console.print(f"the patches   {result.result_tree}, the same tree", style="green")
    if result.stack_file:
        console.print(f"{'would add' if result.dry_run else 'added'} to {result.stack_file}:")
        console.raw(result.diff)
    else:
        console.print("lines for the stack's `patches` (`--add` writes them):")
        console.raw("".join(f"{line}\n" for line in result.lines))


def show_export(console: Console, result: Exported) -> None:
    if result.variant:
        console.print(f"{result.stack} {result.variant}", style="yellow")
    for name, commit in result.commits:
        console.print(f"{commit[:12]}  {name}")
    if result.left_out:
        console.print(f"left out, for other sources: {', '.join(result.left_out)}", style="yellow")
    verb = "would write" if result.dry_run else "wrote" if result.new else "is there already:"
    console.print(f"{verb} {len(result.patches)} patches: {result.target}", style="green")
    if result.tip:
        console.print(f"base {result.base}, tip {result.tip}, tree {result.tree}")


def _notes(console: Console, notes: tuple[Note, ...]) -> None:
    order = list(HEADINGS)
    for kind, group in groupby(sorted(notes, key=lambda note: order.index(note.kind)), key=lambda note: note.kind):
        found = list(group)
        console.print(f"{HEADINGS[kind]} ({len(found)}):", style="red" if kind in ALARMING else "yellow")
        shown = found if console.verbose else found[:MANY]
        for note in shown:
            console.print(f"  {note.where}: {note.text}" if note.where else f"  {note.text}")
        if len(found) > len(shown):
            console.print(f"  and {len(found) - len(shown)} more (-v shows all)")
