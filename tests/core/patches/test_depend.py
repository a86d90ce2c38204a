"""Who needs whom: a random queue, every closed subset of it, and the real git as the judge."""

from __future__ import annotations

import difflib
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackctl.adapters.git import GitStore
from stackctl.core.names import PatchName
from stackctl.core.patches.agree import disagreement
from stackctl.core.patches.depend import closure, declared_needs, dependents, strongest
from stackctl.core.patches.gitlog import misplaced
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import renumbered
from stackctl.core.patches.state import Base
from stackctl.core.patches.values import Need, Patch
from stackctl.core.patches.walk import Walk, walk_series, walk_subset
from stackctl.ports import TreeFile
from tests.fakes import LocalFilesAt

# few different lines, so that a search finds likenesses in the wrong places
Edit = tuple[int, int, list[str]]
WORDS = ["alpha", "beta", "gamma", "", "}"]
EDITS = st.tuples(
    st.integers(0, 30), st.integers(0, 3), st.lists(st.sampled_from([*WORDS, "new", "newer"]), max_size=3)
)
BASES = st.lists(st.sampled_from([*WORDS, *(f"line {n}" for n in range(20))]), min_size=8, max_size=30)


def patch_of(old: list[str], new: list[str], name: str) -> bytes:
    diff = difflib.unified_diff(old, new, "a/f.txt", "b/f.txt", lineterm="")
    return ("\n".join([f"Subject: {name}", "", *diff]) + "\n").encode()


def queue_of(base: list[str], edits: list[Edit]) -> list[tuple[PatchName, ParsedPatch]]:
    """One patch an edit: at a place, take some lines away and put others."""
    found, lines = [], base
    for number, (at, away, put) in enumerate(edits):
        new = [*lines[:at], *put, *lines[at + away :]]
        parsed = parse(patch_of(lines, new, f"p{number}"), f"p{number}.patch")
        if new and isinstance(parsed, ParsedPatch):
            found.append((PatchName(f"p{number}"), parsed))
            lines = new
    return found


def pure_base(lines: list[str]) -> Base:
    return Base({"f.txt": "100644"}, {"f.txt": ("\n".join(lines) + "\n").encode()})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    folder = tmp_path_factory.mktemp("home")
    return GitStore(LocalFilesAt(folder, folder))


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(BASES, st.lists(EDITS, min_size=2, max_size=5))
def test_every_closed_subset_applies_where_its_lines_are(store: GitStore, lines: list[str], edits: list[Edit]) -> None:
    base = pure_base(lines)
    whole = walk_series(base, queue_of(lines, edits))
    assert not whole.faults
    tree = store.write_tree([TreeFile("f.txt", base.contents["f.txt"])])
    before = {entry.path: (entry.mode, entry.blob) for entry in store.list(tree)}
    names = [patch.name for patch in whole.patches]
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            if closure(whole.needs, chosen) != frozenset(chosen):
                continue
            walk = walk_subset(base, [p for p in whole.patches if p.name in chosen], whole.windows, whole.needs)
            assert not walk.faults, chosen
            applied = store.apply(tree, [(data_for_git(walk, n), p.strip) for n, p in enumerate(walk.patches)])
            assert applied.tree is not None, applied.output
            assert misplaced(applied.output, walk.patches, walk.landings) is None
            after = {entry.path: (entry.mode, entry.blob) for entry in store.list(applied.tree)}
            assert disagreement(before, after, walk.state) is None


def data_for_git(walk: Walk, number: int) -> bytes:
    patch = walk.patches[number]
    astray = {x.line: x.at for x in walk.landings if x.patch == patch.name and x.at != x.git_at}
    return renumbered(patch, astray)


def last_first(walk: Walk) -> list[Patch]:
    """From the last patch to the first, each after what it needs."""
    order: list[Patch] = []
    for last in reversed(walk.patches):
        names = closure(walk.needs, [last.name])
        order += [patch for patch in walk.patches if patch.name in names and patch not in order]
    return order


MARGIN = 3  # lines of context: with as many untouched at either end, no context is cut short


@given(BASES, st.lists(EDITS, min_size=2, max_size=6))
def test_independent_patches_may_change_places(lines: list[str], edits: list[Edit]) -> None:
    base, entries = inner_queue(lines, edits)
    whole = walk_series(base, entries)
    walk = walk_subset(base, last_first(whole), whole.windows, whole.needs)
    assert not walk.faults
    text, other = whole.state.text("f.txt"), walk.state.text("f.txt")
    assert text is not None
    assert other is not None
    assert text.data() == other.data()


def inner_queue(lines: list[str], edits: list[Edit]) -> tuple[Base, list[tuple[PatchName, ParsedPatch]]]:
    """Edits that stay away from both ends of the file."""
    found, inner = [], lines
    for at, away, put in edits:
        at = min(at, len(inner))
        away = min(away, len(inner) - at)
        inner = [*inner[:at], *put, *inner[at + away :]]
        found.append((at + MARGIN, away, put))
    whole = [*(f"top {n}" for n in range(MARGIN)), *lines, *(f"end {n}" for n in range(MARGIN))]
    return pure_base(whole), queue_of(whole, found)


