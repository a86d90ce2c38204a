"""How edits of patches look. The path of a work tree alone goes to stdout: `cd "$(stackctl patches edit NAME)"`."""

from __future__ import annotations

from stackctl.commands.authoring.begin import Aborted, Open
from stackctl.commands.authoring.refresh import Refreshed
from stackctl.commands.queue.proving import Verdict
from stackctl.core.authoring.edit import printable
from stackctl.output.console import Console

STYLES = {"clean": "green", "offset": "yellow", "conflict": "red", "not proved": "yellow"}
OUTCOMES = {
    "merged": "merged three-way: look at it",
    "conflict": "conflict: markers are in the file",
    "parts": "only some hunks fit; the others are in {path}.rej",
    "left out": "nothing of it fits",
}


def show_open(console: Console, result: Open) -> None:
    console.print(result.folder)
    if result.resumed:
        console.note(f"{result.name} of {result.stack} is open; its work tree is as you left it", style=None)
    else:
        below = f"after {result.behind[-1]}" if result.behind else "first of the queue"
        kind = "a new patch" if result.new else "its change is uncommitted there"
        console.note(f"{result.name} of {result.stack}, {below}: {kind}", style=None)
    _show_files(console, result)
    for each in result.merged:
        console.note(f"  {each.path}: {OUTCOMES[each.outcome].format(path=each.path)}")
        if each.reason:
            console.note(f"    git: {each.reason}", style=None)
    if any(each.outcome != "merged" for each in result.merged):
        console.note("the patch does not apply here any more: put in by hand what is missing")
    console.note(f"then: stackctl patches refresh {result.name} {result.stack}", style=None)


def show_all(console: Console, result: tuple[Open, ...]) -> None:
    if not result:
        console.print("no edit is open")
    for each in result:
        console.print(f"{each.name} of {each.stack}{', new' if each.new else ''}")
        console.print(f"  {each.folder}")
        if each.trouble:
            console.print(f"  {each.trouble}", style="red")
        for path in each.files:
            console.print(f"  changes {printable(path)}")
        for path in each.left_out:
            console.print(f"  ignores {printable(path)}", style="yellow")


def show_refreshed(console: Console, result: Refreshed) -> None:
    if not result.changed:
        console.print(f"{result.name}: no change, so its file keeps its bytes")
    _show_verdicts(console, result.verdicts)
    if result.dry_run:
        console.raw(result.diff)
    for file in result.written:
        console.print(f"{'would write' if result.dry_run else 'wrote'} {file}", style="green")
    for path in result.files if result.written else ():
        console.print(f"  changes {printable(path)}")
    if result.open:
        console.note(f"the edit is still open: {result.open}")
    else:
        console.note("the edit is closed, its work tree is gone", style=None)
    if result.exit and not result.written:
        console.note("mend the patches above first, or say --keep-going and edit them afterwards", style=None)
    elif result.exit:
        broken = next(verdict for verdict in result.verdicts if verdict.broken)
        console.note(f"then: stackctl patches edit {broken.name} {broken.stack or result.stack}", style=None)


def show_aborted(console: Console, result: Aborted) -> None:
    console.print(f"{result.name} of {result.stack} is closed; the queue is as it was")
    if result.diff:
        console.print(f"its diff is kept in {result.diff}")


def _show_files(console: Console, result: Open) -> None:
    for path in result.files:
        console.note(f"  changes {printable(path)}", style=None)
    for path in result.left_out:
        console.note(f"  ignored by git, and in no patch: {printable(path)}")


def _show_verdicts(console: Console, verdicts: tuple[Verdict, ...]) -> None:
    """What other stacks say in the same words is said once."""
    alike: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        key = (verdict.name, verdict.verdict, verdict.reason or "", "elsewhere" if verdict.stack else "")
        alike.setdefault(key, []).append(verdict)
    for same in alike.values():
        stacks = ", ".join(verdict.stack for verdict in same if verdict.stack)
        _show_verdict(console, same[0], f" in {stacks}" if stacks else "")


def _show_verdict(console: Console, verdict: Verdict, place: str) -> None:
    console.print(f"{verdict.verdict:10} {verdict.name}{place}", style=STYLES[verdict.verdict])
    for text in (verdict.reason, verdict.hint):
        if text:
            console.print(f"           {text}")
    for each in verdict.offsets:
        console.print(f"           {each.file}, hunk {each.hunk}: {each.offset:+d}, at line {each.at}")
