"""list, show, diff and verify: values and how they look, on the real git."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from stackctl.commands.queue.look import diff_queue, list_patches, show_patch, verify_queue
from stackctl.commands.review.diff import Shape, diff_base
from stackctl.commands.selection import Selection
from stackctl.errors import InvalidFile, PatchConflict, UsageError
from stackctl.output import patches as output
from stackctl.output.console import Console, jsonable
from stackctl.output.review import show_diff
from tests.commands.composing import Bench

ALL = Selection("s")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    found.edit("t/one", 10, "one")
    found.edit("t/two", 11, "two", file="b.py")
    found.edit("t/three", 10, "three", old="one")
    found.stack_file("t/one", "t/two", "t/three")
    return found


def console(width: int) -> tuple[Console, io.StringIO]:
    """A console of a given width that writes into memory."""
    made, text = Console(), io.StringIO()
    made._out = RichConsole(file=text, width=width, markup=False, highlight=False)
    return made, text


def test_list(bench: Bench) -> None:
    result = list_patches(bench.ports(), ALL)
    assert [(row.order, row.name, row.title, row.files, row.added, row.removed) for row in result.rows] == [
        (1, "t/one", "t/one title", 1, 1, 1),
        (2, "t/two", "t/two title", 1, 1, 1),
        (3, "t/three", "t/three title", 1, 1, 1),
    ]
    assert [row.needs for row in result.rows] == [(), (), ("t/one",)]
    assert {(row.area, row.upstream, row.remarks) for row in result.rows} == {
        (
            "tests",
            "Pending",
            (
                "line 1: HEADER-MISSING: no `From:`",
                "line 1: HEADER-MISSING: no `Date:`",
                "line 8: NO-INDEX-LINE: without ids of blobs there is no 3-way merge",
            ),
        )
    }
    assert json.loads(json.dumps(jsonable(result)))["rows"][2]["needs"] == ["t/one"]


def test_list_of_a_variant(bench: Bench) -> None:
    result = list_patches(bench.ports(), Selection("s", without=("patch:t/one",)))
    assert [row.name for row in result.rows] == ["t/two"]
    assert result.variant == "without patch:t/one (and patch:t/three, which needs what was left out)"


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_no_name_is_cut_at_any_width(bench: Bench, width: int) -> None:
    made, text = console(width)
    output.show_list(made, list_patches(bench.ports(), ALL))
    for name in ("t/one", "t/two", "t/three"):
        assert name in text.getvalue()
    assert max(map(len, text.getvalue().splitlines())) <= width


def test_show(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    result = show_patch(bench.ports(), "t/one", ALL)
    assert [need.patch for need in result.needed_by] == ["t/three"]
    output.show_patch(Console(), result)
    said = capsys.readouterr().out
    assert "# needed by t/three: it changes lines that the other wrote (python/pkg/a.py, line 15 of the patch)" in said
    assert said.endswith((bench.workspace / "patches/t/one.patch").read_text())
    assert show_patch(bench.ports(), "patches/t/three.patch", ALL).row.needs == ("t/one",)


def test_show_of_what_is_not_there(bench: Bench) -> None:
    with pytest.raises(UsageError, match="no patch t/thre") as caught:
        show_patch(bench.ports(), "t/thre", ALL)
    assert caught.value.hint == "Did you mean t/three?"


def test_diff(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    show_diff(Console(), diff_base(bench.ports(), ALL))
    said = capsys.readouterr().out
    assert said.count("diff --git") == 2
    assert "-line 10\n+three\n" in said
    show_diff(Console(), diff_base(bench.ports(), ALL, Shape(stat=True)))
    assert capsys.readouterr().out == (
        " python/pkg/a.py | 2 +-\n python/pkg/b.py | 2 +-\n 2 files changed, 2 insertions(+), 2 deletions(-)\n"
    )
    show_diff(Console(), diff_base(bench.ports(), ALL, Shape(name_only=True)))
    assert capsys.readouterr().out == "python/pkg/a.py\npython/pkg/b.py\n"


def test_a_diff_keeps_bytes_that_are_no_utf8(bench: Bench, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = "python/pkg/c.txt"
    bench.patch("t/raw", f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n".encode() + b"+caf\xe9\n")
    bench.stack_file("t/raw")
    result = diff_base(bench.ports(), ALL)
    show_diff(Console(), result)
    assert b"+caf\xe9\n" in capfdbinary.readouterr().out
    json.dumps(jsonable(result)).encode()


def test_with_adds_a_patch_after_the_queue(bench: Bench) -> None:
    bench.edit("extra", 25, "extra")
    (bench.workspace / "patches/extra.patch").rename(bench.folder / "extra.patch")
    result = diff_queue(bench.ports(), Selection("s", with_patches=(str(bench.folder / "extra.patch"),)))
    assert "+extra\n" in result.text
    assert "with patch:with/extra" in result.variant


def test_verify(bench: Bench) -> None:
    bench.base("python/pkg/b.py", "first\n" + (bench.folder / "engine/python/pkg/b.py").read_text())
    report = verify_queue(bench.ports(), ALL)
    assert [(v.name, v.verdict, v.closure) for v in report.verdicts] == [
        ("t/one", "clean", ("t/one",)),
        ("t/two", "offset", ("t/two",)),
        ("t/three", "clean", ("t/one", "t/three")),
    ]
    assert report.tree == report.regrouped
    assert report.exit == 0
    made, text = console(60)
    output.show_verify(made, report)
    assert "python/pkg/b.py, hunk 1: +1, at line 9" in text.getvalue()


def test_verify_tells_every_conflict_and_goes_on(bench: Bench) -> None:
    bench.edit("t/bad", 5, "x", old="never there")
    bench.stack_file("t/bad", "t/one", "t/two", "t/three")
    report = verify_queue(bench.ports(), ALL)
    assert [v.verdict for v in report.verdicts] == ["conflict", "clean", "clean", "clean"]
    assert (report.tree, report.exit) == (None, PatchConflict.exit_code)
    assert "never there" in (report.verdicts[0].reason or "")
    made, text = console(60)
    output.show_verify(made, report)
    assert "does not apply as a whole" in text.getvalue()


def test_verify_where_no_other_order_is_possible(bench: Bench) -> None:
    path = "python/pkg/a.py"
    names = f"--- a/{path}\n+++ b/{path}\n"
    bench.patch("t/third", names + "@@ -1,4 +1,4 @@\n line 1\n line 2\n-line 3\n+3\n line 4\n")
    bench.patch("t/top", names + "@@ -1,2 +1,3 @@\n+new\n line 1\n line 2\n")
    bench.stack_file("t/third", "t/top")
    report = verify_queue(bench.ports(), ALL)
    assert (report.regrouped, report.exit) == (None, 0)


def test_broken_files_are_told_by_every_verb(bench: Bench) -> None:
    bench.patch("t/one", b"")
    for look in (list_patches, diff_queue, verify_queue):
        with pytest.raises(InvalidFile, match=r"patches/t/one\.patch:1: not-a-patch"):
            look(bench.ports(), ALL)
