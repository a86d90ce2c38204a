from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.names import PatchName
from stackctl.core.patches.depend import closure
from stackctl.core.patches.values import Need
from stackctl.core.patches.walk import Walk
from stackctl.core.review.drawing import Words, svg
from stackctl.core.review.evidence import evidence, neighbours
from stackctl.core.review.graph import WEIGHT, Graph, closures, dot, tree, way
from stackctl.core.review.layers import lay_out
from tests.core.patches.queues import walked
from tests.workspaces import GOLDEN, golden

NUMBERS = [f"line {n}\n" for n in range(1, 41)]


def text(**changes: str | None) -> str:
    """Lines 1 to 40; `l7="x"` says another line 7, None takes it out."""
    said = {int(key[1:]): value for key, value in changes.items()}
    return "".join(said.get(n, line) or "" for n, line in enumerate(NUMBERS, 1))


def need(patch: str, needs: str, reason: str = "content", file: str | None = "f.py", line: int | None = 9) -> Need:
    return Need(PatchName(patch), PatchName(needs), reason, file, line)


def graph(names: str, *edges: Need, title: str = "prod") -> Graph:
    return Graph(title, tuple(PatchName(name) for name in names.split()), edges)


MIXED = graph(
    "kernel/base kernel/split kernel/tune pd/abort pd/abort-race parser/text odd",
    need("kernel/split", "kernel/base", "content", "python/k.py"),
    need("kernel/tune", "kernel/split", "tombstone", "python/k.py"),
    need("kernel/tune", "kernel/base", "context", "python/k.py"),
    need("pd/abort-race", "pd/abort", "file", 'python/"odd" name.py'),
    need("pd/abort-race", "kernel/base", "declared", None, 7),
    need("parser/text", "pd/abort", "hint", "python/p.py:12 uses abort_room", None),
)


def test_a_tree_has_every_patch_once() -> None:
    lines = tree(MIXED)
    golden(GOLDEN / "graph" / "mixed.txt", "\n".join(lines) + "\n")
    heads = [line.lstrip("│├└─ ").partition("  [")[0] for line in lines if line]
    assert sorted(set(heads) & set(MIXED.names)) == sorted(MIXED.names)
    assert len(heads) == len(MIXED.names) + 1  # and the line over those that stand alone


def test_dot_has_every_edge() -> None:
    golden(GOLDEN / "graph" / "mixed.dot", dot(MIXED))


def test_a_drawing_leaves_out_what_is_implied() -> None:
    words = Words({PatchName("odd"): "a <title> & \x1b[1m"}, {PatchName("odd"): '#"x"'})
    drawn = svg(MIXED, words)
    golden(GOLDEN / "graph" / "mixed.svg", drawn)
    assert "1 more are implied by these" in drawn
    assert "\x1b" not in drawn


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (graph(""), []),
        (graph("a b"), ["all stand alone:", "  a", "  b"]),
        (graph("a b", need("a", "b")), ["all stand alone:", "  a", "  b"]),  # no need can come later
        (graph("a", need("a", "gone")), ["all stand alone:", "  a"]),
    ],
)
def test_graphs_without_edges(made: Graph, expected: list[str]) -> None:
    assert tree(made) == expected
    assert svg(made).startswith("<svg ")


def test_a_chain_as_long_as_a_queue_needs_no_recursion() -> None:
    names = [f"p{n}" for n in range(2000)]
    long = graph(" ".join(names), *(need(b, a) for a, b in pairwise(names)))
    assert len(tree(long)) == 2000


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 14))
    pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=25))
    edges = [need(f"p{max(a, b)}", f"p{min(a, b)}", draw(st.sampled_from(WEIGHT))) for a, b in pairs if a != b]
    one = {(edge.patch, edge.needs): edge for edge in edges}
    return graph(" ".join(f"p{n}" for n in range(size)), *one.values())


@given(graphs())
def test_what_is_not_drawn_is_implied(made: Graph) -> None:
    kept = [edge for edges in made.reduced.values() for edge in edges]
    for name in made.names:
        assert closure(kept, [name]) == closure(made.edges, [name])


