"""Plans of many variants: the ids that git would give, written by nobody, from one reading of the queue."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from stackctl.commands.bisect.planning import Planner
from stackctl.commands.tree import apply_patches, compose, plan_patches, read_queue
from stackctl.core.names import TreeId
from stackctl.core.patches.memo import ForGit
from stackctl.errors import InvalidFile, PatchConflict, StackctlError
from stackctl.ports import Applied, Ports
from tests.commands.composing import Bench

NAMES = ("t/one", "t/two", "t/three", "t/four")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.edit("t/one", 10, "one")
    bench.edit("t/two", 10, "two", old="one")
    bench.edit("t/three", 20, "three", file="b.py", needs="t/two")
    bench.edit("t/four", 25, "four")
    return bench


class Counting:
    """Counts what is asked of a git; `apply` may answer otherwise."""

    def __init__(self, git: object, answer: TreeId | None = None) -> None:
        self._git, self._answer = git, answer
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> object:
        self.asked.append(name)
        return getattr(self._git, name)

    def apply(self, base: str, patches: list[tuple[bytes, int]]) -> Applied:
        self.asked.append("apply")
        applied: Applied = self._git.apply(base, patches)  # type: ignore[attr-defined]
        return replace(applied, tree=self._answer) if self._answer else applied

    def list(self, tree: TreeId) -> object:
        self.asked.append("list")
        return self._git.list(self._tree(tree))  # type: ignore[attr-defined]

    def _tree(self, tree: TreeId) -> TreeId:
        return tree


def counted(bench: Bench, answer: TreeId | None = None) -> tuple[Ports, Counting]:
    git = Counting(bench.ports().git, answer)
    return bench.ports(git=git), git


@pytest.mark.slow
def test_every_variant_is_planned_as_git_makes_it_and_git_is_not_asked(bench: Bench) -> None:
    ports, git = counted(bench)
    planner = Planner()
    planner.compose(ports, bench.stack(*NAMES))
    assert git.asked.count("list") == 1
    for size in range(1, 4):
        for without in combinations(NAMES, size):
            stack = bench.stack(*NAMES, without=without)
            planned = planner.compose(ports, stack)
            assert planned == compose(bench.ports(), stack)
    assert git.asked.count("list") == 1
    assert "apply" not in git.asked


def test_a_patch_that_has_changed_is_read_anew(bench: Bench) -> None:
    ports, _ = counted(bench)
    planner = Planner()
    before = planner.compose(ports, bench.stack(*NAMES))[1].tree
    bench.edit("t/four", 25, "4")
    after = planner.compose(ports, bench.stack(*NAMES))[1].tree
    assert after == compose(bench.ports(), bench.stack(*NAMES))[1].tree != before


def test_a_broken_file_may_be_left_out_of_a_plan(bench: Bench) -> None:
    bench.patch("t/four", "prose")
    planner = Planner()
    with pytest.raises(InvalidFile):
        planner.compose(bench.ports(), bench.stack(*NAMES))
    stack = bench.stack(*NAMES, without=["t/four"])
    assert planner.compose(bench.ports(), stack) == compose(bench.ports(), stack)


def test_what_does_not_go_together_is_told_as_when_it_is_made(bench: Bench) -> None:
    bench.edit("t/stale", 15, "x", old="line ten")
    said = []
    for make in (Planner().compose, compose):
        with pytest.raises(PatchConflict) as caught:
            make(bench.ports(), bench.stack(*NAMES, "t/stale"))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "context-mismatch" in said[0]


def test_what_engine_a_leaves_to_git_is_made_by_git(bench: Bench) -> None:
    path = "python/pkg/a.py"
    bench.patch("t/mode", f"Subject: x\n\ndiff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n")
    ports, git = counted(bench)
    stack = bench.stack(*NAMES, "t/mode")
    read = read_queue(ports, stack)
    assert isinstance(read.memo.plan(read.queue.patches), ForGit)
    assert plan_patches(ports, read, read.queue.patches) == compose(bench.ports(), stack)[1]
    assert git.asked.count("apply") == 1


def test_git_is_held_to_the_tree_that_was_foreseen(bench: Bench) -> None:
    wrong = compose(bench.ports(), bench.stack("t/one"))[1].tree
    ports, _ = counted(bench, answer=wrong)
    read = read_queue(ports, bench.stack(*NAMES))
    with pytest.raises(PatchConflict, match="git made something else of it than its patches say"):
        apply_patches(ports, read, read.queue.patches)


def test_one_listing_under_two_ids_is_our_own_mistake(bench: Bench) -> None:
    right = compose(bench.ports(), bench.stack(*NAMES))[1].tree

    class Renaming(Counting):
        """The right files under an id that is not theirs."""

        def _tree(self, tree: TreeId) -> TreeId:
            return right if tree == "f" * 40 else tree

    ports = bench.ports(git=Renaming(bench.ports().git, TreeId("f" * 40)))
    read = read_queue(ports, bench.stack(*NAMES))
    with pytest.raises(StackctlError, match=f"tree {right} was foreseen, git made {'f' * 40}"):
        apply_patches(ports, read, read.queue.patches)
