"""Patches for other source trees: one queue, a tree for each source, the same pipeline. On the real git."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console as RichConsole

from stackctl.adapters.index import PipIndex
from stackctl.adapters.process import LocalProcess
from stackctl.commands.queue.graph import graph_of, why
from stackctl.commands.queue.look import diff_queue, list_patches, show_patch, verify_queue
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose, read_queue, tree_after_each
from stackctl.core.names import Digest, PatchName
from stackctl.core.patches.values import Need, SourceTree
from stackctl.core.stack import lock as locking
from stackctl.core.stack.resolved import PathBase, PypiBase, ResolvedStack
from stackctl.errors import InvalidFile, PatchConflict, StackctlError, UsageError
from stackctl.output import patches as output
from stackctl.output.console import Console
from stackctl.output.graph import show_graph
from tests.commands.composing import NUMBERS, Bench
from tests.fakes import LocalFilesAt

ALL = Selection("s")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """`flash` is a second source: its folder holds a file of the same name as sglang's, with other lines."""
    bench = Bench(tmp_path)
    bench.base("../flash/python/pkg/a.py", NUMBERS.replace("line", "row"))
    bench.edit("t/one", 10, "one")
    rows(bench, "f/one", 10)
    rows(bench, "f/two", 20)
    return bench


def rows(bench: Bench, name: str, number: int, more: str = "", old: str = "row") -> None:
    """A patch of the other source that changes one line."""
    lines = [f" {old} {n}" for n in range(number - 3, number + 4)]
    lines[3:4] = [f"-{old} {number}", f"+ROW {number}"]
    head = f"Subject: {name}\n\nArea: tests\nSource: flash\n{more}---\n--- a/python/pkg/a.py\n+++ b/python/pkg/a.py\n"
    bench.patch(name, head + f"@@ -{number - 3},7 +{number - 3},7 @@\n" + "\n".join(lines) + "\n")


def stack_of(bench: Bench, *names: str, without: tuple[str, ...] = ()) -> ResolvedStack:
    made = bench.stack(*names, without=without)
    return replace(made, sources={"flash": PathBase(str(bench.folder / "flash"))})


def text(bench: Bench, tree: str) -> str:
    return bench.ports().git.read(tree, ["python/pkg/a.py"])["python/pkg/a.py"].decode()  # type: ignore[arg-type]


def test_each_source_has_a_tree_of_its_own(bench: Bench) -> None:
    tree = compose(bench.ports(), stack_of(bench, "f/one", "t/one", "f/two"))[1]
    assert [patch.name for patch in tree.patches] == ["f/one", "t/one", "f/two"]
    assert text(bench, tree.tree) == NUMBERS.replace("line 10\n", "one\n")
    flash = NUMBERS.replace("line", "row")
    assert text(bench, tree.sources["flash"].base) == flash
    patched = flash.replace("row 10\n", "ROW 10\n").replace("row 20\n", "ROW 20\n")
    assert text(bench, tree.sources["flash"].tree) == patched
    assert tree.trees == {"sglang": tree.tree, "flash": tree.sources["flash"].tree}


def test_a_source_without_patches_is_what_is_pinned(bench: Bench) -> None:
    tree = compose(bench.ports(), stack_of(bench, "t/one"))[1]
    assert tree.sources["flash"].tree == tree.sources["flash"].base


def test_a_variant_of_one_source_leaves_the_other_as_it_is(bench: Bench) -> None:
    ports = bench.ports()
    whole = compose(ports, stack_of(bench, "t/one", "f/one", "f/two"))[1]
    stack, less = compose(ports, stack_of(bench, "t/one", "f/one", "f/two", without=("f/one",)))
    assert stack.patches == ("t/one", "f/two")
    assert less.tree == whole.tree
    assert text(bench, less.sources["flash"].tree) == NUMBERS.replace("line", "row").replace("row 20\n", "ROW 20\n")