@given(graphs())
def test_no_two_boxes_stand_in_one_place(made: Graph) -> None:
    pairs = [(edge.patch, edge.needs) for edges in made.reduced.values() for edge in edges]
    layout = lay_out(made.names, pairs)
    taken = list(layout.places.values()) + [point for path in layout.ways.values() for point in path[1:-1]]
    assert len(set(taken)) == len(taken)
    assert all(0 <= point.row < layout.rows and 0 <= point.column < layout.columns for point in taken)
    for (patch, needs), path in layout.ways.items():
        assert [point.column for point in path] == list(
            range(layout.places[patch].column, layout.places[needs].column - 1, -1)
        )


@given(graphs(), st.data())
def test_a_way_is_there_when_it_is_needed(made: Graph, data: st.DataObject) -> None:
    start, goal = data.draw(st.sampled_from(made.names)), data.draw(st.sampled_from(made.names))
    found = way(made.edges, start, goal)
    assert (found is not None) == (goal in closure(made.edges, [start]) and goal != start)
    if found:
        assert (found[0].patch, found[-1].needs) == (start, goal)
        assert all(here.needs == there.patch for here, there in pairwise(found))
        assert all(edge in made.edges for edge in found)


def test_of_two_ways_the_shorter_is_told_and_the_stronger() -> None:
    edges = (need("c", "b"), need("b", "a"), need("c", "a", "context"), need("d", "b", "context"), need("d", "a"))
    assert way(edges, PatchName("c"), PatchName("a")) == (need("c", "a", "context"),)
    assert way(edges[:2], PatchName("c"), PatchName("a")) == (need("c", "b"), need("b", "a"))
    assert closures(["a", "b", "c"], edges)["c"] == ("a", "b")


def lines_of(walk: Walk, patch: str, needs: str) -> list[tuple[str, str, str | None, int | None]]:
    step = next(one for one in walk.needs if (one.patch, one.needs) == (patch, needs))
    found = evidence(walk.state.base, walk.patches, walk.windows, step)
    return [(one.reason, one.text, one.other_text, one.tree_line) for one in found]


def test_the_lines_of_content_and_context() -> None:
    one = ("one", {"f.py": text(l10="ten\n", l11="eleven\n")})
    two = ("two", {"f.py": text(l10="ten\n", l11="ELEVEN\n")})
    assert lines_of(walked({"f.py": text()}, one, two), "two", "one") == [
        ("tombstone", " ten", "-line 10", 10),
        ("context", " ten", "+ten", 10),
        ("content", "-eleven", "+eleven", 11),
    ]


def test_the_line_of_a_tombstone_is_one_that_is_gone() -> None:
    one = ("one", {"f.py": text(l10=None, l30=None)})
    two = ("two", {"f.py": text(l10=None, l30=None, l12="twelve\n")})
    walk = walked({"f.py": text()}, one, two)
    assert lines_of(walk, "two", "one") == [("tombstone", " line 11", "-line 10", 10)]


def test_lines_of_a_file_that_the_other_made() -> None:
    walk = walked({}, ("one", {"f.py": "a\n"}), ("two", {"f.py": "a\nb\n"}))
    found = lines_of(walk, "two", "one")
    assert ("file", "--- a/f.py", "--- /dev/null", None) in found or ("file", "--- a/f.py", "+++ b/f.py", None) in found
    assert ("context", " a", "+a", 1) in found


def test_a_declared_need_shows_the_trailer() -> None:
    walk = walked(
        {"f.py": text()}, ("one", {"a.py": "x\n"}), ("two", {"f.py": text(l3="3\n")}), needs={"two": "one (x)"}
    )
    assert lines_of(walk, "two", "one") == [("declared", "Needs: one (x)", None, None)]


def test_files_that_both_touch() -> None:
    walk = walked(
        {"f.py": text()}, ("one", {"f.py": text(l3="3\n"), "a": "x\n"}), ("two", {"f.py": text(l3="3\n", l30="30\n")})
    )
    assert walk.needs == ()
    assert neighbours(walk.patches, PatchName("one"), PatchName("two")) == ("f.py",)
