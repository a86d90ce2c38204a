"""File sections that contradict themselves: what git would take in silence, or reads in another way than a person."""

from __future__ import annotations

import pytest

from stackctl.core.names import PatchName
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import parse
from stackctl.core.patches.state import Base
from stackctl.core.patches.walk import walk_series

BASE = Base({"x": "100644", "y": "100644"}, {"x": b"one\n", "y": b"one\n"})
GIT, MARKS, HUNK = "diff --git a/x b/x\n", "--- a/x\n+++ b/x\n", "@@ -1 +1 @@\n-one\n+two\n"
MOVE = "diff --git a/x b/z\nrename from x\nrename to z\n"
COPY = "diff --git a/x b/{0}\ncopy from x\ncopy to {0}\n"
NEW, GONE = "new file mode 100644\n", "deleted file mode 100644\n"


def fault(text: str) -> Fault | None:
    parsed = parse(text.encode(), "p.patch")
    return parsed if isinstance(parsed, Fault) else walk_series(BASE, [(PatchName("p"), parsed)]).faults.get("p")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (GIT, 1, "it changes nothing"),
        (GIT + "index 1..2 100644\n", 1, "it changes nothing"),
        (GIT + "-- \nindex 1..2\n" + MARKS + HUNK, 1, "it changes nothing"),
        (GIT + "index 1..2 b 100644\n" + MARKS + HUNK, 1, "its `index` line holds no ids of blobs"),
        (GIT + "index 1..2 100644\n--- a/x\n" + MARKS + HUNK, 3, "`---` and `+++` stand together"),
        (GIT + "old mode 100644\n", 1, "it has `old mode` and no `new mode`"),
        (GIT + NEW + NEW + "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", 3, "stands in line 2 already"),
        (GIT + NEW + GONE, 1, "it has `new file mode` and `deleted file mode`"),
        (GIT + "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", 1, "`---` says that there is none"),
        (GIT + GONE + MARKS + "@@ -1 +0,0 @@\n-one\n", 1, "`+++` says that the file is there"),
        (GIT + "--- a/y\n+++ b/y\n" + HUNK, 1, "its first line does not name a/y"),
        (GIT + "--- a/x\n+++ b/y\n" + HUNK, 1, "its first line does not name b/y"),
        ("diff --git a/x b/y\n--- a/x\n+++ b/y\n" + HUNK, 1, "it names two files, x and y"),
        (MOVE.replace("rename to z\n", ""), 1, "it has `rename from` and no `rename to`"),
        (MOVE + "copy from x\ncopy to z\n", 1, "it has `rename to` and `copy to`"),
        (MOVE + "--- a/x\n+++ b/y\n" + HUNK, 1, "it moves x to z, and its hunks are for a/x and b/y"),
        (MOVE + "--- a/x\n+++ z\n" + HUNK, 1, "it moves x to z, and its hunks are for a/x and z"),
        (MOVE[:-1], 3, "the file ends in the middle of this line"),
        (GIT + MARKS + HUNK + MOVE, 7, "x is changed here, and the section of line 1 is about it too"),
        (MOVE + GIT + MARKS + HUNK, 4, "x is changed here, and the section of line 1 is about it too"),
        (GIT + MARKS + HUNK + COPY.format("z"), 7, "x is changed here"),
        (COPY.format("z") + GIT + MARKS + HUNK, 4, "x is changed here"),
        (COPY.format("z") + COPY.format("z"), 4, "z is changed here"),
        (MARKS + HUNK + MARKS + HUNK.replace("two", "three"), 6, "x is changed here"),
    ],
)
def test_refused(text: str, line: int, said: str) -> None:
    found = fault(text)
    assert found is not None
    assert (found.kind, found.line) == ("corrupt-header", line)
    assert said in found.message
    assert found.hint


@pytest.mark.parametrize(
    "text",
    [
        GIT + MARKS + HUNK,
        GIT + "index 1..2 100644\n" + MARKS + HUNK,
        GIT + "old mode 100644\nnew mode 100755\n",
        GIT + "old mode 100644\nnew mode 100755\nindex 1..2\n" + MARKS + HUNK,
        GIT.replace("x", "n") + NEW + "index 1..2\n",
        GIT.replace("x", "n") + NEW + "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n",
        GIT + GONE + "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
        'diff --git "a/n\\303\\266" "b/n\\303\\266"\n'
        + NEW
        + '--- /dev/null\n+++ "b/n\\303\\266"\n@@ -0,0 +1 @@\n+a\n',
        "diff --git a/n m b/n m\n" + NEW + "--- /dev/null\n+++ b/n m\t\n@@ -0,0 +1 @@\n+a\n",
        MOVE,
        MOVE + "--- a/x\n+++ b/z\n" + HUNK,
        COPY.format("z") + COPY.format("w"),
        "diff --git x x\n--- x\n+++ x\n" + HUNK,
        MARKS + HUNK,
    ],
)
def test_taken(text: str) -> None:
    assert fault(text) is None


@pytest.mark.parametrize(
    "text",
    [
        MARKS + "@@ -1 +1,2 @@\n-one\n+two\n\\ No newline at end of file\n+three\n",
        MARKS + "@@ -1,2 +1,2 @@\n-one\n\\ No newline at end of file\n+two\n last\n",
        MARKS + "@@ -1 +1,2 @@\n one\n\\ No newline at end of file\n+two\n",
    ],
)
def test_a_line_without_an_end_is_the_last_of_its_side(text: str) -> None:
    found = fault(text)
    assert found is not None
    assert found.kind == "corrupt-hunk"
    assert "has no line end, but is not the last one of its side" in found.message


def test_a_name_is_judged_as_the_tree_will_have_it() -> None:
    found = fault("diff --git a/C:/n b/C:/n\n" + NEW + "--- /dev/null\n+++ b/C:/n\n@@ -0,0 +1 @@\n+a\n")
    assert found is not None
    assert (found.kind, found.line) == ("absolute-path", 1)


def test_no_hunk_hides_behind_a_signature() -> None:
    found = fault(GIT + MARKS + HUNK + "-- \n2.39.5\n@@ -1 +1 @@\n-two\n+three\n")
    assert found is not None
    assert (found.kind, found.line) == ("corrupt-hunk", 9)


def test_no_level_takes_a_whole_name_away() -> None:
    """Git refuses to take one folder off a bare name; no more do we take it for a name of the tree."""
    found = fault("diff --git x x\nold mode 100644\nnew mode 100755\n" + (GIT + MARKS + HUNK).replace("x", "y"))
    assert found is not None
    assert (found.kind, found.line) == ("corrupt-header", 4)  # a/y and b/y, taken as they stand