def test_a_need_across_sources_is_declared_and_closes_variants(bench: Bench) -> None:
    bench.edit("t/uses", 20, "uses", needs="f/one (calls what it adds)")
    ports = bench.ports()
    queue = read_queue(ports, stack_of(bench, "t/one", "f/one", "t/uses")).queue
    assert queue.needs == (Need(PatchName("t/uses"), PatchName("f/one"), "declared", None, 7),)
    stack = compose(ports, stack_of(bench, "t/one", "f/one", "t/uses", without=("f/one",)))[0]
    assert stack.patches == ("t/one",)
    with pytest.raises(InvalidFile, match=r"t/uses.patch:7: bad-needs: `Needs: f/one`, which does not come before it"):
        compose(ports, stack_of(bench, "t/uses", "f/one"))


def test_conflicts_exclude_across_sources_in_both_directions(bench: Bench) -> None:
    rows(bench, "f/other", 20, "Conflicts: t/one (the same work)\n")
    for names in (("t/one", "f/other"), ("f/other", "t/one")):
        with pytest.raises(InvalidFile) as caught:
            compose(bench.ports(), stack_of(bench, *names))
        (problem,) = caught.value.problems
        assert str(problem).startswith("patches/f/other.patch:5: excluded: its header says `Conflicts: t/one (the same")
        assert problem.hint == "Leave one of the two out: f/other or t/one."
        compose(bench.ports(), stack_of(bench, *names, without=("t/one",)))


def test_a_conflict_in_another_source_names_its_patch(bench: Bench) -> None:
    rows(bench, "f/stale", 10, old="line")
    with pytest.raises(PatchConflict, match=r"patches/f/stale\.patch:8: context-mismatch"):
        compose(bench.ports(), stack_of(bench, "t/one", "f/stale"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("Source: flash\n", "f/wrong.patch:5: other-source: its header names two source trees: flash and flash"),
        ("", "f/wrong.patch:4: other-source: `Source: flush`, and the stack declares no such source"),
    ],
)
def test_a_patch_for_no_tree_or_two_is_refused(bench: Bench, more: str, said: str) -> None:
    rows(bench, "f/wrong", 10, more)
    file = bench.workspace / "patches" / "f" / "wrong.patch"
    file.write_text(file.read_text() if more else file.read_text().replace("Source: flash", "Source: flush"))
    with pytest.raises(InvalidFile, match=said) as caught:
        compose(bench.ports(), stack_of(bench, "t/one", "f/wrong"))
    assert caught.value.problems[0].hint


def test_a_pin_of_a_source_that_cannot_be_had_names_its_key(bench: Bench) -> None:
    stack = replace(bench.stack("t/one"), sources={"flash": PathBase(str(bench.folder / "none"))})
    with pytest.raises(StackctlError) as caught:
        compose(bench.ports(), stack)
    assert caught.value.hint == "Correct sources.flash.path; it counts from the stack file."


def test_a_lock_holds_the_trees_of_all_sources(bench: Bench) -> None:
    ports = bench.ports()
    stack, tree = compose(ports, stack_of(bench, "t/one", "f/one"))
    after = tree_after_each(ports, stack_of(bench, "t/one", "f/one"))
    content = locking.lock(stack, tree, after)
    flash: SourceTree = tree.sources["flash"]
    path = str(bench.folder / "flash")
    assert content["sources"] == {"flash": {"base": {"path": path, "tree": flash.base}, "tree": flash.tree}}
    assert [(row.get("source"), row["tree"]) for row in content["patches"]] == [  # type: ignore[attr-defined]
        (None, tree.tree),
        ("flash", flash.tree),
    ]


# --- the verbs that look at a queue


@pytest.fixture
def queue(bench: Bench) -> Bench:
    bench.edit("t/uses", 20, "uses", needs="f/one (calls what it adds)")
    bench.stack_file("t/one", "f/one", "t/uses", "f/two")
    file = bench.workspace / "stacks" / "s.yaml"
    file.write_text(file.read_text() + "sources: {flash: {path: ../../flash}}\n")
    return bench


def said(show: Callable[[Console, Any], None], value: object, width: int = 160) -> str:
    console, text = Console(), io.StringIO()
    console._out = RichConsole(file=text, width=width, markup=False, highlight=False)
    show(console, value)
    return text.getvalue()