def test_where_the_file_ends_two_patches_may_go_in_one_order_alone() -> None:
    """The last line is taken away; then, with one line of context left after it, a line is put before that.

    The second applies without the first, so it has no need of it; but it parts the lines that the first one reads.
    """
    lines = ["1", "2", "3", "4", "5", "6", "7", "8"]
    base = pure_base(lines)
    whole = walk_series(base, queue_of(lines, [(7, 1, []), (6, 0, ["new"])]))
    assert whole.needs == ()
    assert not walk_subset(base, whole.patches[1:], whole.windows, whole.needs).faults
    turned = walk_subset(base, last_first(whole), whole.windows, whole.needs)
    assert [(name, fault.kind) for name, fault in turned.faults.items()] == [("p0", "context-mismatch")]


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] > pair[1]), max_size=20)


@given(PAIRS, st.sets(st.integers(0, 9)))
def test_closures_are_closed_and_what_falls_is_the_rest(pairs: list[tuple[int, int]], some: set[int]) -> None:
    needs = [Need(PatchName(str(a)), PatchName(str(b)), "content") for a, b in pairs]
    chosen = {PatchName(str(n)) for n in some}
    closed = closure(needs, chosen)
    assert chosen <= closed
    assert closure(needs, closed) == closed
    left = {PatchName(str(n)) for n in range(10)} - chosen - dependents(needs, chosen)
    assert closure(needs, left) == left


def test_of_two_reasons_the_stronger_is_kept() -> None:
    a, b = PatchName("a"), PatchName("b")
    needs = [Need(b, a, "context", "f", 3), Need(b, a, "content", "f", 4), Need(b, a, "file", "f", 1)]
    assert strongest(needs) == (Need(b, a, "content", "f", 4),)


def with_needs(*pairs: tuple[str, str]) -> Walk:
    entries = []
    for name, trailer in pairs:
        text = f"Subject: {name}\n\nNeeds: {trailer}\n---\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        parsed = parse((text if trailer else text.replace("Needs: \n", "")).encode(), f"{name}.patch")
        assert isinstance(parsed, ParsedPatch)
        entries.append((PatchName(name), parsed))
    return walk_series(Base({}, {}), entries)


def test_declared_needs() -> None:
    walk = with_needs(("a", ""), ("b", "a (calls what it defines)"))
    assert walk.needs == (Need(PatchName("b"), PatchName("a"), "declared", None, 3),)


@pytest.mark.parametrize(("first", "second"), [("b", ""), ("z", ""), ("a", "")])
def test_a_need_that_is_not_earlier_in_the_queue_is_refused(first: str, second: str) -> None:
    walk = with_needs(("a", first), ("b", second))
    fault = walk.faults[PatchName("a")]
    assert (fault.kind, fault.line) == ("bad-needs", 3)
    assert declared_needs(walk.patches)[1] == (fault,)


def test_patches_that_exclude_each_other() -> None:
    text = "Subject: x\n\nConflicts: a (other way)\n---\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n"
    entries = []
    for name, data in (("a", text.replace("Conflicts: a (other way)\n", "").replace("b/b", "b/a")), ("b", text)):
        parsed = parse(data.encode(), f"{name}.patch")
        assert isinstance(parsed, ParsedPatch)
        entries.append((PatchName(name), parsed))
    base = Base({}, {})
    whole = walk_series(base, entries)
    assert [(name, fault.kind, fault.line) for name, fault in whole.faults.items()] == [("b", "excluded", 3)]
    assert not walk_subset(base, whole.patches[1:], whole.windows, whole.needs).faults


def test_files_made_moved_and_removed_are_needs_of_the_file() -> None:
    texts = {
        "make": "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\n+y\n",
        "move": "diff --git a/n b/m\nsimilarity index 100%\nrename from n\nrename to m\n",
        "mode": "diff --git a/m b/m\nold mode 100644\nnew mode 100755\n",
        "drop": "diff --git a/m b/m\ndeleted file mode 100755\n--- a/m\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n",
        "again": "diff --git a/m b/m\nnew file mode 100644\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+z\n",
    }
    entries = []
    for name, text in texts.items():
        parsed = parse(text.encode(), f"{name}.patch")
        assert isinstance(parsed, ParsedPatch)
        entries.append((PatchName(name), parsed))
    walk = walk_series(Base({}, {}), entries)
    assert not walk.faults
    assert {(need.patch, need.needs, need.reason) for need in walk.needs} == {
        ("move", "make", "file"),
        ("mode", "move", "file"),
        ("mode", "make", "file"),
        ("drop", "make", "content"),
        ("drop", "move", "file"),
        ("drop", "mode", "file"),
        ("again", "drop", "file"),
    }
