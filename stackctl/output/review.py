"""How a difference of queues looks: one line a patch, then each change with its range-diff and its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.commands.review.diff import BaseDiff, QueueChange
from stackctl.core.patches.difftext import FileDiff, stat, totals
from stackctl.core.review.compare import Change
from stackctl.core.review.markdown import markdown
from stackctl.output.console import Console
from stackctl.output.paint import Paint

STYLES = {"added": "green", "dropped": "red", "changed": "yellow", "context": "yellow", "unknown": "magenta"}


def show_diff(console: Console, result: BaseDiff) -> None:
    """A diff that `git apply` takes; in a pipe byte for byte."""
    if result.variant:
        console.note(f"{result.stack} {result.variant}")
    paint = console.paint()
    if result.shape.name_only:
        console.page("".join(f"{paint.safe(file.path)}\n" for file in result.files))
    elif result.shape.stat:
        console.page(paint.safe(stat(result.files)))
    else:
        console.page(paint.diff(result.text))


def show_markdown(console: Console, result: QueueChange) -> None:
    console.raw(markdown(result))


def show_change(console: Console, result: QueueChange) -> None:
    paint = console.paint()
    if result.shape.name_only:
        console.page("".join(f"{one.name}\n" for one in result.changes))
        return
    parts = [*_summary(paint, result)]
    if result.shape.stat:
        parts += ["\n", paint.safe(stat(result.files))] if result.files else []
    else:
        parts += _details(paint, result)
    console.page("".join(parts))


def _summary(paint: Paint, result: QueueChange) -> Iterator[str]:
    yield paint.styled(f"{result.old} -> {result.new}", "bold") + "\n"
    if not result.changes and not result.facts:
        yield f"no difference: {_count(result.equal, 'patch', 'patches')}, all the same\n"
    for fact in result.facts:
        yield f"  {paint.safe(fact)}\n"
    wide = max((len(one.name) for one in result.changes), default=0)
    for one in result.changes:
        words = f"{one.word:16} {_place(one):>7}  {one.name:{wide}}  {one.title or 'no title'}"
        yield f"  {paint.styled(words, *([STYLES[one.kind]] if one.kind in STYLES else []))}\n"
    if result.changes and result.equal:
        yield f"  {_count(result.equal, 'other patch is', 'other patches are')} the same\n"
    for note in result.notes:
        yield paint.styled(f"  note: {note}", "yellow") + "\n"
    if result.files:
        yield f"  tree: {totals(result.files)}"
        yield f"; {result.elsewhere} more by the base alone\n" if result.elsewhere else "\n"
    elif result.old_tree and result.old_tree == result.new_tree:
        yield f"  tree: the same, {result.new_tree}\n"


def _place(one: Change) -> str:
    if one.moved:
        return f"{one.old_order} -> {one.new_order}"
    return str(one.new_order or one.old_order)


def _details(paint: Paint, result: QueueChange) -> Iterator[str]:
    """Each change with the files that it touches, each file once; then what no change explains."""
    left = {file.path: file for file in result.files}
    for one in result.changes:
        files = [left.pop(path) for path in one.files if path in left]
        if not one.range_diff and not one.notes and not files and not one.was:
            continue
        yield "\n" + paint.styled(f"{one.name}: {one.said}", "bold", "cyan") + "\n"
        yield from (f"  {paint.safe(note)}\n" for note in one.notes)
        if one.range_diff and one.kind != "header":
            yield paint.styled("  the patch, old and new:", "dim") + "\n"
            yield paint.range_diff(one.range_diff)
        if files:
            yield paint.styled(f"  the tree, {_names(files)}:", "dim") + "\n"
            yield from (paint.diff(file.text) for file in files)
    if left:
        yield "\n" + paint.styled("the rest of the tree", "bold", "cyan") + "\n"
        yield from (paint.diff(file.text) for file in left.values())


def _names(files: Sequence[FileDiff]) -> str:
    return f"{len(files)} file{'s'[: len(files) != 1]}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