def test_the_list_has_a_column_and_a_filter(queue: Bench) -> None:
    result = list_patches(queue.ports(), ALL)
    assert [(row.name, row.source) for row in result.rows] == [
        ("t/one", "sglang"),
        ("f/one", "flash"),
        ("t/uses", "sglang"),
        ("f/two", "flash"),
    ]
    table = said(output.show_list, result).splitlines()
    assert [line.split()[2] for line in table] == ["source", "sglang", "flash", "sglang", "flash"]
    assert "for flash, tests, upstream not said" in said(output.show_list, result, 60)
    assert [row.name for row in list_patches(queue.ports(), ALL, source="flash").rows] == ["f/one", "f/two"]
    with pytest.raises(UsageError, match="s has no source flush") as caught:
        list_patches(queue.ports(), ALL, source="flush")
    assert caught.value.hint == "Its sources: sglang, flash."


def test_show_says_the_source_and_needs_across(queue: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    result = show_patch(queue.ports(), "f/one", ALL)
    assert [need.patch for need in result.needed_by] == ["t/uses"]
    output.show_patch(Console(), result)
    assert "# source: flash\n" in capsys.readouterr().out


def test_the_diff_of_each_source_after_a_line_that_names_it(queue: Bench) -> None:
    text = diff_queue(queue.ports(), ALL).text
    before, line, after = text.partition("# source flash: ")
    assert line
    assert ("+one\n" in before, "+ROW 10\n" in before) == (True, False)
    assert ("+one\n" in after, "+ROW 10\n" in after, "+ROW 20\n" in after) == (False, True, True)


def test_verify_proves_each_source(queue: Bench) -> None:
    report = verify_queue(queue.ports(), ALL)
    whole = compose(queue.ports(), stack_of(queue, "t/one", "f/one", "t/uses", "f/two"))[1]
    assert [(each.name, each.verdict, each.closure) for each in report.verdicts] == [
        ("t/one", "clean", ("t/one",)),
        ("f/one", "clean", ("f/one",)),
        ("t/uses", "clean", ("f/one", "t/uses")),
        ("f/two", "clean", ("f/two",)),
    ]
    flash = whole.sources["flash"].tree
    assert (report.tree, report.regrouped, report.sources) == (whole.tree, whole.tree, {"flash": (flash, flash)})
    assert report.exit == 0
    assert report.verdicts[1].alone != report.verdicts[3].alone
    assert f"flash tree {flash}, the same in another order" in said(output.show_verify, report)
    assert replace(report, sources={"flash": (flash, whole.tree)}).exit == 1


def test_the_graph_knows_the_source_and_equal_paths_of_two_trees_are_two_files(queue: Bench) -> None:
    found = graph_of(queue.ports(), ALL)
    assert found.sources == {"f/one": "flash", "f/two": "flash"}
    assert [(edge.patch, edge.needs) for edge in found.graph.edges] == [("t/uses", "f/one")]
    text = said(show_graph, found)
    assert "for flash: f/one, f/two" in text
    assert why(queue.ports(), "t/one", "f/one", ALL).shared == ()
    assert why(queue.ports(), "f/two", "f/one", ALL).shared == ("python/pkg/a.py",)


@pytest.mark.net
@pytest.mark.slow
def test_a_real_wheel_as_a_source(bench: Bench) -> None:
    """A small pure one; its tree id is a constant."""
    path = "python/iniconfig/exceptions.py"
    head = "Subject: x\n\nSource: iniconfig\n---\n"
    bench.patch("i/new", f"{head}--- /dev/null\n+++ b/python/iniconfig/patched.py\n@@ -0,0 +1 @@\n+PATCHED = True\n")
    files = LocalFilesAt(bench.folder / "home", bench.workspace)
    ports = bench.ports(PipIndex(LocalProcess(), files))
    pin = PypiBase("iniconfig==2.0.0", Digest("b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374"))
    stack = replace(bench.stack("t/one", "i/new"), sources={"iniconfig": pin})
    tree = compose(ports, stack)[1]
    assert tree.sources["iniconfig"].base == "86ba07aa23bbcc372321a3950800c47abf89aa1d"
    listed = {entry.path for entry in ports.git.list(tree.sources["iniconfig"].tree)}
    assert {path, "python/iniconfig/patched.py"} <= listed
    assert not [name for name in listed if not name.startswith("python/iniconfig/")]
