"""Two engines that must agree: what A plans by itself is what git makes, on random queues and any of their subsets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stackctl.adapters.git import GitStore
from stackctl.commands.tree import data_for_git
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.depend import closure
from stackctl.core.patches.gitlog import misplaced
from stackctl.core.patches.memo import Conflicting, ForGit, Memo, Planned
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.state import State
from stackctl.core.patches.trees import Trees, blob_id
from stackctl.core.patches.values import Patch
from stackctl.core.patches.walk import Walk, walk_series, walk_subset
from tests.core.patches.random_queues import (
    ALL,
    PLAIN,
    TREES,
    Doing,
    Tree,
    base_of,
    files_of,
    listing_of,
    queue_of,
    queues,
)
from tests.engines import rightly_refused
from tests.fakes import LocalFilesAt

Wanted = list[tuple[list[Doing], int]]
PICKS = st.lists(st.integers(0, 127), min_size=1, max_size=4)


def walk_of(tree: Tree, wanted: Wanted) -> Walk:
    return walk_series(base_of(tree), queue_of(tree, wanted))


def memo_of(tree: Tree, walk: Walk, kept: int = 512) -> Memo:
    listing = listing_of(tree)
    return Memo(Trees(listing).root, listing, walk, kept)


def chosen(walk: Walk, bits: int, closed: bool) -> list[Patch]:
    names = {patch.name for place, patch in enumerate(walk.patches) if bits >> place & 1}
    if closed:
        names |= closure(walk.needs, names)
    return [patch for patch in walk.patches if patch.name in names]


def lacking(walk: Walk) -> list[list[Patch]]:
    """For the first few needs: the patch with all that it needs, but for one."""
    wanted = [closure(walk.needs, [need.patch]) - {need.needs} for need in walk.needs[:2]]
    return [[patch for patch in walk.patches if patch.name in names] for names in wanted]


def tree_after(tree: Tree, state: State) -> TreeId:
    listing = dict(listing_of(tree))
    for path, text in state.texts.items():
        listing.pop(path, None)
        if text:
            listing[path] = (text.mode, blob_id(text.data()))
    return Trees(listing).root


@pytest.mark.parametrize("kept", [1, 512])
@given(TREES, queues(PLAIN), PICKS, st.booleans())
def test_what_is_remembered_is_what_a_walk_finds(
    kept: int, tree: Tree, wanted: Wanted, picks: list[int], closed: bool
) -> None:
    walk = walk_of(tree, wanted)
    memo = memo_of(tree, walk, kept)
    for bits in [*picks, 127, *picks]:
        patches = chosen(walk, bits, closed)
        plan = memo.plan(patches)
        alone = walk_subset(base_of(tree), patches, walk.windows, walk.needs)
        if isinstance(plan, Planned):
            assert not alone.faults
            assert plan.landings == tuple(alone.landings)
            assert plan.tree == tree_after(tree, alone.state)
        elif isinstance(plan, Conflicting):
            assert alone.faults
        else:
            assert plan.patch in walk.faults


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    folder = tmp_path_factory.mktemp("home")
    return GitStore(LocalFilesAt(folder, folder))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, queues(ALL), PICKS, st.booleans())
def test_git_makes_the_tree_that_was_planned(
    store: GitStore, tree: Tree, wanted: Wanted, picks: list[int], closed: bool
) -> None:
    walk = walk_of(tree, wanted)
    memo = memo_of(tree, walk)
    base = store.write_tree(files_of(tree))
    for patches in [*(chosen(walk, bits, closed) for bits in picks), *lacking(walk)]:
        plan = memo.plan(patches)
        made = made_by_git(store, base, tree, walk, patches)
        event(f"{type(plan).__name__}, closed {closed}")
        if isinstance(plan, ForGit):
            assert plan.patch in walk.faults or any("rename" in x or "mode" in x for x in said(walk, plan.patch))
        else:
            assert (plan.tree if isinstance(plan, Planned) else None) == made


def made_by_git(store: GitStore, base: TreeId, tree: Tree, walk: Walk, patches: Sequence[Patch]) -> TreeId | None:
    """Engine B: None when it refuses, or goes wrong. It is told where hunks go by a walk of the subset alone."""
    alone = walk_subset(base_of(tree), patches, walk.windows, walk.needs)
    if alone.faults:
        applied = store.apply(base, [(patch.data, patch.strip) for patch in patches])
        event("refused by git too" if applied.tree is None else "git puts a hunk elsewhere")
        assert rightly_refused(applied, base_of(tree), walk, patches)
        return None
    applied = store.apply(base, [(data_for_git(patch, alone.landings), patch.strip) for patch in patches])
    assert applied.tree is not None, applied.output
    assert misplaced(applied.output, patches, alone.landings) is None
    return applied.tree


def said(walk: Walk, name: PatchName | None) -> list[str]:
    return [line.decode() for patch in walk.patches if patch.name == name for line in patch.data.split(b"\n")]


EDIT = b"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n"
RENAME = b"diff --git a/a b/b\nrename from a\nrename to b\n"
FOR_GIT = {
    "renamed or copied": RENAME + EDIT.replace(b"b/a", b"b/b"),
    "its mode changes": b"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
}


@pytest.mark.parametrize("reason", FOR_GIT)
def test_what_is_not_foreseen_is_left_to_git(reason: str) -> None:
    tree: Tree = {"a": ("100644", b"x\nz\n")}
    plan = memo_of(tree, walk_of_texts(tree, FOR_GIT[reason])).plan(walk_of_texts(tree, FOR_GIT[reason]).patches)
    assert isinstance(plan, ForGit)
    assert reason in plan.reason


def walk_of_texts(tree: Tree, *texts: bytes) -> Walk:
    entries = []
    for number, text in enumerate(texts):
        parsed = parse(b"Subject: x\n\n" + text, f"p{number}")
        assert isinstance(parsed, ParsedPatch), parsed
        entries.append((PatchName(f"p{number}"), parsed))
    return walk_series(base_of(tree), entries)


def test_a_pure_rename_is_planned_and_ties_both_names() -> None:
    tree: Tree = {"a": ("100644", b"x\nz\n"), "d/c": ("100644", b"")}
    walk = walk_of_texts(tree, RENAME, EDIT.replace(b"/a", b"/b"))
    memo = memo_of(tree, walk)
    plan = memo.plan(walk.patches[:1])
    assert isinstance(plan, Planned)
    assert plan.tree == Trees(listing_of({"b": tree["a"], "d/c": tree["d/c"]})).root
    assert isinstance(memo.plan(walk.patches[1:]), Conflicting)  # nobody has made b


def test_a_base_that_a_listing_does_not_show_whole_is_left_to_git() -> None:
    tree: Tree = {"a": ("100644", b"x\nz\n")}
    walk = walk_of_texts(tree, EDIT)
    assert isinstance(Memo(TreeId("0" * 40), listing_of(tree), walk).plan(walk.patches), ForGit)


def test_no_empty_folder_is_left() -> None:
    tree: Tree = {"d/e/a": ("100644", b"x\n"), "z": ("100644", b"")}
    assert Trees(listing_of(tree)).tree_id({"d/e/a": None}) == Trees(listing_of({"z": tree["z"]})).root
    assert Trees(listing_of(tree)).tree_id({"d/e/a": None, "z": None}) == Trees({}).root
