"""Who needs whom, over the real git: the graph of a queue, the lines of a need, hints, closures."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.commands.queue.graph import graph_of, save_drawing, why
from stackctl.commands.queue.look import list_patches
from stackctl.commands.selection import Selection
from stackctl.errors import StackctlError, UsageError
from stackctl.output.console import Console
from stackctl.output.graph import show_graph, show_why
from tests.commands.composing import Bench

S = Selection("s")
PY = "diff --git a/python/pkg/{0} b/python/pkg/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/python/pkg/{0}\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """`three` says that it needs `two`, which changes the line of `one`; `apart` touches the same file elsewhere."""
    made = Bench(tmp_path)
    made.edit("one", 5, "one")
    made.edit("two", 5, "two", old="one")
    made.edit("three", 9, "three", file="b.py", needs="two")
    made.edit("apart", 25, "apart")
    made.edit("told", 25, "told", file="b.py", needs="apart (it reads what apart writes)")
    made.stack_file("one", "two", "three", "apart", "told")
    return made


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_the_graph_of_a_stack(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    show_graph(Console(), graph_of(bench.ports(), S))
    assert said(capsys) == [
        "s: 5 patches, 3 needs",
        "one",
        "└─ two  [content, python/pkg/a.py]",
        "   └─ three  [declared]",
        "apart",
        "└─ told  [declared]",
    ]


def test_a_graph_is_of_the_variant(bench: Bench) -> None:
    found = graph_of(bench.ports(), Selection("s", without=("patch:two",)))
    assert found.graph.names == ("one", "apart", "told")
    assert [(edge.patch, edge.needs) for edge in found.graph.edges] == [("told", "apart")]


def test_why_over_another_patch(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    found = why(bench.ports(), "three", "patches/one.patch", S)
    assert (found.answer, [step.need.needs for step in found.steps]) == ("needs", ["two", "one"])
    show_why(Console(), found)
    assert said(capsys) == [
        "three needs two: its header says so",
        "    patches/three.patch:7  Needs: two",
        "two needs one: it changes lines that the other wrote; it reaches over lines that the other deleted",
        "  python/pkg/a.py",
        "    patches/two.patch:15  -one",
        "    patches/one.patch:15  -line 5",
        "    gone from the tree before line 5",
        "    patches/two.patch:15  -one",
        "    patches/one.patch:16  +one",
        "    in the tree: line 5",
    ]


def test_why_says_when_it_is_the_other_way_round(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    show_why(Console(), why(bench.ports(), "one", "two", S))
    assert said(capsys)[:2] == [
        "one does not need two; it is the other way round",
        "two needs one: it changes lines that the other wrote; it reaches over lines that the other deleted",
    ]


def test_why_says_when_there_is_no_need(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    show_why(Console(), why(bench.ports(), "apart", "two", S))
    assert said(capsys) == [
        "apart and two do not need each other",
        "  both touch python/pkg/a.py, away from each other's lines",
    ]


def test_why_of_what_a_header_says(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    show_why(Console(), why(bench.ports(), "told", "apart", S))
    assert said(capsys) == [
        "told needs apart: its header says so",
        "    patches/told.patch:7  Needs: apart (it reads what apart writes)",
    ]


def test_why_of_names_that_are_wrong(bench: Bench) -> None:
    with pytest.raises(UsageError, match="no patch tree"):
        why(bench.ports(), "tree", "one", S)


def test_a_hint_is_no_need_and_none_where_the_base_knows_the_name(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.base("python/other.py", "def known_name():\n    pass\n")
    for name, binds in (("adds", "new_name"), ("knows", "known_name")):
        bench.patch(name, f"Subject: x\n\n{PY.format(name + '.py')}@@ -0,0 +1,2 @@\n+def {binds}():\n+    pass\n")
    bench.patch("uses", f"Subject: x\n\n{PY.format('uses.py')}@@ -0,0 +1,2 @@\n+new_name()\n+known_name()\n")
    bench.stack_file("adds", "knows", "uses")
    found = graph_of(bench.ports(), S)
    assert [(hint.patch, hint.adds, hint.name) for hint in found.hints] == [("uses", "adds", "new_name")]
    assert [edge.reason for edge in found.graph.edges] == ["hint"]
    show_graph(Console(), found)
    assert said(capsys)[:3] == [
        "s: 3 patches, 0 needs",
        "adds",
        "└─ uses  [hint, python/pkg/uses.py:1 uses new_name]",
    ]
    again = why(bench.ports(), "uses", "adds", S)
    assert (again.answer, len(again.hints)) == ("apart", 1)


def test_a_patch_that_does_not_apply_is_told(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.stack_file("two", "apart")
    show_graph(Console(), graph_of(bench.ports(), S))
    assert said(capsys)[-1] == "two does not apply, so its needs are not known: `stackctl patches verify`"


def test_the_closure_of_each(bench: Bench) -> None:
    found = list_patches(bench.ports(), S, closure=True).closures
    assert found is not None
    assert dict(found) == {"one": (), "two": ("one",), "three": ("one", "two"), "apart": (), "told": ("apart",)}


def test_a_drawing_goes_to_a_file_or_to_the_screen(bench: Bench, tmp_path: Path) -> None:
    ports = bench.ports()
    found = graph_of(ports, S)
    assert save_drawing(ports, found, "out/graph.svg") == "out/graph.svg"
    written = (bench.workspace / "out/graph.svg").read_text()
    assert written == save_drawing(ports, found, "-")
    assert "<title>three: three title</title>" in written
    with pytest.raises(StackctlError, match="cannot write"):
        save_drawing(ports, found, "out/graph.svg/below")


@pytest.mark.parametrize("file", ["stacks/s.yaml", "stacks", "other.svg"])
def test_a_drawing_overwrites_no_other_file(bench: Bench, file: str) -> None:
    ports = bench.ports()
    found = graph_of(ports, S)
    (bench.workspace / "other.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1"/>')
    before = [(bench.workspace / name).read_bytes() for name in ("stacks/s.yaml", "other.svg")]
    with pytest.raises(StackctlError, match="is there and is no drawing of a queue"):
        save_drawing(ports, found, file)
    assert [(bench.workspace / name).read_bytes() for name in ("stacks/s.yaml", "other.svg")] == before
    assert [save_drawing(ports, found, "own.svg") for _ in range(2)] == ["own.svg", "own.svg"]
