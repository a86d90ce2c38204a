"""How differences of queues and inventories look in a pipe."""

from __future__ import annotations

import pytest

from stackctl.commands.review.diff import QueueChange, Shape
from stackctl.commands.review.inventory import Inventory
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.difftext import by_file
from stackctl.core.patches.values import Queue
from stackctl.core.review.compare import Change
from stackctl.core.review.inventory import by_area, by_touch, carried
from stackctl.output.console import Console
from stackctl.output.inventory import show_inventory
from stackctl.output.review import show_change, show_markdown
from tests.core.review.test_page import NOW, PLAIN, RISKY

WHOLE = Shape()
TREE = TreeId("1" * 40)
DIFF = "".join(
    f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n" for name in ("x", "y")
)


def change(*changes: Change, shape: Shape = WHOLE, **more: object) -> QueueChange:
    values = {"facts": (), "equal": 1, "files": by_file(DIFF), "elsewhere": 0, "notes": ()} | more
    return QueueChange(
        "s@HEAD~1 (0123)", "s", "s", changes=changes, old_tree=TREE, new_tree=None, shape=shape, **values
    )  # type: ignore[arg-type]


CHANGED = Change(
    "changed",
    PatchName("a/b"),
    "A title",
    1,
    1,
    files=("x",),
    notes=("Risk: now low",),
    range_diff="@@ x\n-+a\n++b\n",
)
MOVED = Change("same", PatchName("c"), "Another", 4, 2, moved=True)


def test_a_change_with_its_range_diff_and_its_files_then_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    show_change(Console(), change(CHANGED, MOVED, facts=("flag a: 1 -> 2",), notes=("told",), elsewhere=3))
    assert capsys.readouterr().out == (
        "s@HEAD~1 (0123) -> s\n"
        "  flag a: 1 -> 2\n"
        "  changed                1  a/b  A title\n"
        "  moved             4 -> 2  c    Another\n"
        "  1 other patch is the same\n"
        "  note: told\n"
        "  tree: 2 files changed, 2 insertions(+), 2 deletions(-); 3 more by the base alone\n"
        "\n"
        "a/b: changed\n"
        "  Risk: now low\n"
        "  the patch, old and new:\n"
        "@@ x\n-+a\n++b\n"
        "  the tree, 1 file:\n"
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        "\n"
        "the rest of the tree\n"
        "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    )


def test_names_stat_and_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    show_change(Console(), change(CHANGED, MOVED, shape=Shape(name_only=True)))
    assert capsys.readouterr().out == "a/b\nc\n"
    show_change(Console(), change(CHANGED, shape=Shape(stat=True)))
    assert capsys.readouterr().out.endswith(
        "\n x | 2 +-\n y | 2 +-\n 2 files changed, 2 insertions(+), 2 deletions(-)\n"
    )
    show_change(Console(), change(files=()))
    assert capsys.readouterr().out == "s@HEAD~1 (0123) -> s\nno difference: 1 patch, all the same\n"


def test_markdown_goes_out_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show_markdown(Console(), change(CHANGED))
    assert capsys.readouterr().out.startswith("### Patch queue `s`\n")


def taken(shape: Shape = WHOLE) -> Inventory:
    rows = carried(Queue(TREE, (RISKY, PLAIN)), (RISKY, PLAIN), NOW)
    return Inventory("s", "", "sglang==0.5.15", TREE, rows, by_area(rows), by_touch(rows), shape)


def test_an_inventory_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show_inventory(Console(), taken())
    said = capsys.readouterr().out
    assert said.startswith("s carries 2 patches on sglang==0.5.15: +2 -0 in 2 files\n")
    assert (
        "memory-pool  1  pool/slots  Title of pool/slots  1  0  14 d  Submitted #1  4.0 medium IB  not said\n" in said
    )
    assert "  batched indexing (I): pool/slots\n" in said
    assert "   4.0 medium  pool/slots\n" in said


def test_an_inventory_on_a_narrow_screen_and_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_inventory(Console(), taken(Shape(name_only=True)))
    assert capsys.readouterr().out == "pool/slots\napi/name\n"
    monkeypatch.setenv("COLUMNS", "80")
    show_inventory(Console(), taken(Shape(stat=True)))
    said = capsys.readouterr().out
    assert "1  pool/slots  memory-pool, +1 -0, age 14 d\n" in said
    assert "   python/sglang/srt/mem_cache/memory_pool.py  +1 -0  memory-pool\n" in said
