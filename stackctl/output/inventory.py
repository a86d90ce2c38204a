"""How an inventory looks: totals, a table by area, then what touches the things that go wrong under load."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stackctl.commands.review.inventory import Inventory, SavedPage
from stackctl.core.patches.difftext import visible
from stackctl.core.review.inventory import Carried
from stackctl.core.review.risk import grouped
from stackctl.output.console import Console

STYLES = {"high": "bold red", "medium": "yellow", "low": "green", "none": "dim"}
MARKS = {"batched indexing": "I", "buffers": "B", "synchronisation": "S", "scheduling": "Q"}
MOST_REASONS = 20  # patches whose reasons are listed
NARROW = 110  # columns below which a row is written as lines


def show_inventory(console: Console, value: Inventory) -> None:
    if value.shape.name_only:
        console.raw("".join(f"{one.name}\n" for one in value.patches))
        return
    console.print(Text(_head(value), "bold"))
    console.print()
    if console.width < NARROW or value.shape.stat:
        for one in _in_order(value):
            _show_lines(console, one, stat=value.shape.stat)
    elif value.patches:
        _show_table(console, value)
    if value.patches:
        _show_risky(console, value)


def show_page(console: Console, value: SavedPage) -> None:
    console.print(f"{value.file}: {_count(value.patches)}, {value.size / 1024:.0f} KiB")


def _head(value: Inventory) -> str:
    added, removed = sum(one.added for one in value.patches), sum(one.removed for one in value.patches)
    files = len({file.path for one in value.patches for file in one.files})
    name = f"{value.stack} {value.variant}".strip()
    where = f" in area {value.shape.area}" if value.shape.area else ""
    if not value.patches:
        return f"{name} carries no patches{where} on {value.base}"
    carried = f"{name} carries {_count(len(value.patches))}{where} on {value.base}"
    return f"{carried}: +{added} -{removed} in {files} file{'s'[: files != 1]}"


def _in_order(value: Inventory) -> list[Carried]:
    """Area by area, the largest first; inside of one as the queue has them."""
    place = {area.area: number for number, area in enumerate(value.areas)}
    return sorted(value.patches, key=lambda one: (place[one.area], one.order))


def _show_table(console: Console, value: Inventory) -> None:
    table = console.table("area", ">#", "patch", "title", ">+", ">-", ">age", "upstream", "risk", "may go when")
    table.columns[2].overflow = "fold"
    before = ""
    for one in _in_order(value):
        area = "" if one.area == before else visible(one.area)
        before = one.area
        table.add_row(
            Text(area, "bold cyan"), str(one.order), one.name, visible(one.title or "no title"), str(one.added),
            str(one.removed), _age(one), _upstream(one), Text(_risk(one), STYLES[one.level]), visible(one.may_go),
        )  # fmt: skip
    console.print(table)


def _show_lines(console: Console, one: Carried, *, stat: bool) -> None:
    console.print(f"{one.order}  {one.name}  {visible(one.area)}, +{one.added} -{one.removed}, age {_age(one)}")
    console.print(f"   {visible(one.title or 'no title')}")
    console.print(Text.assemble(f"   upstream {_upstream(one)}; risk ", (_risk(one), STYLES[one.level])))
    console.print(f"   may go when: {visible(one.may_go)}")
    for file in one.files if stat else ():
        console.print(f"   {visible(file.path)}  +{file.added} -{file.removed}  {file.area}")


def _show_risky(console: Console, value: Inventory) -> None:
    console.print()
    console.print("What goes wrong under load, and who touches it", style="bold")
    for kind, names in value.touching.items():
        shown = ", ".join(names[:MOST_REASONS]) or "no patch"
        more = f" and {len(names) - MOST_REASONS} more" if len(names) > MOST_REASONS else ""
        console.print(f"  {kind} ({MARKS[kind]}): {shown}{more}")
    risky = sorted((one for one in value.patches if one.reasons), key=lambda one: (-one.score, one.order))
    if risky:
        console.print()
        console.print("Why, the riskiest first (0 to 10; lines of the files as the patches state them)", style="bold")
    for one in risky[:MOST_REASONS]:
        console.print(Text.assemble(f"  {one.score:4.1f} ", (one.level, STYLES[one.level]), f"  {one.name}"))
        for line in (*grouped(one.reasons), *_said(one)):
            console.print(f"        {visible(line)}")

    if len(risky) > MOST_REASONS:
        least = risky[MOST_REASONS].score
        console.print(f"  and {len(risky) - MOST_REASONS} more at {least:.1f} and below; --html and --json have all")


def _said(one: Carried) -> Iterator[str]:
    if one.said and one.level in ("medium", "high") and one.said.lower().startswith(("medium", "high")):
        yield f"its header says: {one.said}"


def _risk(one: Carried) -> str:
    marks = "".join(MARKS[kind] for kind in one.touches)
    return f"{one.score:.1f} {one.level}" + (f" {marks}" if marks else "") if one.score else "none"


def _upstream(one: Carried) -> str:
    """The state, and of an address what tells it apart."""
    if one.conflict:
        return "does not apply"
    last = (one.link or "").rstrip("/").rpartition("/")[2]
    number = f" #{last}" if last.isdigit() else ""
    return visible(f"{one.upstream or 'not said'}{number}")


def _age(one: Carried) -> str:
    return "no date" if one.age is None else f"{one.age} d"


def _count(number: int) -> str:
    return f"{number} patch{'es'[: 2 * (number != 1)]}"
