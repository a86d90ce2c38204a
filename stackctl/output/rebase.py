"""How a rebase looks: one line a patch with its verdict, then what each verdict stands on, then what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stackctl.commands.rebase.look import RebaseReport
from stackctl.commands.rebase.memory import FOLDER
from stackctl.commands.rebase.session import RebaseAborted
from stackctl.core.rebase.merge import Clash
from stackctl.core.rebase.verdict import EYES, LEAVES, VERDICTS, Rebased
from stackctl.output.console import Console

SIDE = 6  # lines of a side that are shown; the work folder has all of them
OFFSETS = 2  # places that are shown in the line of a patch
CLASHES = 4  # places of a patch that are shown


def show_rebase(console: Console, report: RebaseReport) -> None:
    old, new = report.labels
    console.print(f"{report.stack} {report.variant}".rstrip() + f": {old} -> {new}", style="bold")
    console.print(f"  old base tree {report.old_tree}")
    sha256 = getattr(report.new, "sha256", None)
    console.print(f"  new base tree {report.new_tree}" + (f", wheel sha256 {sha256}" if sha256 else ""))
    wide = max((len(patch.name) for patch in report.patches), default=0)
    for patch in report.patches:
        console.print(f"{patch.verdict:11} {patch.name:{wide}}  {_short(patch)}".rstrip(), style=_style(patch))
    for patch in report.patches:
        _details(console, patch)
    _undecided(console, report)
    console.print()
    _end(console, report)


def _style(patch: Rebased) -> str:
    if patch.wants_hands:
        return "red"
    return "yellow" if patch.verdict in EYES or patch.settled else "cyan" if patch.verdict in LEAVES else "green"


def _short(patch: Rebased) -> str:
    """What stands behind the verdict, in a few words."""
    words = {
        "clean": "applies as it is",
        "offset": ", ".join(f"{each.file}:{each.at} ({each.offset:+d})" for each in patch.offsets[:OFFSETS]),
        "merged": "three-way; look at the range-diff",
        "partly": "some of it is in the base; look at the range-diff",
        "moved": ", ".join(f"{old} is {new} now" for old, new in patch.moved.items()),
        "upstream": f"the base has it as {patch.commit}" if patch.commit else "",
        "contained": "the base has it: all of it can be taken back",
        "empty": "a three-way merge changes nothing",
        "retire": "; ".join(f"Remove-when: {text}" for text, held in patch.conditions if held),
        "conflict": f"in {_count(_paths(patch), 'file')}",
        "gone": f"the new base has no {', '.join(_paths(patch))}",
        "blocked": f"needs {', '.join(patch.lacking)}",
    }
    text = words[patch.verdict]
    return f"{text} [{patch.settled}]" if patch.settled else text


def _details(console: Console, patch: Rebased) -> None:
    lines = list(_lines(patch))
    if not lines and not patch.range_diff:
        return
    console.print()
    console.print(f"{patch.name}: {patch.verdict}", style=_style(patch))
    for line in lines:
        console.print(f"  {line}")
    if patch.range_diff:
        console.raw("".join(f"    {line}\n" for line in patch.range_diff.splitlines()))


def _lines(patch: Rebased) -> Iterator[str]:
    if len(patch.offsets) > OFFSETS:
        yield from (f"{each.file}, hunk {each.hunk}: {each.offset:+d}, at line {each.at}" for each in patch.offsets)
    if patch.alone:
        yield f"otherwise it would be: {patch.alone}"
    yield from patch.notes
    if patch.verdict != "moved":
        yield from (f"{old} is {new} now" for old, new in patch.moved.items())
    yield from _clash_lines(patch.clashes, sides=patch.alone is None)
    if patch.needed_by:
        yield f"needed by {', '.join(patch.needed_by)}"


def _clash_lines(clashes: Sequence[Clash], *, sides: bool) -> Iterator[str]:
    for clash in clashes[:CLASHES]:
        place = f":{clash.line}" if clash.line else ""
        yield f"{clash.path}{place}: {clash.kind}"
        if clash.line and sides:
            for title, side in (("new base", clash.ours), ("old base", clash.base), ("patch", clash.theirs)):
                yield from _side(title, side)
    if len(clashes) > CLASHES:
        yield f"and {_count(clashes[CLASHES:], 'place')} more"


def _side(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"  {title}: {_count(lines, 'line') if lines else 'nothing'}"
    yield from (f"    | {line}".rstrip() for line in lines[:SIDE])
    if len(lines) > SIDE:
        yield f"    | … {len(lines) - SIDE} more"


def _undecided(console: Console, report: RebaseReport) -> None:
    """Conditions that only a person can decide, of patches that stay."""
    open_ones = [
        (patch.name, text) for patch in report.patches if patch.stays for text, held in patch.conditions if held is None
    ]
    if open_ones:
        console.print()
        console.print("Remove-when that only a person can decide:")
        for name, text in open_ones:
            console.print(f"  {name}: {text}")


def _end(console: Console, report: RebaseReport) -> None:
    count = Counter(patch.verdict for patch in report.patches)
    counts = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict])
    stay = sum(patch.stays for patch in report.patches)
    hands = sum(patch.wants_hands for patch in report.patches)
    console.print(f"{_count(report.patches, 'patch', 'patches')}: {counts or 'none'}")
    wanting = f"; {hands} {'wants' if hands == 1 else 'want'} hands" if hands else ""
    console.print(f"{stay} in the new queue, tree {report.tree}{wanting}", style="red" if hands else "green")
    if report.written:
        console.print(f"written: {', '.join(report.files) or 'nothing; all of it was there'}", style="green")
    elif report.files:
        console.raw(report.diff)
        console.print(f"would be written: {', '.join(report.files)}")
    for hint in report.hints:
        console.print(hint)


def show_aborted(console: Console, result: RebaseAborted) -> None:
    console.print(f"the rebase of {result.stack} is given up")
    if result.diff:
        console.print(f"what was edited is in {result.diff}")
    if result.resolved:
        console.print(f"git remembers how {', '.join(result.resolved)} was settled ({FOLDER})")


def _paths(patch: Rebased) -> list[str]:
    return list(dict.fromkeys(clash.path for clash in patch.clashes))


def _count(items: Sequence[object], one: str, many: str = "") -> str:
    return f"{len(items)} {one if len(items) == 1 else many or one + 's'}"
